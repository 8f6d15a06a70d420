"""Every form of every page, found by itself, with odd values in its fields."""

from collections.abc import Iterator
from itertools import cycle
from typing import Any

from fastapi.testclient import TestClient

from tests.pages.hostile import MARKUP
from tests.pages.test_walls import ROUTES, address
from tests.pages.visits import Form, Html

ODD = ("", MARKUP, "1e999", "x" * 5000, "\0", "-1", "\u202e ١٢")


def forms(client: TestClient, things: dict[str, str]) -> Iterator[Form]:
    for method, path in ROUTES:
        if method == "GET" and "." not in path:
            model, data = things["models"], things["datasets"]
            query = {"model": model, "a": model, "b": model, "dataset": data}
            page = client.get(address(path, things), params=query)
            yield from Html(page.text).forms


def sent(form: Form) -> Iterator[dict[str, Any]]:
    """Yield what to send: each field odd by itself, then all of them."""
    form.fields.update(pair for pair in form.buttons.values() if pair[0])
    names = [name for name in form.fields if name != "form_token"]
    for name, odd in zip(names, cycle(ODD), strict=False):
        yield form.fields | {name: odd}
    for odd in ODD[:3] if names else ():
        yield form.fields | dict.fromkeys(names, odd)


def test_no_form_fails_whatever_is_typed(client: TestClient, model_id: str) -> None:
    client.follow_redirects = True
    wish = {"model": model_id, "budget": 60}
    session = client.post("/predict", json=wish).json()["id"]
    table = {"dataset": ("table.csv", b"a,b\n1,2\n")}
    data = client.post("/datasets", files=table).json()["id"]
    things = {"models": model_id, "sessions": session, "datasets": data}
    sent_to = set[tuple[str, ...]]()
    for form in forms(client, things):
        # Many pages have the same form.
        what = (form.method, form.action, *form.fields)
        if what in sent_to:
            continue
        sent_to.add(what)
        for fields in sent(form):
            key = "data" if form.method == "post" else "params"
            got = client.request(form.method, form.action, **{key: fields})  # type: ignore[arg-type]
            assert got.status_code < 500, (form.action, fields)
            assert "<script>alert" not in got.text, (form.action, fields)
    assert len(sent_to) > 5
