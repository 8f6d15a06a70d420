"""An application by the doors that a file opens, kept for all of its tests.

A file names its doors: `DOORS = ["mcp"]`. On PostgreSQL each test has its own.
"""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.main import create_app
from askless.app.settings.settings import Settings
from tests.kept import Applications, kept_applications  # noqa: F401  # a fixture


@pytest.fixture
def database_url(
    database_url: str, applications: Applications, request: pytest.FixtureRequest
) -> str:
    """A fresh, migrated database: of SQLite in the same place for each test."""
    if not database_url.startswith("sqlite"):
        return database_url
    return applications.renew_database(request.getfixturevalue("sqlite_template"))


@pytest.fixture
def settings(
    database_url: str, applications: Applications, request: pytest.FixtureRequest
) -> Settings:
    doors = getattr(request.module, "DOORS", [])
    return Settings(home=applications.home, database_url=database_url, doors=doors)


@pytest.fixture
def app(settings: Settings, applications: Applications) -> FastAPI:
    if settings.url.startswith("sqlite"):
        return applications.find(settings, is_local=True)
    return create_app(settings, is_local=True)


@pytest.fixture
def client(app: FastAPI, applications: Applications) -> Iterator[TestClient]:
    """A caller on loopback."""
    more = {"raise_server_exceptions": False}
    with applications.client(app, "http://127.0.0.1", **more) as made:
        yield made
