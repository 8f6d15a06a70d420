"""Keep applications for many tests; each test finds state and database as new.

An application takes longer to make and to start than most tests take. What tests
change is in its state and in its database, and both are replaced before each test.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.http.plumbing.auth import Guard
from askless.app.main import create_app
from askless.app.service.loaded import LoadedModels
from askless.app.settings.settings import Settings

DATABASE = "askless.db"
# In memory a database is made and closed in a tenth of the time. Containers may have
# little of it.
MEMORY = Path("/dev/shm")
ROOM = 2**30


class KeptApp(NamedTuple):
    """An application that runs, and its state as it was when it started."""

    app: FastAPI
    caller: TestClient
    state: dict[str, Any]


class Applications:
    """The applications of a home, by their settings."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.kept: list[KeptApp] = []
        self.stack = ExitStack()

    def renew_database(self, template: Path) -> str:
        """Put a copy of a migrated file in the place of what tests have written."""
        for kept in self.kept:
            kept.app.state.engine.dispose()
        uploads = (self.home / "uploads").glob("*")
        for path in (*self.home.glob(f"{DATABASE}*"), *uploads):
            path.unlink()
        shutil.copy(template, self.home / DATABASE)
        return f"sqlite:///{self.home / DATABASE}"

    def find(self, settings: Settings, *, is_local: bool) -> FastAPI:
        """Return an application of settings, as if it had just started."""
        for kept in self.kept:
            state = kept.state
            if (state["settings"], state["is_local"]) == (settings, is_local):
                renew_state(kept)
                return kept.app
        app = create_app(settings, is_local=is_local)
        caller = self.stack.enter_context(TestClient(app))
        self.kept.append(KeptApp(app, caller, dict(app.state._state)))
        return app

    @contextmanager
    def client(self, app: FastAPI, url: str, **more: Any) -> Iterator[TestClient]:
        """Let a client call a kept application; start and end any other."""
        client = TestClient(app, url, **more)
        callers = [kept.caller for kept in self.kept if kept.app is app]
        if callers:
            client.portal = callers[0].portal
            yield client
        else:
            with client:
                yield client


@pytest.fixture(scope="session")
def short_folder() -> Iterator[Path]:
    # Short, since a socket's path is limited to some hundred bytes; not in a folder of
    # ours, since the wheel opens every folder above its data to its own user.
    has_room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM
    base = Path(tempfile.mkdtemp(prefix="ask", dir=MEMORY if has_room else "/tmp"))
    base.chmod(0o755)
    yield base
    shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(scope="session", name="applications")
def kept_applications(short_folder: Path) -> Iterator[Applications]:
    """Those of a run; a fixture of the folders whose conftest names it."""
    made = Applications(short_folder / "kept")
    made.home.mkdir()
    with made.stack:
        yield made


def renew_state(kept: KeptApp) -> None:
    """Undo what tests have changed; forget models, keys and counts of requests."""
    state, settings = kept.app.state, kept.state["settings"]
    state._state.clear()
    state._state.update(kept.state)
    state.guard = Guard(settings.limits, settings.must_ask(is_local=state.is_local))
    state.loaded = LoadedModels()
