"""Providers on pages: put as JSON, tested once a form, deleted, and never a script."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.settings.settings import Settings
from tests.app.buying.single_vendor import Vendor, serve_vendor
from tests.kept import Applications
from tests.pages.test_walls import HOSTILE
from tests.pages.visitors import Visitor


@pytest.fixture
def is_local() -> bool:
    return False


@pytest.fixture
def vendor() -> Iterator[Vendor]:
    with serve_vendor() as served:
        yield served


@pytest.fixture
def app(
    settings: Settings, applications: Applications, vendor: Vendor, tmp_path: Path
) -> FastAPI:
    (tmp_path / "KEY").write_text("s3cret-of-the-vendor")
    more = {"provider_hosts": [vendor.host], "secrets": tmp_path}
    return applications.find(settings.model_copy(update=more), is_local=False)


def document(vendor: Vendor, **more: Any) -> dict[str, Any]:
    request = {
        "method": "POST",
        "url": f"http://{vendor.host}/{{key.domain}}",
        "headers": {"Authorization": "Bearer {secret.KEY}"},
    }
    own = {"fills": "chol", "request": request, "read": {"chol": "a.b"}, "price": 0.05}
    return own | more


def put(visitor: Visitor, name: str, body: object) -> Any:
    text = body if isinstance(body, str) else json.dumps(body)
    form = {"form_token": visitor.token, "name": name, "document": text}
    return visitor.send("POST", "/ui/providers", form)


def number_in(page: str) -> str:
    found = re.search(r'name="number" value="([0-9a-f]{32})"', page)
    assert found, page
    return found[1]


def test_the_empty_page_says_what_it_is_for_and_what_to_set(
    client: TestClient, app: FastAPI, ours: Visitor
) -> None:
    del client
    with_hosts = ours.ask("GET", "/ui/providers")[1]
    app.state.settings = app.state.settings.model_copy(update={"provider_hosts": []})
    without = ours.ask("GET", "/ui/providers")[1]

    assert "a session can buy its answers by itself" in with_hosts
    assert "ASKLESS_PROVIDER_HOSTS" not in with_hosts
    assert "ASKLESS_PROVIDER_HOSTS=" in without
    # The example is one that can be edited.
    assert "&#34;fills&#34;: &#34;firmo&#34;" in without


def test_a_provider_is_put_shown_changed_and_deleted(
    ours: Visitor, vendor: Vendor
) -> None:
    made = put(ours, "firmo", document(vendor))
    shown = ours.ask("GET", made.headers["location"])[1]
    changed = put(ours, "firmo", document(vendor, ceilings={"day": 2.5}))
    listed = ours.ask("GET", "/ui/providers")[1]
    asked = ours.ask("GET", "/ui/providers/firmo/delete")[1]
    deleted = ours.send(
        "POST", "/ui/providers/firmo/delete", {"form_token": ours.token}
    )
    after = ours.ask("GET", deleted.headers["location"])[1]

    assert made.headers["location"] == "/ui/providers/firmo?done=put"
    assert "The provider is stored" in shown
    assert "no model has a bundle or feature" in shown
    assert "{secret.KEY}" in shown
    assert "s3cret-of-the-vendor" not in shown + listed
    assert changed.status_code == 303
    assert re.search(r"ready.*0\.05.*0\.00.*2\.50", listed, re.DOTALL)
    assert "Delete <bdi" in asked
    assert "The provider is deleted" in after
    assert "There is no provider yet" in after


@pytest.mark.parametrize(
    ("name", "text", "field", "told"),
    [
        ("Firmo", "{}", "name", "must be of a-z"),
        ("firmo", "{", "document", "must be JSON"),
        ("firmo", "[]", "document", "must be an object"),
        ("firmo", '{"fills": "a"}', "document", "request is required"),
    ],
)
def test_a_wrong_field_is_named_and_what_was_typed_stays(
    ours: Visitor, name: str, text: str, field: str, told: str
) -> None:
    refused = put(ours, name, text)

    assert refused.status_code == 422
    assert f'id="f-{field}-error"' in refused.text
    assert told in refused.text
    assert text.replace('"', "&#34;") in refused.text


def test_a_host_that_is_not_listed_is_named(ours: Visitor, vendor: Vendor) -> None:
    request = {"url": "https://other.example/"}

    refused = put(ours, "firmo", document(vendor, request=request))

    assert refused.status_code == 422
    assert "ASKLESS_PROVIDER_HOSTS" in refused.text


def test_it_is_tested_once_a_form(ours: Visitor, vendor: Vendor) -> None:
    put(ours, "firmo", document(vendor))
    page = ours.ask("GET", "/ui/providers/firmo")[1]
    form = {"form_token": ours.token, "number": number_in(page)}
    form |= {"keys.domain": "acme.example"}

    tried = ours.send("POST", "/ui/providers/firmo/test", form)
    again = ours.send("POST", "/ui/providers/firmo/test", form)
    told = ours.ask("GET", again.headers["location"])[1]

    assert tried.status_code == 200
    assert re.search(r"chol.*<code><bdi[^>]*>3</bdi></code>", tried.text, re.DOTALL)
    assert "charged 0.05" in tried.text
    assert len(vendor.asked) == 1
    assert again.status_code == 303
    assert "nobody was called a second time" in told
    assert "a test" in told
    assert "acme.example" not in told


def test_a_key_that_is_missing_is_named(ours: Visitor, vendor: Vendor) -> None:
    put(ours, "firmo", document(vendor))
    page = ours.ask("GET", "/ui/providers/firmo")[1]
    form = {"form_token": ours.token, "number": number_in(page)}

    refused = ours.send("POST", "/ui/providers/firmo/test", form)

    assert refused.status_code == 422
    assert 'id="f-keys_2e_domain-error"' in refused.text
    assert vendor.asked == []


def test_no_form_passes_the_ceiling(ours: Visitor, vendor: Vendor) -> None:
    put(ours, "firmo", document(vendor, ceilings={"day": 0.01}))
    page = ours.ask("GET", "/ui/providers/firmo")[1]
    form = {"form_token": ours.token, "number": number_in(page), "keys.domain": "a"}

    refused = ours.send("POST", "/ui/providers/firmo/test", form)

    assert refused.status_code == 409
    assert "has no room today" in refused.text
    assert vendor.asked == []


def test_hostile_text_is_text(ours: Visitor, vendor: Vendor) -> None:
    vendor.answer = {"a": {"b": HOSTILE, "c": 1}}
    read = {HOSTILE[:60]: "a.b"}
    put(ours, "firmo", document(vendor, fills=HOSTILE, read=read))
    page = ours.ask("GET", "/ui/providers/firmo")[1]
    form = {"form_token": ours.token, "number": number_in(page), "keys.domain": "a"}

    tried = ours.send("POST", "/ui/providers/firmo/test", form).text
    listed = ours.ask("GET", "/ui/providers")[1]

    for text in (page, tried, listed):
        assert "&lt;script&gt;alert(1)" in text
        assert "<script>alert" not in text


def test_who_may_only_read_sees_no_form(
    client: TestClient, ours: Visitor, vendor: Vendor
) -> None:
    put(ours, "firmo", document(vendor))
    reader = Visitor(client, "providers:read", tenant="ours")
    other = Visitor(client, tenant="other")

    pages = [
        reader.ask("GET", address)[1]
        for address in ("/ui/providers", "/ui/providers/firmo")
    ]

    assert all("<textarea" not in page for page in pages)
    assert "providers:write" in pages[0]
    assert reader.ask("GET", "/ui/providers/firmo/delete")[0] == 403
    assert other.ask("GET", "/ui/providers/firmo")[0] == 404
    assert "firmo</bdi>" not in other.ask("GET", "/ui/providers")[1]
