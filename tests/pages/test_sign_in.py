"""Signing in with a key: what the cookie opens, what it doesn't, and how it ends."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.pages.accounts.sign_in import safe_return_path
from askless.app.service import keys, sign_ins
from askless.app.store.database.engine import transaction
from tests.app.tenants import transaction as owned
from tests.pages.site import token_of


@pytest.fixture
def is_local() -> bool:
    return False


def make_key(app: FastAPI, *scopes: str) -> keys.MadeKey:
    with owned(app.state.engine) as db:
        wish = keys.Wish("page", scopes or keys.SCOPES)
        return keys.create(db, wish, datetime.now(UTC))


def sign_in(client: TestClient, key: str, **more: str) -> int:
    page = client.get("/ui/sign-in").text
    form = {"form_token": token_of(page), "key": key, **more}
    return client.post("/ui/sign-in", data=form).status_code


def test_a_page_leads_to_the_form_and_back(app: FastAPI, client: TestClient) -> None:
    sent = client.get("/ui?a=1")
    page = client.get(sent.headers["location"]).text
    form = {"form_token": token_of(page), "key": make_key(app).token, "next": "/ui?a=1"}
    done = client.post("/ui/sign-in", data=form)

    assert sent.status_code == done.status_code == 303
    assert 'name="next" value="/ui?a=1"' in page
    assert done.headers["location"] == "/ui?a=1"
    assert client.get("/ui?a=1").status_code == 200


def test_the_cookie_is_for_pages_alone(app: FastAPI, client: TestClient) -> None:
    assert sign_in(client, make_key(app).token) == 303

    cookie = client.cookies["askless_ui"]
    asked = client.get("/models", headers={"Cookie": f"askless_ui={cookie}"})

    assert asked.status_code == 401


@pytest.mark.parametrize("address", ["http://askless.test", "https://askless.test"])
def test_the_cookie_is_hidden_from_scripts_and_other_sites(
    app: FastAPI, address: str
) -> None:
    with TestClient(app, address, follow_redirects=False) as client:
        page = client.get("/ui/sign-in")
        form = {"form_token": token_of(page.text), "key": make_key(app).token}
        done = client.post("/ui/sign-in", data=form)

    for response in (page, done):
        parts = set(response.headers["set-cookie"].lower().split("; "))
        assert parts >= {"httponly", "samesite=lax", "path=/ui"}
        assert ("secure" in parts) == address.startswith("https")
    assert page.cookies["askless_ui"] != done.cookies["askless_ui"]


def test_only_a_digest_of_the_cookie_is_stored(
    app: FastAPI, client: TestClient
) -> None:
    key = make_key(app)
    sign_in(client, key.token)

    with transaction(app.state.engine, None, is_read=True) as db:
        rows = db.execute(sa.text("SELECT digest, key_id FROM sign_ins")).all()

    digest = sign_ins.hash_secret(client.cookies["askless_ui"])
    assert [tuple(row) for row in rows] == [(digest, key.key.id)]


def test_signing_out_ends_it(app: FastAPI, client: TestClient) -> None:
    sign_in(client, make_key(app).token)
    cookie = client.cookies["askless_ui"]
    page = client.get("/ui").text

    done = client.post("/ui/sign-out", data={"form_token": token_of(page)})
    client.cookies.set("askless_ui", cookie)

    assert done.status_code == 303
    assert client.get("/ui").status_code == 303


def test_a_revoked_key_ends_it(app: FastAPI, client: TestClient) -> None:
    key = make_key(app)
    sign_in(client, key.token)
    with owned(app.state.engine) as db:
        keys.revoke(db, key.key.id, datetime.now(UTC))

    # In a process that has not seen the key some seconds ago.
    app.state.guard.cached_keys.clear()

    assert client.get("/ui").status_code == 303


def test_it_expires_and_is_swept(app: FastAPI, client: TestClient) -> None:
    del client
    now, key = datetime(2026, 1, 1, tzinfo=UTC), make_key(app)
    later = now + sign_ins.LASTS + timedelta(seconds=1)
    with owned(app.state.engine) as db:
        cookie = sign_ins.sign_in(db, key.key.id, now)
        assert sign_ins.find_signed_in_key(db, cookie, now).id == key.key.id
        with pytest.raises(sign_ins.UnknownKeyError):
            sign_ins.find_signed_in_key(db, cookie, later)
        sign_ins.sign_in(db, key.key.id, later)
        rows = db.execute(sa.text("SELECT count(*) FROM sign_ins")).scalar()

    assert rows == 1


def test_a_wrong_key_is_said_and_never_shown_again(client: TestClient) -> None:
    token = token_of(client.get("/ui/sign-in").text)
    form = {"form_token": token, "key": "askl_1_canary"}
    refused = client.post("/ui/sign-in", data=form)

    assert refused.status_code == 401
    assert 'aria-invalid="true"' in refused.text
    assert "canary" not in refused.text


@pytest.mark.parametrize("token", ["", "0" * 64, "ü"])
def test_a_form_of_another_site_is_refused(
    app: FastAPI, client: TestClient, token: str
) -> None:
    sign_in(client, make_key(app).token)

    forged = client.post("/ui/sign-out", data={"form_token": token})

    assert forged.status_code == 403
    assert forged.json()["type"] == "/problems/foreign-form"
    assert client.get("/ui").status_code == 200


@pytest.mark.parametrize(
    "text",
    [
        *("https://evil.test", "//evil.test", "/ui//../evil", "/uix", "/models"),
        *("/ui\\evil", "/ui/\r\nSet-Cookie: a=b", "/ui/ü", None),
    ],
)
def test_one_is_led_on_to_pages_of_ours_alone(text: str | None) -> None:
    assert safe_return_path(text) == "/ui"
    assert (
        safe_return_path("/ui/models/mdl_1?a=1&b=%20") == "/ui/models/mdl_1?a=1&b=%20"
    )
