"""An application by the doors that a file opens, kept for all of its tests.

A file names its doors: `DOORS = ["mcp"]`. On PostgreSQL each test has its own.
"""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.settings.settings import Settings
from tests.app.clinic import MakeApp
from tests.kept import Applications


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    doors = getattr(request.module, "DOORS", [])
    return settings.model_copy(update={"doors": doors})


@pytest.fixture
def app(make_app: MakeApp) -> FastAPI:
    return make_app(is_local=True)


@pytest.fixture
def client(app: FastAPI, applications: Applications) -> Iterator[TestClient]:
    """A caller on loopback."""
    more = {"raise_server_exceptions": False}
    with applications.client(app, "http://127.0.0.1", **more) as made:
        yield made
