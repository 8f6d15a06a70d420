"""Doors on FHIR run on SQLite alone, but where a test names engines."""

import pytest


@pytest.fixture
def engine_name() -> str:
    return "sqlite"
