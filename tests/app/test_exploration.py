"""Sessions that explore, over HTTP and in the terminal."""

import pytest
from fastapi.testclient import TestClient

from tests.app.clinic import Json, Put, Start

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_small"]

SEEDS = range(60)


def start_exploring(start: Start, budget: float | None = None) -> Json:
    """Return a session whose first question was drawn at random."""
    for seed in SEEDS:
        session = start(budget, explore=0.5, seed=seed)
        if session["question"]["explores"]:
            return session
    raise AssertionError("no seed draws one")


def test_an_exploratory_question_is_marked_and_says_why(start: Start) -> None:
    session = start_exploring(start)

    question = session["question"]
    assert session["explore"] == 0.5
    assert question["why"].startswith("It was drawn at random, not chosen for this")
    assert 0 < question["propensity"] <= 0.5
    assert not session["should_stop"]


def test_answers_show_the_chance_of_their_question(
    client: TestClient, start: Start
) -> None:
    session = start_exploring(start)
    asked = session["question"]
    answers = [{"feature": asked["feature"], "outcome": "refused"}]

    after = client.post(f"/predict/{session['id']}/answers", json={"answers": answers})

    (taken,) = after.json()["answers"]
    assert taken["explores"]
    assert taken["propensity"] == asked["propensity"]
    assert after.json()["budget"]["spent"] == 0
    assert not after.json()["question"]["explores"]
    assert client.get(f"/predict/{session['id']}").json() == after.json()


def test_sessions_don_t_explore_unless_they_are_asked_to(start: Start) -> None:
    for seed in SEEDS:
        session = start(60.0, seed=seed)

        assert session["explore"] == 0.0
        assert session["question"]["propensity"] == 1.0
        assert not session["question"]["explores"]


def test_the_same_seed_asks_the_same(start: Start) -> None:
    one, two = (start(60.0, explore=0.5, seed=11)["question"] for _ in range(2))

    assert one == two


@pytest.mark.parametrize("rate", [0.51, -0.1, "0.1", True])
def test_a_rate_out_of_range_is_refused_by_name(
    client: TestClient, put: Put, rate: object
) -> None:
    body = {"model": put(), "budget": 60, "explore": rate}

    refused = client.post("/predict", json=body)

    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "explore"


def test_the_terminal_says_that_a_question_was_drawn(model, run) -> None:
    told = [
        run(
            "ask", model, "--budget", "inf", "--explore", "0.5", "--seed", str(seed)
        ).out
        for seed in range(12)
    ]

    assert any("It was drawn at random" in one for one in told)
    assert not all("It was drawn at random" in one for one in told)


def test_the_terminal_refuses_a_rate_out_of_range(model, run) -> None:
    finished = run("ask", model, "--budget", "inf", "--explore", "0.6")

    assert finished.code == 2
    assert "explore: must be from 0 to 0.5" in finished.err
