"""A database as the tests of the application have it, on SQLite alone."""

import pytest

from tests.app.conftest import (  # noqa: F401  # fixtures
    database_url,
    settings,
    sqlite_template,
    warm_kernels,
)


@pytest.fixture
def engine_name() -> str:
    return "sqlite"
