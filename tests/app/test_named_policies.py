"""Sessions say, over HTTP and on their pages, that a policy named is not in force."""

from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from askless.app.words.own_questions import OUT_OF_FORCE
from askless.core.model.ensemble import BudgetRange, Ensemble
from askless.core.model.ladder.asking import AskingTerms, Worth
from tests.app.clinic import UNIT, Put, Start
from tests.panels import make_ladder, make_tables
from tests.sessions import small_ensemble

pytest_plugins = ["tests.app.conftest_http"]


@pytest.fixture
def model(put: Put) -> str:
    """Own questions are in force up to a budget of 4."""
    return put(asking_by_worth())


def asking_by_worth() -> Ensemble:
    ensemble = small_ensemble([UNIT, UNIT], policy="panels")
    ladder = replace(
        make_ladder(ensemble, [(0, 1)]),
        tables=make_tables(ensemble, 0, seed=1),
        worth=Worth((AskingTerms(0, 1.0),), (0, 1)),
    )
    ranges = BudgetRange(4 * UNIT, "worth"), BudgetRange(None, "panels")
    return replace(ensemble, panels=ladder, ranges=ranges)


@pytest.mark.parametrize(
    ("budget", "policy", "words"),
    [
        (5, "worth", OUT_OF_FORCE),
        (None, "worth", OUT_OF_FORCE),
        (4, "worth", None),
        (4, None, None),
        (5, None, None),
        (4, "panels", None),
    ],
)
def test_worth_that_is_named_and_out_of_force_says_so_and_asks(
    client: TestClient,
    start: Start,
    model: str,
    budget: float | None,
    policy: str | None,
    words: str | None,
) -> None:
    session = start(budget, model=model, stop={"certain": False}, policy=policy)

    page = client.get(f"/ui/sessions/{session['id']}?on=1").text
    result = client.get(f"/ui/sessions/{session['id']}/result").text

    assert session["policy_words"] == words
    # Pages write an apostrophe as an entity, and this sentence has one.
    begin = OUT_OF_FORCE.split(".", maxsplit=1)[0]
    assert [begin in text for text in (page, result)] == [words is not None] * 2
    if words is not None:
        assert session["policy"] == "worth"
        assert session["question"] is not None


def test_sentence_goes_where_the_budget_is_lowered_to_one_in_force(
    client: TestClient, start: Start, model: str
) -> None:
    session = start(5, model=model, policy="worth")

    changed = client.patch(f"/predict/{session['id']}", json={"budget": 3}).json()

    assert session["policy_words"] == OUT_OF_FORCE
    assert changed["policy_words"] is None


def test_erased_session_says_nothing_of_its_policy(
    client: TestClient, start: Start, model: str
) -> None:
    path = f"/predict/{start(5, model=model, policy='worth')['id']}"

    client.delete(path)

    assert client.get(path).json()["policy_words"] is None
