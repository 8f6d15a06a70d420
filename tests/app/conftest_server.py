"""A server in a process of its own over a fresh database, and who calls it.

A plugin of the tests that name it: `pytest_plugins = ["tests.app.conftest_server"]`.
"""

from collections.abc import Iterator

import httpx
import pytest

from askless.app.settings.settings import Settings
from tests.app.servers import Server


@pytest.fixture
def server(settings: Settings) -> Iterator[Server]:
    made = Server(settings)
    yield made
    made.close()


@pytest.fixture
def caller(server: Server) -> Iterator[httpx.Client]:
    limits = httpx.Limits(max_connections=None, keepalive_expiry=2)
    with httpx.Client(
        base_url=server.url, timeout=120, limits=limits, trust_env=False
    ) as made:
        yield made
