"""A small trained model, its cases and their outcomes, and a challenge, as fixtures."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.settings.settings import Settings
from askless.app.worker.errands import Errands
from tests.app.clinic import Train
from tests.app.jobs import Jobs
from tests.app.signs import NAME, SPEC, TABLE, Refresh, Work

#: Calls a function once a process; later copies what it wrote, and returns the same.
Once = Callable[[Callable[[], str]], str]
# By function: the folder with all that was written, and what was returned.
KEPT: dict[str, tuple[Path, str]] = {}


@pytest.fixture
def once(
    settings: Settings, engine: sa.Engine, tmp_path_factory: pytest.TempPathFactory
) -> Once:
    def build_once(build: Callable[[], str]) -> str:
        if engine.dialect.name != "sqlite":
            return build()
        name, home = build.__qualname__, settings.home_dir
        if name not in KEPT:
            result, kept = build(), tmp_path_factory.mktemp("kept")
            copy_database(home, kept)
            copy_uploads(home, kept)
            KEPT[name] = kept, result
        else:
            kept, result = KEPT[name]
            copy_database(kept, home)
            copy_uploads(kept, home)
        return result

    return build_once


def copy_database(source: Path, target: Path) -> None:
    """Copy a database that others are connected to."""
    with (
        closing(sqlite3.connect(source / "askless.db")) as reader,
        closing(sqlite3.connect(target / "askless.db")) as writer,
    ):
        reader.backup(writer)


def copy_uploads(source: Path, target: Path) -> None:
    copytree(source / "uploads", target / "uploads", dirs_exist_ok=True)


@pytest.fixture
def champion(train: Train, once: Once) -> str:
    def build_champion() -> str:
        return train(TABLE, SPEC)

    return once(build_champion)


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

    return once(build_challenger)
