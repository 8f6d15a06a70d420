"""States kept in memory: never taken for the present one, bounded, and forgotten."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.main import create_app
from askless.app.records import PredictSession
from askless.app.service.loaded import KeptStates
from askless.app.settings.settings import Settings
from askless.core.session import machine
from tests.app.clinic import Start, clinic, local_client, said

pytest_plugins = ["tests.app.conftest_http"]


@pytest.fixture
def other(settings: Settings) -> Iterator[TestClient]:
    """Another process over the same database."""
    with local_client(create_app(settings, is_local=True)) as made:
        yield made


def test_answers_that_another_process_took_are_seen(
    client: TestClient, other: TestClient, start: Start
) -> None:
    session = start(60.0)
    path = f"/predict/{session['id']}/answers"
    given = [("age", 63), ("sex", "male"), ("chol", 233), ("fbs", True), ("age", 64)]

    for number, answer in enumerate(given):
        asked = other if number % 2 else client
        told = asked.post(path, json={"answers": [said(*answer)]}).json()

    assert told["version"] == 1 + len(given)
    values = {one["feature"]: one["value"] for one in told["answers"]}
    assert values == {"age": 64, "sex": "male", "chol": 233, "fbs": True}
    assert told == client.get(f"/predict/{session['id']}").json()
    assert told == other.get(f"/predict/{session['id']}").json()


def test_erased_session_is_forgotten(
    client: TestClient, app: FastAPI, start: Start
) -> None:
    session = start(60.0, known={"age": 63})
    assert [*app.state.loaded.states.states] == [session["id"]]

    client.delete(f"/predict/{session['id']}")

    assert not app.state.loaded.states.states


def test_only_the_states_written_last_are_kept() -> None:
    kept, now, ensemble = KeptStates(most=2), datetime.now(UTC), clinic()
    state = machine.start(ensemble, None)

    for number in range(4):
        made = PredictSession(
            f"ses_{number}", "mdl_1", "open", 1, None, 0, "CAD", "{}", now, now
        )
        kept.keep(made, state, {})

    assert [*kept.states] == ["ses_2", "ses_3"]
