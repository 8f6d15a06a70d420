"""Keys on pages: made once and shown once, revoked, and never more than the maker's."""

import re

import pytest
from fastapi.testclient import TestClient

from askless.app.pages.accounts.keys import SCOPES, list_missing_scopes
from askless.app.service.keys import ROLES
from tests.pages.test_walls import HOSTILE
from tests.pages.visitors import Visitor


@pytest.fixture
def is_local() -> bool:
    return False


def number_in(page: str) -> str:
    found = re.search(r'name="number" value="([0-9a-f]{32})"', page)
    assert found, page
    return found[1]


def wish(visitor: Visitor, **more: str) -> dict[str, str]:
    """Return the fields of a form that asks for a key."""
    page = visitor.ask("GET", "/ui/keys/new")[1]
    wanted = {"name": HOSTILE, "scopes": "predict:read", "days": "9"}
    ours = {"form_token": visitor.token, "number": number_in(page)}
    return ours | wanted | more


def keys_of(client: TestClient, visitor: Visitor) -> list[dict[str, object]]:
    head = {"Authorization": f"Bearer {visitor.bearer}"}
    items: list[dict[str, object]] = client.get("/keys", headers=head).json()["items"]
    return items


def test_a_key_is_made_once_and_its_secret_shown_once(
    client: TestClient, ours: Visitor
) -> None:
    form = wish(ours, **{"limits.requests_per_minute": "60"})
    made = ours.send("POST", "/ui/keys", form)
    again = ours.send("POST", "/ui/keys", form)
    listed = ours.ask("GET", again.headers["location"])[1]
    (token,) = set(re.findall(r"askl_[0-9a-f]+_[\w-]{43}", made.text))
    newest = keys_of(client, ours)[0]

    assert (made.status_code, again.status_code) == (201, 303)
    assert made.headers["cache-control"] == "no-store"
    assert "no second key was made" in listed
    assert token not in listed
    assert len(keys_of(client, ours)) == 2
    assert newest["scopes"] == ["predict:read"]
    assert newest["limits"] == {"requests_per_minute": 60}
    head = {"Authorization": f"Bearer {token}"}
    assert client.get("/predict", headers=head).status_code == 200


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("name", "a\x00b"),
        ("days", "0"),
        ("days", "1.5"),
        ("scopes", "all"),
        ("limits.rows", "many"),
        ("limits.rows", "9" * 18),
    ],
)
def test_a_wrong_field_is_named_and_what_was_typed_stays(
    client: TestClient, ours: Visitor, field: str, text: str
) -> None:
    refused = ours.send("POST", "/ui/keys", wish(ours, **{field: text}))

    assert refused.status_code == 422
    identifier = field.replace(".", "_2e_")
    assert f'id="f-{identifier}-error"' in refused.text
    # The box of a scope, and that no role was chosen.
    assert refused.text.count(" checked") == (field != "scopes") + 1
    assert len(keys_of(client, ours)) == 1


def test_a_role_is_a_set_of_scopes_and_one_that_lacks_another_is_warned_about(
    client: TestClient, ours: Visitor
) -> None:
    form = wish(ours, role="clinician", scopes="ledger:read")
    made = ours.send("POST", "/ui/keys", form).text

    assert keys_of(client, ours)[0]["scopes"] == [
        *("models:read", "predict:read", "predict:write", "ledger:read"),
    ]
    assert "empty house" not in made
    bare = ours.send("POST", "/ui/keys", wish(ours, scopes="predict:write")).text
    assert "predict:write without models:read sees an empty house" in bare


def test_every_role_has_the_scopes_that_its_scopes_need() -> None:
    assert [list_missing_scopes(scopes) for scopes in ROLES.values()] == [[]] * 5
    assert {scope for scopes in ROLES.values() for scope in scopes} <= set(SCOPES)


def test_only_roles_within_the_makers_rights_are_offered(client: TestClient) -> None:
    poor = Visitor(client, "keys:write", "keys:read", "models:read", tenant="ours")

    page = poor.ask("GET", "/ui/keys/new")[1]

    assert "Clinician" not in page
    assert "See models" in page


def test_who_lacks_a_scope_is_told_who_can_give_it(client: TestClient) -> None:
    poor = Visitor(client, "models:read", tenant="ours")

    page = poor.ask("GET", "/ui/ledger")[1]

    assert "The key lacks the scope ledger:read. Ask whoever has a key with" in page


def test_a_key_makes_none_that_can_do_more(client: TestClient) -> None:
    poor = Visitor(client, "keys:write", "keys:read", tenant="ours")
    page = poor.ask("GET", "/ui/keys/new")[1]

    refused = poor.send("POST", "/ui/keys", wish(poor))

    assert page.count('type="checkbox"') == 2
    assert refused.status_code == 403
    assert "predict:read" in refused.text


def test_the_navigation_shows_what_a_key_may_see(client: TestClient) -> None:
    poor = Visitor(client, "keys:read", tenant="ours")

    page = poor.ask("GET", "/ui/keys")[1]

    head = page.split("</nav>")[0]
    assert re.findall(r'href="(/ui[^"]*)"[^>]*>\w+</a></li>', head) == [
        "/ui",
        "/ui/keys",
    ]
    assert "Make a key" not in page
    assert poor.ask("GET", "/ui/keys/new")[0] == 403
