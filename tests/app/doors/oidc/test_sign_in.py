"""People sign in at a real provider: what they may do, and who may not come in."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.errors import UnknownKeyError
from askless.app.main import create_app
from askless.app.service import keys, sign_ins
from askless.app.settings.doors import Grant
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import transaction
from tests.app.doors.oidc.provider import SITE, Provider, host_of
from tests.pages.site import token_of

BEGIN = "/ui/sign-in/oidc"
CALLBACK = f"{BEGIN}/callback"


def come_back(client: TestClient, provider: Provider, name: str, **begin: str) -> Any:
    """Sign in at the provider; return the response to coming back."""
    sent = client.get(BEGIN, params=begin)
    assert sent.status_code == 302, sent.text
    return client.get(provider.sign_in(sent.headers["location"], name, SITE))


def rows_of(app: FastAPI) -> list[Any]:
    query = "SELECT k.id, k.name, k.subject, t.id AS tenant_id, t.name AS tenant"
    with transaction(app.state.engine, None, is_read=True) as db:
        query = f"{query} FROM keys k JOIN tenants t ON t.id = k.tenant_id"
        return list(db.execute(sa.text(query)).all())


@pytest.fixture
def elsewhere(
    app: FastAPI, settings: Settings, provider: Provider
) -> Iterator[TestClient]:
    """Another browser, at another replica."""
    del app
    made = create_app(provider.settings_of(settings), is_local=False)
    with TestClient(made, SITE, follow_redirects=False) as client:
        yield client


def test_a_group_becomes_tenant_and_role(
    app: FastAPI, client: TestClient, provider: Provider
) -> None:
    page = client.get("/ui/sign-in?next=/ui/models")
    done = come_back(client, provider, "ada", next="/ui/models")

    assert f"Sign in at {host_of(provider.url)}" in page.text
    assert "/ui/sign-in/oidc?next=/ui/models" in page.text
    assert done.status_code == 303
    assert done.headers["location"] == "/ui/models"
    assert client.get("/ui/models").status_code == 200
    # A clinician sees no keys.
    assert client.get("/ui/keys").status_code == 403
    (row,) = rows_of(app)
    assert row.name == "Ada Lovelace"
    assert row.subject == f"{provider.url} ada"
    assert row.tenant == "cardiology"


def test_signing_in_again_takes_the_same_key_with_the_rights_of_today(
    app: FastAPI, client: TestClient, provider: Provider
) -> None:
    come_back(client, provider, "ada")
    grants = app.state.settings.oidc_groups
    app.state.settings = app.state.settings.model_copy(
        update={
            "oidc_groups": grants | {"heart": Grant(tenant="cardiology", role="admin")}
        }
    )
    client.cookies.clear()
    come_back(client, provider, "ada")

    assert client.get("/ui/keys").status_code == 200
    assert len(rows_of(app)) == 1


def test_an_administrator_sees_who_signed_in(
    client: TestClient, provider: Provider
) -> None:
    come_back(client, provider, "grace")

    page = client.get("/ui/keys").text

    assert "Grace Hopper" in page
    assert f"signs in at {host_of(provider.url)}" in page


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("alan", "You are in no group that may do anything here."),
        ("nobody", "did not let you in."),
    ],
)
def test_who_may_not_come_in_is_told_why(
    app: FastAPI, client: TestClient, provider: Provider, name: str, words: str
) -> None:
    done = come_back(client, provider, name)

    assert done.status_code == 403
    assert words in done.text
    # Otherwise the provider would send the same person again.
    assert f'href="{BEGIN}/out"' in done.text
    assert rows_of(app) == []
    assert client.get("/ui").status_code == 303


def test_who_was_revoked_stays_out_until_restored(
    app: FastAPI, client: TestClient, provider: Provider
) -> None:
    come_back(client, provider, "ada")
    (row,) = rows_of(app)
    with transaction(app.state.engine, row.tenant_id) as db:
        keys.revoke(db, row.id, datetime.now(UTC))
        # Nor does who is revoked amid signing in.
        with pytest.raises(UnknownKeyError):
            sign_ins.sign_in(db, row.id, datetime.now(UTC))
    # As if some seconds had passed.
    app.state.guard.cached_keys.clear()
    outside, stolen = client.get("/ui"), dict(client.cookies)
    again = come_back(client, provider, "ada")
    with transaction(app.state.engine, row.tenant_id) as db:
        keys.restore(db, row.id)
    # What was open before stays shut.
    client.cookies.clear()
    client.cookies.update(stolen)
    shut = client.get("/ui")
    client.cookies.clear()
    restored = come_back(client, provider, "ada")

    assert shut.status_code == 303
    assert outside.status_code == 303
    assert again.status_code == 403
    assert "Your access was revoked." in again.text
    assert restored.status_code == 303
    assert client.get("/ui").status_code == 200


def test_another_replica_ends_what_one_began(
    client: TestClient, elsewhere: TestClient, provider: Provider
) -> None:
    sent = client.get(BEGIN).headers["location"]
    elsewhere.cookies.update(client.cookies)

    done = elsewhere.get(provider.sign_in(sent, "ada", SITE))

    assert done.status_code == 303


def test_a_cookie_that_is_not_ours_ends_nothing(client: TestClient) -> None:
    name = f"askless_flow_{sha256(b'y').hexdigest()[:16]}"
    for cookie in [
        *("", "!", "bnVsbA==", "W10=", "eyJhIjogMX0="),
        urlsafe_b64encode(b"[" * 2_000).decode(),
        urlsafe_b64encode(
            b'{"flow": "oidc", "nonce": 3, "code_verifier": [], "ours": "x"}'
        ).decode(),
    ]:
        headers = {"Cookie": f"{name}={cookie}"}
        done = client.get(f"{CALLBACK}?code=x&state=y", headers=headers)

        assert done.status_code == 400


def test_only_a_page_of_ours_opens_after_it(
    client: TestClient, provider: Provider
) -> None:
    for page in ("https://evil.example/ui", "/ui/../x", f"/ui/{'x' * 2_000}"):
        done = come_back(client, provider, "ada", next=page)

        assert done.headers["location"] == "/ui"


# It starts a provider.
@pytest.mark.full
def test_the_cookie_is_safe_where_browsers_come_by_https(
    settings: Settings, provider_folder: Path
) -> None:
    site = "https://askless.test"
    provider = Provider(provider_folder, site)
    app = create_app(provider.settings_of(settings), is_local=False)
    with TestClient(app, site, follow_redirects=False) as client:
        sent = client.get(BEGIN)
        done = client.get(provider.sign_in(sent.headers["location"], "ada", site))
    # A proxy that ends TLS.
    with TestClient(app, "http://askless.test", follow_redirects=False) as client:
        proxied = client.get(BEGIN)
    provider.close()

    kept = sent.headers["set-cookie"]
    assert kept.startswith("__Host-askless_flow_")
    assert proxied.headers["set-cookie"].startswith("__Host-askless_flow_")
    assert done.status_code == 303
    assert {"Secure", "HttpOnly", "Path=/", "SameSite=lax"} <= set(kept.split("; "))
    # It ends with the flow.
    ended = f'{kept.partition("=")[0]}=""; '
    assert ended in "; ".join(done.headers.get_list("set-cookie"))


def test_signing_out_here_leads_to_signing_out_there(
    client: TestClient, provider: Provider
) -> None:
    come_back(client, provider, "ada")
    form = {"form_token": token_of(client.get("/ui").text)}
    done = client.post("/ui/sign-out", data=form)
    page = client.get(done.headers["location"]).text
    there = client.get(f"{BEGIN}/out")

    assert client.get("/ui").status_code == 303
    assert f"You may still be signed in at {host_of(provider.url)}." in page
    assert f'href="{BEGIN}/out"' in page
    assert there.headers["location"] == f"{provider.url}/session/end?client_id=askless"


def test_keys_are_asked_for_on_loopback_too(
    settings: Settings, provider: Provider
) -> None:
    app = create_app(provider.settings_of(settings), is_local=True)
    with TestClient(app, "http://127.0.0.1", follow_redirects=False) as client:
        assert client.get("/models").status_code == 401
        assert client.get("/ui").status_code == 303


@pytest.mark.parametrize("setting", ["oidc_issuer", "oidc_client_secret"])
def test_metadata_of_another_issuer_and_a_wrong_secret_let_nobody_in(
    settings: Settings, provider: Provider, setting: str
) -> None:
    other = provider.url.replace("127.0.0.1", "localhost")
    more = {setting: other if setting == "oidc_issuer" else "another"}
    app = create_app(provider.settings_of(settings, **more), is_local=False)
    with TestClient(app, SITE, follow_redirects=False) as client:
        done = client.get(BEGIN)
        if setting != "oidc_issuer":
            done = come_back(client, provider, "ada")

        assert done.status_code == 502
        assert "failed. The log of this service says why." in done.text
        assert client.get("/ui").status_code == 303


def test_signing_in_anew_ends_the_browsers_former_sign_in(
    client: TestClient, provider: Provider
) -> None:
    come_back(client, provider, "ada")
    former = dict(client.cookies)
    come_back(client, provider, "grace")
    client.cookies.clear()
    client.cookies.update(former)

    assert client.get("/ui").status_code == 303


def test_who_came_by_a_key_is_not_sent_elsewhere(
    app: FastAPI, client: TestClient, provider: Provider
) -> None:
    del provider
    with transaction(app.state.engine, "ten_default") as db:
        made = keys.create(db, keys.Wish("page"), datetime.now(UTC))
    form = {"form_token": token_of(client.get("/ui/sign-in").text), "key": made.token}
    client.post("/ui/sign-in", data=form)

    form = {"form_token": token_of(client.get("/ui").text)}
    done = client.post("/ui/sign-out", data=form)

    assert done.headers["location"] == "/ui/sign-in"


def test_the_page_to_sign_out_at_may_have_a_query(
    app: FastAPI, client: TestClient
) -> None:
    client.get(BEGIN)
    server = app.state.oidc_flow.server
    for address, whole in (
        ("https://a.example/out?p=1", "https://a.example/out?p=1&client_id=askless"),
        (None, None),
    ):
        changed = {"end_session_endpoint": address}
        metadata = server.known.metadata.model_copy(update=changed)
        server.known = server.known._replace(metadata=metadata)
        left = client.get(f"{BEGIN}/out")

        assert left.headers.get("location") == whole
        assert left.status_code == (303 if whole else 404)
