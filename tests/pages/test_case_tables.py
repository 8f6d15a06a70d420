"""The page that makes a table of closed cases."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.app.clinic import clinic, model_json, said
from tests.pages.site import post
from tests.pages.visitors import Visitor

PAGE = "/ui/datasets/cases"


def make(client: TestClient, **typed: str) -> Any:
    return post(client, PAGE, **typed)


@pytest.fixture
def case(client: TestClient) -> None:
    """A closed case of a model, with its true class."""
    raw = model_json(clinic(), "clinic")
    model = client.post("/models", json=raw).json()["id"]
    session = client.post("/predict", json={"model": model, "budget": 60}).json()["id"]
    answers = {"answers": [said("age", 63)]}
    client.post(f"/predict/{session}/answers", json=answers)
    client.post(f"/predict/{session}/stop")
    client.put(f"/predict/{session}/outcome", json={"label": "1"})


@pytest.mark.usefixtures("case")
def test_closed_cases_are_counted_and_made_a_table(client: TestClient) -> None:
    form = client.get(PAGE).text
    made = make(client, of="clinic", **{"from": "2020-01-01"})
    shown = client.get(made.headers["location"]).text

    assert PAGE in client.get("/ui/datasets").text
    assert "clinic: 1 closed case<" in form
    assert made.status_code == 303
    for words in ("cases of clinic", "1 row, 9 columns", "askless_case"):
        assert words in shown


@pytest.mark.usefixtures("case")
def test_a_refusal_stands_at_its_field(client: TestClient) -> None:
    none = make(client, of="clinic", to="2020-01-01")
    odd = make(client, of="clinic", **{"from": "2026-02-02", "to": "2026-01-01"})
    unnamed = make(client)
    unknown = make(client, of="nobody")

    assert (none.status_code, unknown.status_code) == (422, 404)
    assert "must have closed cases with an outcome" in none.text
    assert 'aria-describedby="f-from-hint f-from-error"' in odd.text
    assert "must be chosen" in unnamed.text
    assert "There is no such model" in unknown.text


def test_without_a_case_there_is_no_form(client: TestClient) -> None:
    assert "No case is closed" in client.get(PAGE).text


@pytest.mark.parametrize("is_local", [False])
def test_a_key_that_may_not_read_sessions_gets_no_form(client: TestClient) -> None:
    writer = Visitor(client, "datasets:read", "datasets:write", tenant="ours")
    status, shown = writer.ask("GET", PAGE)

    assert status == 200
    assert "lacks the scope" in shown
    assert "<select" not in shown
