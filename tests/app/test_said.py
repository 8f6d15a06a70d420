"""What sessions say over HTTP and on pages of why they stop, and what outcomes mean."""

from dataclasses import replace

from fastapi.testclient import TestClient

from askless.app.documents.words import MEANINGS
from askless.app.words.case_words import COMES_LATER, HELPS_NOT, list_missing
from askless.core.model.model import Model
from askless.core.session import machine, state
from askless.core.session.uses import can_use
from tests.app.clinic import Answer, Start, clinic
from tests.app.test_stop_words import complete, paneled
from tests.panels import make_ladder
from tests.sessions import NEVER

pytest_plugins = ["tests.app.conftest_http"]


def test_session_says_why_it_stops_and_what_remains(
    client: TestClient, start: Start, answer: Answer
) -> None:
    session = start(0.7, stop={"certain": False})
    path = f"/predict/{session['id']}"

    more = client.patch(path, json={"budget": 2}).json()
    done = answer(session, ("age", 63), ("sex", "refused")).json()
    closed = client.post(f"{path}/stop").json()
    client.delete(path)

    assert session["stop_words"] == (
        "What would be bought next costs more than the remaining 0.70 CAD, but "
        "something else is still affordable."
    )
    assert more["stop_words"] is None
    assert done["stop_words"] == (
        "Everything that could still be asked costs more than the remaining 1.00 CAD."
    )
    assert closed["stop_words"] == "Stopped on request."
    assert client.get(path).json()["stop_words"] is None


def test_result_to_come_is_not_said_to_be_answered(
    start: Start, answer: Answer
) -> None:
    session = start(None, stop={"certain": False})

    names = ("age", "sex", "chol", "fbs", "ecg", "echo1", "echo2")
    waiting = answer(session, *((name, "ordered") for name in names)).json()

    assert waiting["state"] == "waiting"
    assert waiting["stop_words"] == (
        "Everything that the model needs for this case is answered or ordered."
    )


def test_affordable_feature_that_was_not_asked_has_its_reason() -> None:
    panels, votes = paneled(1, 2, 40), clinic()
    helped = complete(panels, 7)
    begun = machine.start(votes, 600_000, stop=NEVER)

    said = {
        reason.title: reason.why for reason in list_missing(Model("m", votes), begun)
    }
    left = {
        reason.title: reason.why for reason in list_missing(Model("m", panels), helped)
    }

    assert said["sex"] == COMES_LATER
    assert said["Age"] == "It costs 1.00 CAD; 0.60 CAD is left."
    # No panel reads it, though a hypothesis does.
    assert left["f1"] == "Nothing that the model asks depends on it."
    assert left["f2"] == "It costs 40.00; 6.00 is left."
    assert HELPS_NOT not in (*said.values(), *left.values())


def test_feature_that_could_be_used_is_said_not_to_lower_the_error() -> None:
    ensemble = paneled(1, 2, 40)
    ensemble = replace(ensemble, panels=make_ladder(ensemble, [[0], [1]]))
    session = complete(ensemble, 7)

    (why,) = (
        reason.why
        for reason in list_missing(Model("m", ensemble), session)
        if reason.title == "f1"
    )

    assert (why == HELPS_NOT) == can_use(ensemble, session, 1)


def test_contract_tells_what_is_not_there_from_what_nobody_has() -> None:
    said = MEANINGS[state.Outcome]

    assert "missing cell" in said["unavailable"]
    for outcome in ("refused", "unknown"):
        assert said[outcome].endswith("says nothing about the case")
