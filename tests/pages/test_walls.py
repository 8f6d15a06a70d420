"""Every route of a page, found by itself: who is let in, and what it says of itself."""

import json
import re
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from askless.app.pages.plumbing import site
from askless.app.service import keys
from tests.pages.site import heart
from tests.pages.visitors import Visitor

ROUTES = [
    (method, route.path)
    for module in site.SIGNED_IN
    for route in module.router.routes
    for method in sorted(route.methods)
]
HOSTILE = "<script>alert(1)</script> & \"quotes\" 'of' \u0645\u0633\u062a\u0648\u0649"
IDS = ("mdl_none", "'", "%00", "<script>", "..%2f..", "ü", "x" * 300, "\u202e")


@pytest.fixture
def is_local() -> bool:
    return False


@pytest.fixture
def things(ours: Visitor) -> dict[str, str]:
    """What there is, with hostile names; their ids by the path's noun."""
    model = ours.call("/models", heart() | {"name": HOSTILE})
    body = {"model": model, "budget": 60, "client_ref": HOSTILE}
    session = ours.call("/predict", body)
    answers = [{"feature": "age", "outcome": "value", "value": 63}]
    ours.call(f"/predict/{session}/answers", {"answers": answers})
    # Of a path the last part is the name.
    rows = "a,b\n" + "".join(f"{number},{number % 2}\n" for number in range(40))
    table = {"dataset": (HOSTILE.replace("/", ""), rows)}
    dataset = ours.call("/datasets", files=table)
    order = {"dataset_id": dataset, "target": "b", "name": HOSTILE}
    return {
        "shadow": start_shadow(ours),
        "models": model,
        "sessions": session,
        "ledger": f"{session}-1",
        "datasets": dataset,
        "train": ours.call("/train", order),
    }


def start_shadow(ours: Visitor) -> str:
    """Start a shadow with a hostile name by its form; return its id."""
    log = "case,decided_at,vendor,score,decision\n1,2026-01-01,score,3,good\n"
    dataset = ours.call("/datasets", files={"dataset": (HOSTILE, log)})
    score = {"name": "score", "type": "number", "cost": 1}
    spec = {"name": HOSTILE, "target": "outcome", "features": [score]}
    roles = ("case", "decided_at", "decision", "vendor")
    mapping = {"layout": "calls"} | {role: role for role in roles}
    form = {"form_token": ours.token, "dataset": dataset, "action": "start"}
    form |= {"spec": json.dumps(spec), "mapping": json.dumps(mapping)}
    started = ours.send("POST", "/ui/shadow/new", form)
    assert started.status_code == 303, started.text
    return str(started.headers["location"].rpartition("/")[2])


def address(path: str, things: dict[str, str]) -> str:
    """Return a path with the id of what it is about, and `none` for the rest."""
    noun = path.split("/")[2] if path.count("/") > 1 else ""
    return re.sub(r"\{[^}]+\}", "none", path.replace("{id}", things.get(noun, "none")))


def test_whoever_has_not_signed_in_is_led_there(client: TestClient) -> None:
    nobody = Visitor(client)

    for method, path in ROUTES:
        got = nobody.send(method, address(path, {}))
        assert got.status_code == 303, (method, path)
        assert got.headers["location"].startswith("/ui/sign-in"), (method, path)


def test_another_tenants_ids_are_not_found(
    client: TestClient, things: dict[str, str]
) -> None:
    other = Visitor(client, tenant="other")

    for method, path in ROUTES:
        status, text = other.ask(method, address(path, things))
        if "{id}" in path:
            assert status == other.ask(method, address(path, {}))[0], (method, path)
            assert status in {404, 422}, (method, path, text)
        assert "alert(1)" not in text, (method, path)


def test_a_key_without_a_scope_sees_nothing(
    client: TestClient, things: dict[str, str]
) -> None:
    poor = Visitor(client, "keys:read", tenant="ours")

    for method, path in ROUTES:
        status, text = poor.ask(method, address(path, things))
        if method == "GET" and path in ("/ui", "/ui/keys"):
            assert status == 200
        else:
            assert status == 403, (method, path)
            assert re.search(r"\w+:(read|write)", text), (method, path)
        assert "alert(1)" not in text, (method, path)


def test_who_may_only_read_changes_nothing(
    client: TestClient, things: dict[str, str]
) -> None:
    scopes = (scope for scope in keys.SCOPES if scope.endswith(":read"))
    reader = Visitor(client, *scopes, tenant="ours")

    for method, path in ROUTES:
        if method != "GET":
            status, text = reader.ask(method, address(path, things))
            assert status == 403, (method, path)
            assert re.search(r"\w+:write", text), (method, path)
    assert "/reverse" not in reader.ask("GET", "/ui/ledger")[1]


def test_a_form_without_the_browsers_token_is_refused(
    client: TestClient, ours: Visitor, things: dict[str, str]
) -> None:
    other = Visitor(client, tenant="other")
    posts = [(method, path) for method, path in ROUTES if method != "GET"]

    for method, path in [*posts, ("POST", "/ui/sign-in"), ("POST", "/ui/sign-out")]:
        for token in ("", other.token):
            status, _ = ours.ask(method, address(path, things), token)
            assert status == 403, (method, path)


def test_odd_ids_are_not_found(ours: Visitor) -> None:
    for place, (method, path) in enumerate(ROUTES):
        odd_ids = [IDS[(place + step) % len(IDS)] for step in range(3)]
        for odd in odd_ids if "{id}" in path else ():
            known = odd if odd.startswith("%") or ".." in odd else quote(odd)
            status, _ = ours.ask(method, path.replace("{id}", known))
            assert status in {404, 422}, (method, path, odd)


def test_hostile_names_are_text(ours: Visitor, things: dict[str, str]) -> None:
    shown = "&lt;script&gt;alert(1)"
    for method, path in ROUTES:
        # A stream of events has no names, and no end.
        is_page = "." not in path and not path.endswith("/events")
        if method == "GET" and is_page and "{" not in path.replace("{id}", ""):
            here = address(path, things)
            status, text = ours.ask("GET", here)
            assert status in {200, 404}, here
            # There is no challenge that could end.
            is_absent = here.endswith(("/none", "/challenge/end", "/challenge/promote"))
            assert status == 200 or is_absent or "/none/" in here, here
            is_named = any(thing in here for thing in things.values())
            assert shown in text or not is_named or status == 404
    assert ours.ask("GET", "/ui")[1].count(shown) >= 2
