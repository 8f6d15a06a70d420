"""A table and a cluster that trains on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.dask_clusters import DaskCluster, dask_cluster
from tests.app.dask_trainings import write_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def visits(folder: Path) -> Path:
    return write_table(folder)


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[DaskCluster]:
    with dask_cluster(folder, 3) as cluster:
        yield cluster


@pytest.fixture
def cluster(running: DaskCluster) -> DaskCluster:
    """Return the cluster with three workers that live."""
    running.shrink(3)
    running.grow(3)
    return running
