"""An application that a record system of the tests may launch."""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.settings.doors import SmartServer
from askless.app.settings.settings import Settings
from tests.app.clinic import Make
from tests.app.doors.fhir.hooks import coded
from tests.app.doors.smart.ehr import (
    CLIENT,
    SECRET,
    Ehr,
    running,
)
from tests.app.doors.smart.launches import SITE, meet_anew
from tests.kept import Applications


@pytest.fixture
def engine_name() -> str:
    return "sqlite"


@pytest.fixture(scope="module")
def ehr() -> Iterator[Ehr]:
    """A record system, which each `client` meets anew."""
    with running(f"{SITE}/ui/smart/ehr/callback") as made:
        yield made


@pytest.fixture
def app(settings: Settings, ehr: Ehr, applications: Applications) -> FastAPI:
    """An application that the record system may launch."""
    known = {"client_id": CLIENT, "client_secret": SECRET, "tenant": "clinic"}
    server = SmartServer(fhir=ehr.base, budget=60, **known)
    change = {"address": SITE, "smart_servers": {"ehr": server}}
    return applications.find(settings.model_copy(update=change), is_local=False)


@pytest.fixture
def client(
    app: FastAPI, applications: Applications, ehr: Ehr, key: Make
) -> Iterator[TestClient]:
    """A browser; the clinic has a model with codes."""
    with applications.client(app, SITE, follow_redirects=False) as made:
        meet_anew(app, made, ehr)
        headers = key(tenant="clinic")
        made.post("/models", json=coded(), headers=headers).raise_for_status()
        yield made
