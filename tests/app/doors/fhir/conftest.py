"""An application whose doors are open."""

import pytest
from fastapi import FastAPI

from askless.app.main import create_app
from askless.app.settings.settings import Settings


@pytest.fixture
def engine_name() -> str:
    return "sqlite"


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    opened = settings.model_copy(update={"doors": ["fhir", "cds"]})
    return create_app(opened, is_local=True)
