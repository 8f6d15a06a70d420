"""A real identity provider, and an application that people sign in to by it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.main import create_app
from askless.app.settings.settings import Settings
from tests.app.doors.oidc.provider import SITE, Provider, install


@pytest.fixture
def engine_name() -> str:
    return "sqlite"


@pytest.fixture(scope="module")
def provider_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("provider"))


@pytest.fixture(scope="module")
def provider(provider_folder: Path) -> Iterator[Provider]:
    made = Provider(provider_folder)
    yield made
    made.close()


@pytest.fixture
def app(settings: Settings, provider: Provider) -> FastAPI:
    return create_app(provider.settings_of(settings, doors=["mcp"]), is_local=False)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    """A browser, which follows no redirect by itself."""
    with TestClient(app, SITE, follow_redirects=False) as made:
        yield made
