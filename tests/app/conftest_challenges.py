"""A small trained model, its cases and their outcomes, and a challenge, as fixtures."""

from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient

from askless.app.worker.errands import Errands
from tests.app.clinic import Train
from tests.app.conftest_http import Once
from tests.app.jobs import Jobs
from tests.app.signs import NAME, SPEC, TABLE, Refresh, Work


@pytest.fixture
def champion(train: Train) -> str:
    return train(TABLE, SPEC)


@pytest.fixture
def work(client: TestClient) -> Work:
    """Work a case to its end: the first question, or all that has a value."""

    def work_case(
        label: str | None,
        *,
        model: str = NAME,
        budget: float | None = None,
        headers: Any = None,
        **values: float,
    ) -> str:
        body = {"model": model, "budget": budget, "stop": {"certain": False}}
        session = client.post("/predict", json=body, headers=headers).json()
        path = f"/predict/{session['id']}"
        answers = [
            {"feature": one, "outcome": "value", "value": value}
            for one, value in values.items()
        ]
        given = client.post(
            f"{path}/answers",
            json={"answers": answers, "insist": True},
            headers=headers,
        )
        assert given.status_code == 200, given.text
        client.post(f"{path}/stop", headers=headers)
        if label is not None:
            told = client.put(f"{path}/outcome", json={"label": label}, headers=headers)
            assert told.status_code == 200, told.text
        return str(session["id"])

    return work_case


@pytest.fixture
def refresh(client: TestClient) -> Refresh:
    def start(key: str = NAME, headers: Any = None, **body: Any) -> Any:
        return client.post(f"/models/{key}/refresh", json=body, headers=headers)

    return start


@pytest.fixture
def play_silently(jobs: Jobs) -> Callable[[], None]:
    """Count new cases as a worker does at its next turn."""
    return Errands(jobs.engine, jobs.blobs, jobs.settings).play_challenges


@pytest.fixture
def challenger(
    client: TestClient,
    jobs: Jobs,
    champion: str,
    work: Work,
    refresh: Refresh,
    once: Once,
) -> str:
    """A challenger that has learnt that b, not a, tells the class by now."""
    del champion

    def build_challenger() -> str:
        for value in (-1, 1):
            for other in (0, 1):
                for _ in range(8):
                    work(str(other), a=value, b=other)
        started = refresh()
        assert started.status_code == 202, started.text
        jobs.worker().work()
        ended = client.get(f"/train/{started.json()['id']}").json()
        assert ended["state"] == "succeeded", ended
        return str(ended["model_id"])

    return once(build_challenger, "challenger")
