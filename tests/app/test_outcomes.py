"""Outcomes of cases, and what they say of a model over time."""

from datetime import UTC, datetime

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.core.model.figures import wilson_interval
from tests.app.clinic import Answer, Json, Put, Start
from tests.app.test_doubts import ranged

pytest_plugins = ["tests.app.conftest_http"]


def path_of(session: Json) -> str:
    return f"/predict/{session['id']}/outcome"


def test_an_outcome_is_told_once_and_corrected(
    client: TestClient, start: Start, answer: Answer
) -> None:
    session = start(60.0)
    shown = answer(session, ("age", 63)).json()["prediction"]
    client.post(f"/predict/{session['id']}/stop")
    missing = client.get(path_of(session))

    first = client.put(path_of(session), json={"label": "1"})
    again = client.put(path_of(session), json={"label": "1"})
    corrected = client.put(path_of(session), json={"label": 0}).json()

    assert missing.status_code == 404
    assert first.status_code == 200
    assert first.json() == again.json()
    assert (first.json()["label"], first.json()["predicted"]) == ("1", shown["label"])
    chances = {label["label"]: label["probability"] for label in shown["classes"]}
    assert first.json()["probability"] == chances["1"]
    assert (corrected["label"], corrected["probability"]) == ("0", chances["0"])
    assert client.get(path_of(session)).json() == corrected


def test_an_outcome_is_a_class_of_a_session_that_is_there(
    client: TestClient, start: Start
) -> None:
    session = start(60.0)

    odd = client.put(path_of(session), json={"label": "healthy"})
    client.put(path_of(session), json={"label": "1"})
    client.delete(f"/predict/{session['id']}")
    erased = client.put(path_of(session), json={"label": "1"})

    rule = "must be one of the model's classes: 0, 1"
    assert odd.json()["errors"] == [{"field": "label", "rule": rule}]
    assert erased.json()["type"] == "/problems/session-closed"
    assert client.get(path_of(session)).status_code == 404


@pytest.fixture
def model(
    app: FastAPI, client: TestClient, put: Put, start: Start, answer: Answer
) -> str:
    """A model with sessions in two weeks: three closed ones and one that is open."""
    made = put(ranged(), "watched")
    cases = [(16, 63, "1"), (17, 40, "1"), (24, 130, "0"), (25, None, None)]
    for day, age, label in cases:
        app.state.clock = lambda day=day: datetime(2026, 11, day, 9, 0, tzinfo=UTC)
        session = start(60.0, model=made)
        answer(session, ("sex", "refused"))
        if age is not None:
            answer(session, ("age", age))
            client.post(f"/predict/{session['id']}/stop")
            client.put(path_of(session), json={"label": label})
    return made


def monitor(client: TestClient, model: str, **asked: str) -> Json:
    found: Json = client.get(f"/models/{model}/monitor", params=asked).json()
    return found


def test_a_monitor_tells_errors_spend_and_refusals_by_week(
    client: TestClient, model: str
) -> None:
    found = monitor(client, model)

    first, second = found["buckets"]
    whole = found["whole"]
    assert (found["unit"], found["bucket"]) == ("CAD", "week")
    assert (first["start"], second["start"]) == ("2026-11-16", "2026-11-23")
    assert [first["sessions"], second["sessions"], whole["sessions"]] == [2, 2, 4]
    assert [first["closed"], second["closed"], whole["closed"]] == [2, 1, 3]
    assert (whole["mean_spend"], whole["mean_spend_interval"]) == (1.0, [1.0, 1.0])
    assert second["mean_spend_interval"] is None
    assert [first["outcomes"], second["outcomes"], whole["outcomes"]] == [2, 1, 3]
    assert whole["figures"]["brier"]["value"] > 0
    refusals = {feature["feature"]: feature["refused"] for feature in whole["features"]}
    assert refusals["sex"] == {"value": 1.0, "interval": [*wilson_interval(1.0, 4)]}
    assert refusals["age"]["value"] == 0.0


def test_a_monitor_tells_how_answers_differ_from_training(
    client: TestClient, model: str
) -> None:
    (age, _) = monitor(client, model)["whole"]["features"]

    assert (age["feature"], age["answers"]) == ("age", 3)
    assert age["drift"]["values"] == 3
    assert age["drift"]["outside"]["value"] == pytest.approx(1 / 3)
    assert age["drift"]["mean"] == pytest.approx((63 + 40 + 130) / 3)


def test_errors_are_labels_that_were_not_predicted(
    client: TestClient, model: str
) -> None:
    whole = monitor(client, model)["whole"]
    told = [
        client.get(path_of(item)).json()
        for item in client.get("/predict", params={"state": "closed"}).json()["items"]
    ]

    wrong = sum(entry["label"] != entry["predicted"] for entry in told) / 3
    assert whole["error"] == {"value": wrong, "interval": [*wilson_interval(wrong, 3)]}


def test_a_monitor_is_of_the_days_asked_for(client: TestClient, model: str) -> None:
    one = monitor(client, model, **{"from": "2026-11-17", "to": "2026-11-17"})
    months = monitor(client, model, bucket="month")
    none = monitor(client, model, to="2026-11-01")
    odd = client.get(f"/models/{model}/monitor", params={"bucket": "year"})

    assert one["whole"]["sessions"] == 1
    assert [part["start"] for part in months["buckets"]] == ["2026-11-01"]
    assert (none["buckets"], none["whole"]["mean_spend"]) == ([], None)
    assert none["whole"]["error"] is None
    assert odd.status_code == 422


def test_erased_sessions_count_with_what_they_spent_alone(
    client: TestClient, model: str
) -> None:
    (session, *_) = client.get("/predict", params={"state": "closed"}).json()["items"]

    client.delete(f"/predict/{session['id']}")

    whole = monitor(client, model)["whole"]
    assert (whole["closed"], whole["mean_spend"], whole["outcomes"]) == (3, 1.0, 2)


def test_a_monitor_says_in_one_sentence_that_nothing_speaks_for_a_refresh(
    client: TestClient, model: str
) -> None:
    refresh = monitor(client, model)["refresh"]

    assert (refresh["is_due"], refresh["reasons"]) == (False, [])
    assert refresh["sentence"] == (
        "Nothing speaks for a refresh so far: 4 cases, 3 of them with an outcome, and "
        "30 are needed to compare them with training."
    )


def test_a_monitor_of_many_wrong_predictions_says_that_a_refresh_is_due(
    client: TestClient, put: Put, start: Start, answer: Answer
) -> None:
    made = put(ranged(), "wrong")
    for _ in range(50):
        session = start(60.0, model=made)
        shown = answer(session, ("age", 130)).json()["prediction"]["label"]
        client.post(f"/predict/{session['id']}/stop")
        label = "0" if shown == "1" else "1"
        client.put(path_of(session), json={"label": label})

    refresh = monitor(client, made)["refresh"]

    # An imported model tells of no rows that were trained on: no range can be judged.
    kinds = [reason["kind"] for reason in refresh["reasons"]]
    assert refresh["is_due"] is True
    assert kinds == ["calibration", "cases"]
    assert refresh["sentence"].startswith("A refresh is due: labels are right less")
    assert refresh["sentence"].endswith("; 50 cases with outcomes can be learnt from.")
