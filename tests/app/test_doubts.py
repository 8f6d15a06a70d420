"""Warnings and hints: what is odd about a value, before and after it is charged."""

from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from askless.app.words.wording import make_doubt
from askless.core.catalogue.catalogue import OTHER, UNSEEN, Feature
from askless.core.model.ensemble import Ensemble
from tests.app.clinic import CLINIC, Answer, Json, Put, Start, clinic, said

pytest_plugins = ["tests.app.conftest_http"]

SEX = Feature("sex", "category", categories=("female", " male "))
AGE = Feature("age", unit="years", value_range=(29.0, 77.0))


def ranged(**changes: Any) -> Ensemble:
    """The clinic's model, with the range of ages and other changes to a feature."""
    features = list(CLINIC.features)
    features[0] = replace(features[0], value_range=(29.0, 77.0))
    features[1] = replace(features[1], **changes)
    catalogue = replace(CLINIC, features=tuple(features))
    return replace(clinic(), catalogue=catalogue)


@pytest.fixture
def session(start: Start, put: Put) -> Json:
    return start(60.0, model=put(ranged(), "ranged"))


@pytest.mark.parametrize(
    ("feature", "value", "text", "words"),
    [
        (SEX, UNSEEN, "mael", "Training saw no such category. The nearest is  male ."),
        (SEX, UNSEEN, "xyz", "Training saw no such category."),
        (SEX, UNSEEN, None, "Training saw no such category."),
        (SEX, 1.0, "male", None),
        (AGE, 28.9, None, "Training saw 29 years to 77 years only."),
        (AGE, 77.0, None, None),
        (replace(AGE, value_range=None), 1e9, None, None),
    ],
)
def test_a_doubt_says_what_training_saw(
    feature: Feature, value: float, text: str | None, words: str | None
) -> None:
    found = make_doubt(feature, value, text)

    assert (None if found is None else found.words) == words


def test_an_odd_value_is_taken_with_a_warning(
    client: TestClient, session: Json, answer: Answer
) -> None:
    after = answer(session, ("age", 130), ("sex", "Mal"), accept_unseen=True).json()
    later = client.get(f"/predict/{session['id']}").json()
    corrected = answer(session, ("age", 63), ("sex", "male")).json()

    assert after["warnings"] == [
        {
            "feature": "age",
            "kind": "outside_range",
            "detail": "Training saw 29 years to 77 years only.",
            "nearest": None,
        },
        {
            "feature": "sex",
            "kind": "unseen_category",
            "detail": "Training saw no such category. The nearest is male.",
            "nearest": "male",
        },
    ]
    assert later["warnings"] == after["warnings"]
    assert corrected["warnings"] == []


def test_a_category_read_as_a_rare_one_is_warned_about(
    start: Start, put: Put, answer: Answer
) -> None:
    joined = ranged(categories=("female", OTHER), has_other=True)
    session = start(60.0, model=put(joined, "joined"))

    after = answer(session, ("sex", "femal")).json()
    rare = answer(session, ("sex", OTHER)).json()

    assert [warning["nearest"] for warning in after["warnings"]] == ["female"]
    assert after["answers"][0]["value"] == OTHER
    assert rare["warnings"] == []


def test_values_known_at_the_start_are_warned_about(start: Start, put: Put) -> None:
    session = start(60.0, model=put(ranged(), "ranged"), known={"age": 12})

    assert [warning["feature"] for warning in session["warnings"]] == ["age"]


def test_a_question_says_what_training_saw(session: Json) -> None:
    question = session["question"]

    assert (question["feature"], question["unit"]) == ("age", "years")
    assert question["range"] == [29.0, 77.0]


def test_answers_can_be_tried_before_they_are_charged(
    client: TestClient, session: Json, answer: Answer
) -> None:
    path = f"/predict/{session['id']}"
    answer(session, ("sex", "diverse"), accept_unseen=True)
    before = client.get(path).json()
    given = [said("age", 130), said("chol", "ordered"), said("fbs", False)]

    tried = client.post(f"{path}/answers/check", json={"answers": given})

    assert tried.status_code == 200
    assert tried.json() == {
        "charges": [
            {"feature": "age", "amount": 1.0},
            {"feature": "chol", "amount": 7.27},
            {"feature": "fbs", "amount": 3.1},
        ],
        "total": 11.37,
        "remaining": 48.13,
        "warnings": [before["warnings"][0] | TRIED],
    }
    assert client.get(path).json() == before


TRIED = {
    "feature": "age",
    "kind": "outside_range",
    "detail": "Training saw 29 years to 77 years only.",
}


def test_what_would_be_refused_is_refused_when_it_is_tried(
    client: TestClient, session: Json
) -> None:
    path = f"/predict/{session['id']}"
    dear = [said("ecg", 1), said("echo1", 1), said("chol", 1)]
    client.patch(path, json={"budget": 20})

    over = client.post(f"{path}/answers/check", json={"answers": dear})
    wrong = client.post(f"{path}/answers/check", json={"answers": [said("moon", 1)]})
    client.delete(path)
    erased = client.post(f"{path}/answers/check", json={"answers": dear})

    assert over.json()["type"] == "/problems/over-budget"
    assert wrong.json()["errors"][0]["field"] == "answers[0].feature"
    assert erased.json()["type"] == "/problems/session-closed"


def test_answers_as_cells_of_a_table_may_mean_missing(
    client: TestClient, start: Start, put: Put
) -> None:
    features = list(CLINIC.features)
    features[1] = replace(features[1], missing_words=("keine",), missing=("-9",))
    features[2] = replace(features[2], missing=("-999",))
    worded = replace(clinic(), catalogue=replace(CLINIC, features=tuple(features)))
    session = start(model=put(worded, "worded"))["id"]
    given = [
        {"feature": "sex", "outcome": "value", "value": "keine"},
        {"feature": "chol", "outcome": "value", "value": -999.0},
        {"feature": "age", "outcome": "value", "value": "63"},
    ]

    refused = client.post(f"/predict/{session}/answers", json={"answers": given})
    taken = client.post(
        f"/predict/{session}/answers", json={"answers": given, "as_cells": True}
    )

    assert refused.status_code == 422
    assert "stands for a missing one" in refused.json()["errors"][0]["rule"]
    outcomes = {item["feature"]: item["outcome"] for item in taken.json()["answers"]}
    assert outcomes == {"sex": "unavailable", "chol": "unavailable", "age": "value"}
