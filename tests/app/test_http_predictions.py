"""Sessions over HTTP: every rule of charging, every state."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.store import sessions
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.model.hypotheses import Stump
from tests.app.clinic import (
    Answer,
    Json,
    Put,
    Start,
    many,
)
from tests.app.tenants import transaction
from tests.small import ensemble_of

pytest_plugins = ["tests.app.conftest_http"]


def charges(client: TestClient, session: Json) -> list[tuple[str, float]]:
    entries = client.get(f"/predict/{session['id']}/ledger").json()["items"]
    return [(entry["feature"], entry["amount"]) for entry in entries]


def test_an_answer_is_charged_once_and_written_to_the_ledger(
    client: TestClient, start: Start, answer: Answer
) -> None:
    session = start(60.0)

    after = answer(session, ("age", 63)).json()
    corrected = answer(session, ("age", 36)).json()

    assert after["budget"]["spent"] == 1.0
    assert after["budget"]["remaining"] == 59.0
    assert after["version"] == session["version"] + 1
    assert after["answers"] == [
        {
            "feature": "age",
            "outcome": "value",
            "value": 63,
            "charged": 1.0,
            "propensity": 1.0,
            "explores": False,
        }
    ]
    assert corrected["answers"][0]["value"] == 36
    assert corrected["answers"][0]["charged"] == 1.0
    assert charges(client, session) == [("age", 1.0)]


def test_one_answer_too_dear_fails_the_whole_request(
    client: TestClient, start: Start, answer: Answer
) -> None:
    session = start(6.0)

    refused = answer(session, ("age", 63), ("chol", 233))

    assert refused.status_code == 409
    problem = refused.json()
    assert problem["type"] == "/problems/over-budget"
    assert problem["feature"] == "chol"
    assert (problem["price"], problem["remaining"]) == (7.27, 5.0)
    assert client.get(f"/predict/{session['id']}").json() == session
    assert charges(client, session) == []


def test_a_refused_charge_tells_what_really_remains(
    client: TestClient, start: Start, answer: Answer, engine: sa.Engine
) -> None:
    session = start(3.0)
    with transaction(engine) as db:  # A charge that the state knows nothing of.
        found = sessions.get(db, session["id"])
        assert sessions.save(db, found, 1_750_000)

    refused = answer(session, ("sex", "male"), ("age", 63))

    problem = refused.json()
    assert (problem["feature"], problem["remaining"]) == ("age", 0.75)
    assert charges(client, session) == []


def test_the_same_request_again_changes_nothing(
    client: TestClient, start: Start, answer: Answer
) -> None:
    session = start(60.0)
    given = (("age", 63), ("chol", "ordered"))

    first = answer(session, *given).json()
    second = answer(session, *given)

    assert second.status_code == 200
    assert second.json() == first
    assert len(charges(client, session)) == 2


def test_the_last_answer_can_be_sent_again(
    client: TestClient, start: Start, put: Put, answer: Answer
) -> None:
    session = start(5.0, model=put(many(1), "one"))

    first = answer(session, ("f0", 1))
    second = answer(session, ("f0", 1))

    assert first.json()["stop_reason"] == "all_known"
    assert (second.status_code, second.json()) == (200, first.json())
    assert charges(client, session) == [("f0", 1.0)]


def test_another_affordable_feature_than_the_one_asked_may_be_answered(
    start: Start, answer: Answer
) -> None:
    session = start(60.0)

    after = answer(session, ("ecg", 2.0))

    assert after.status_code == 200
    assert after.json()["question"]["feature"] == "age"


def test_a_category_that_training_did_not_see_is_kept_once_it_is_accepted(
    client: TestClient, start: Start, answer: Answer
) -> None:
    session = start(60.0)

    refused = answer(session, ("sex", "malle"))
    known = client.post(
        "/predict",
        json={"model": session["model"]["id"], "budget": 60, "known": {"sex": "x"}},
    )
    after = answer(session, ("sex", "other"), accept_unseen=True).json()
    changed = answer(session, ("sex", "diverse"), accept_unseen=True).json()

    told = refused.json()["errors"][0]
    assert (refused.status_code, told["field"]) == (422, "answers[0].value")
    assert told["rule"].endswith("training saw, such as male; or `accept_unseen`")
    assert "malle" not in refused.text
    assert known.json()["errors"][0]["field"] == "known.sex"

    assert after["answers"][0]["value"] == "other"
    assert changed["answers"][0]["value"] == "diverse"
    assert charges(client, session) == [("sex", 0.5)]


def test_a_cell_of_the_table_is_an_answer(
    client: TestClient, put: Put, start: Start, answer: Answer
) -> None:
    stumps = [Stump(idx, idx and 0.5, (1,), is_category=not idx) for idx in range(3)]
    catalogue = Catalogue(
        (
            Feature("sex", "category", categories=("1", "2.0", "True")),
            Feature("age", missing=("-1",)),
            Feature("fbs", "boolean"),
        )
    )
    model = put(ensemble_of(stumps, catalogue), "coded")
    cells = [
        *((("sex", 1), "1"), (("sex", 1.0), "1"), (("sex", 2), "2.0")),
        *((("sex", True), "True"), (("age", "63"), 63), (("age", "1 063.5"), 1063.5)),
        *((("fbs", "no"), False), (("fbs", "1"), True)),
    ]
    known = {"age": "63", "sex": 2}

    shown = {
        cell: answer(start(None, model=model), cell).json()["answers"][0]["value"]
        for cell, _ in cells
    }
    body = {"model": model, "budget": None, "known": known}
    started = client.post("/predict", json=body).json()

    assert shown == dict(cells)
    assert [item["value"] for item in started["answers"]] == ["2.0", 63]


def test_what_no_cell_says_is_refused(start: Start, answer: Answer) -> None:
    session = start(60.0)
    rules = {
        ("age", "sixty"): "must be a finite number",
        ("age", "?"): "must be a value: this stands for a missing one",
        ("fbs", "perhaps"): "must be true or false",
        ("sex", 3): "must be a category that training saw, one of female, male",
    }

    for given, rule in rules.items():
        (error,) = answer(session, given).json()["errors"]

        assert error["field"] == "answers[0].value"
        assert error["rule"].startswith(rule)


def test_an_answer_has_a_value_by_default(client: TestClient, start: Start) -> None:
    path = f"/predict/{start(60.0)['id']}/answers"

    taken = client.post(path, json={"answers": [{"feature": "age", "value": 63}]})
    lacking = client.post(path, json={"answers": [{"feature": "age"}]})

    assert taken.json()["answers"][0]["outcome"] == "value"
    rule = "is required: the outcome is value"
    assert lacking.json()["errors"] == [{"field": "answers[0].value", "rule": rule}]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("agge", "; the nearest is 'age'"),
        ("FBS ", "; the nearest is 'fbs'"),
        ("zz", ""),
    ],
)
def test_a_wrong_feature_is_told_the_nearest_and_all(
    start: Start, answer: Answer, name: str, hint: str
) -> None:
    (error,) = answer(start(60.0), (name, 1)).json()["errors"]

    names = "age, sex, chol, fbs, ecg, echo1, echo2"
    assert error["rule"] == f"must name a feature of the model{hint}; it has {names}"


def test_a_session_waits_while_results_are_pending(
    start: Start, put: Put, answer: Answer
) -> None:
    session = start(None, model=put(many(2), "two"), stop={"certain": False})

    waiting = answer(session, ("f0", "ordered"), ("f1", 0)).json()
    done = answer(session, ("f0", 1)).json()

    assert (waiting["state"], waiting["question"]) == ("waiting", None)
    assert waiting["pending"] == ["f0"]
    assert (done["state"], done["stop_reason"]) == ("open", "all_known")


def test_advice_to_stop_locks_nothing(
    client: TestClient, start: Start, put: Put, answer: Answer
) -> None:
    session = start(1.0, model=put(many(2), "two"), stop={"certain": False})
    advised = answer(session, ("f0", 1)).json()

    corrected = answer(session, ("f0", 0)).json()
    dear = answer(session, ("f1", 1)).json()
    client.patch(f"/predict/{session['id']}", json={"budget": 2.0})
    volunteered = answer(session, ("f1", 1)).json()

    assert (advised["should_stop"], advised["question"]) == (True, None)
    assert corrected["answers"][0]["value"] == 0
    assert dear["type"] == "/problems/over-budget"
    assert volunteered["budget"]["spent"] == 2.0


def test_budget_can_be_changed_but_not_below_what_is_spent(
    client: TestClient, start: Start, answer: Answer
) -> None:
    session = start(60.0)
    path = f"/predict/{session['id']}"
    answer(session, ("chol", 233))

    lowered = client.patch(path, json={"budget": 7.27}).json()
    again = client.patch(path, json={"budget": 7.27}).json()
    refused = client.patch(path, json={"budget": 7.26})
    raised = client.patch(path, json={"budget": None}).json()
    client.post(f"{path}/stop")
    closed = client.patch(path, json={"budget": 80})

    assert lowered["budget"]["remaining"] == 0
    assert lowered["stop_reason"] == "budget_exhausted"
    assert again == lowered
    assert refused.json()["errors"] == [
        {"field": "budget", "rule": "must be at least what is spent"}
    ]
    assert (raised["budget"]["limit"], raised["stop_reason"]) == (None, None)
    assert closed.json()["type"] == "/problems/session-closed"


def test_refused_outcome_of_a_known_feature_is_named_by_its_place(
    start: Start, answer: Answer
) -> None:
    session = start(60.0, known={"age": 63})

    refused = answer(session, ("chol", 233), ("age", "unavailable"), ("moon", 1))

    fields = [error["field"] for error in refused.json()["errors"]]
    assert fields == ["answers[1].outcome", "answers[2].feature"]


def test_stop_closes_or_waits_and_may_be_repeated(
    client: TestClient, start: Start, answer: Answer
) -> None:
    session = start(60.0)
    answer(session, ("age", "ordered"))
    path = f"/predict/{session['id']}/stop"

    stopped = client.post(path).json()
    again = client.post(path).json()
    closed = answer(session, ("age", 63)).json()
    refused = answer(session, ("age", 64))

    assert (stopped["state"], stopped["stop_reason"]) == ("waiting", "client_stopped")
    assert again == stopped
    assert (closed["state"], closed["question"]) == ("closed", None)
    assert refused.status_code == 409


@pytest.mark.parametrize(
    ("stop", "reason"),
    [({"confidence": 0.5}, "confident"), ({"max_questions": 1}, "max_questions")],
)
def test_should_stop_advises_and_the_session_goes_on(
    start: Start, answer: Answer, stop: Json, reason: str
) -> None:
    session = start(None, stop={"certain": False} | stop)

    after = answer(session, ("age", 63)).json()

    advised = session if reason == "confident" else after
    assert (advised["should_stop"], advised["stop_reason"]) == (True, reason)
    assert session["question"]["feature"] == "age"
    assert (after["state"], after["question"] is None) == ("open", False)


def test_erasing_keeps_the_amounts_and_nothing_else(
    client: TestClient, start: Start, answer: Answer
) -> None:
    session = start(60.0)
    answer(session, ("chol", 233))

    first = client.delete(f"/predict/{session['id']}")
    second = client.delete(f"/predict/{session['id']}")
    left = client.get(f"/predict/{session['id']}").json()
    refused = answer(session, ("chol", 233))

    assert (first.status_code, second.status_code) == (204, 204)
    assert (left["state"], left["answers"], left["prediction"]) == ("closed", [], None)
    assert left["budget"]["spent"] == 7.27
    assert charges(client, session) == [("chol", 7.27)]
    assert refused.status_code == 409


def test_an_idle_session_expires(
    app: FastAPI, client: TestClient, start: Start, answer: Answer
) -> None:
    session = start(60.0)
    week = timedelta(days=8)
    app.state.clock = lambda: datetime.now(UTC) + week

    seen = client.get(f"/predict/{session['id']}").json()
    listed = client.get("/predict").json()["items"]
    refused = answer(session, ("age", 63))

    assert (seen["state"], seen["stop_reason"]) == ("closed", "expired")
    assert [session["state"] for session in listed] == ["closed"]
    assert refused.status_code == 409
    assert charges(client, session) == []


def test_refused_budget_says_what_no_limit_is(client: TestClient, put: Put) -> None:
    for body in [{}, {"budget": "none"}, {"budget": -1}]:
        asked = {"model": put()} | body

        refused = client.post("/predict", json=asked)

        assert refused.status_code == 422
        (error,) = refused.json()["errors"]
        assert error["field"] == "budget"
        assert error["rule"].endswith(", or null for no limit")
        assert error["rule"].startswith("is required") is (body == {})
        assert client.post("/predict", json=asked | {"budget": None}).status_code == 201
