"""Cases played to the end, as a fixture; a plugin of the tests that name it."""

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tests.app.clinic import Answer, Json, Play, Start, on


@pytest.fixture
def play(app: FastAPI, client: TestClient, start: Start, answer: Answer) -> Play:
    """Play a case on a day, and record its true label; None: none is known."""

    def case(day: int, age: int, label: str | None, **more: object) -> Json:
        app.state.clock = lambda: on(day)
        session = start(60.0, **more)
        answer(session, ("age", age), ("sex", "refused"))
        client.post(f"/predict/{session['id']}/stop")
        if label is not None:
            client.put(f"/predict/{session['id']}/outcome", json={"label": label})
        return session

    return case
