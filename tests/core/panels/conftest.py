"""What all tests of panels need."""

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Many small fits, which BLAS's threads only slow down."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield
