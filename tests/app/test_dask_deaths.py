"""A real Dask cluster whose workers or coordinator die: the same model to the bit.

Most of these deaths are left to `make test-chaos`.
"""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from askless.app.cluster import engine, worker_lines
from askless.app.cluster.engine import Cluster
from askless.app.cluster.group import ShardsLostError
from askless.app.cluster.layout import prepare_on_cluster
from askless.app.cluster.messages import BEAT, unpack_number
from askless.app.cluster.worker_lines import WorkerLine
from askless.app.documents.spec.spec import read_spec
from askless.app.settings.places import ClusterError
from askless.app.uploads.streams import open_table
from askless.core.pipeline.train import train
from tests.app.dask_clusters import DaskCluster, dask_cluster
from tests.app.dask_trainings import (
    SPEC,
    TREES,
    kill_before,
    killer,
    trained_here,
    trained_there,
)
from tests.app.jobs import wait
from tests.small import finish

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_dask"]


@pytest.mark.parametrize(
    "exchanges",
    [
        pytest.param({1}, id="begin", marks=pytest.mark.chaos),
        pytest.param({2}, id="root", marks=pytest.mark.chaos),
        pytest.param({4}, id="split"),
        pytest.param({5}, id="sides", marks=pytest.mark.chaos),
        pytest.param({9, 14}, id="twice", marks=pytest.mark.chaos),
    ],
)
def test_shard_of_a_worker_that_is_killed_goes_to_another(
    cluster: DaskCluster,
    visits: Path,
    exchanges: set[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster.grow(2 + len(exchanges))
    kill_before(monkeypatch, exchanges, killer(cluster))
    spec = read_spec({**TREES, "ignore": ["kind", "weight"]})

    model = trained_there(visits, spec, cluster.place)

    assert model == trained_here(visits, spec)
    wait(lambda: len(cluster.pids()) == 2)


def test_shard_of_a_worker_that_is_killed_while_it_reads_goes_to_another(
    cluster: DaskCluster, visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill, killed = killer(cluster), []
    receive = WorkerLine.receive

    def receive_first(line: WorkerLine) -> bytes | None:
        packed = receive(line)
        if packed is not None and unpack_number(packed) == BEAT and not killed:
            killed.append(line.worker)
            kill(line.worker)
        return packed

    monkeypatch.setattr(WorkerLine, "receive", receive_first)
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})

    model = trained_there(visits, spec, cluster.place)

    assert model == trained_here(visits, spec)
    assert len(killed) == 1


@pytest.mark.chaos
def test_shard_of_a_worker_that_is_killed_before_it_begins_goes_to_another(
    cluster: DaskCluster, visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill, killed = killer(cluster), []
    submit = Cluster.submit

    def submit_first(there: Cluster, worker: str, token: str) -> Any:
        if not killed:
            killed.append(worker)
            kill(worker)
        return submit(there, worker, token)

    monkeypatch.setattr(Cluster, "submit", submit_first)
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})

    assert trained_there(visits, spec, cluster.place) == trained_here(visits, spec)
    assert len(killed) == 1


@pytest.mark.chaos
def test_second_death_while_a_shard_is_restored_is_made_good_too(
    cluster: DaskCluster, visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.grow(4)
    kill, started = killer(cluster), []
    kill_before(monkeypatch, {5}, kill)
    start = WorkerLine.start

    def start_third_and_kill(line: WorkerLine) -> None:
        start(line)
        started.append(line.worker)
        if len(started) == 3:
            kill(line.worker)

    monkeypatch.setattr(WorkerLine, "start", start_third_and_kill)
    spec = read_spec({**TREES, "ignore": ["kind", "weight"]})

    model = trained_there(visits, spec, cluster.place)

    assert model == trained_here(visits, spec)
    assert len(set(started)) == 4


@pytest.mark.chaos
def test_shard_of_a_worker_that_is_stopped_goes_to_another(
    cluster: DaskCluster, visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_lines, "SILENCE_S", 2)
    pids, stop = cluster.pids(), killer(cluster, signal.SIGSTOP)
    kill_before(monkeypatch, {5}, stop)
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})

    try:
        model = trained_there(visits, spec, cluster.place)
    finally:
        for pid in pids.values():
            os.kill(pid, signal.SIGCONT)

    assert model == trained_here(visits, spec)


@pytest.mark.chaos
def test_worker_that_does_not_begin_is_passed_over(
    cluster: DaskCluster, visits: Path
) -> None:
    first = min(cluster.pids())
    kill = killer(cluster, signal.SIGSTOP)
    place = replace(cluster.place, patience_s=12.0)
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})
    pids = cluster.pids()

    kill(first)
    try:
        model = trained_there(visits, spec, place)
    finally:
        os.kill(pids[first], signal.SIGCONT)

    assert model == trained_here(visits, spec)


def test_training_without_a_spare_worker_is_given_up(
    cluster: DaskCluster, visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_before(monkeypatch, {5}, killer(cluster))
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})
    place = replace(cluster.place, patience_s=1.0)

    with pytest.raises(ClusterError) as lost:
        trained_there(visits, spec, place, 3)

    assert str(lost.value) == (
        "The training was given up: no worker of the cluster was free to take a shard "
        "for 1 s."
    )


@pytest.mark.chaos
def test_training_whose_workers_die_and_die_is_given_up(
    cluster: DaskCluster, visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_before(monkeypatch, {5}, killer(cluster))
    monkeypatch.setattr(worker_lines.assign_shards, "__defaults__", (0,))
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})

    with pytest.raises(ShardsLostError, match="1 of its shard processes have died"):
        trained_there(visits, spec, cluster.place)


COORDINATOR = """
import sys
from pathlib import Path
from askless.app.settings.places import ClusterPlace
from askless.app.documents.spec.spec import read_spec
from tests.app import dask_trainings as dask

folder, address = Path(sys.argv[1]), sys.argv[2]
files = (folder / name for name in ("ca.pem", "cert.pem", "key.pem"))
spec = read_spec({**dask.SPEC, "ignore": ["kind", "weight"]})
table = dask.open_table(folder / "visits.parquet", spec.table.text_columns)
with dask.prepare_on_cluster(table, spec, ClusterPlace(address, *files), 3) as prepared:
    progress = dask.train(prepared, spec)
    for _ in range(4):
        next(progress)
    print("half-way", flush=True)
    input()
"""


@pytest.mark.chaos
def test_workers_of_a_coordinator_that_is_killed_are_free_again(
    cluster: DaskCluster, visits: Path, folder: Path
) -> None:
    coordinator = subprocess.Popen(
        [sys.executable, "-c", COORDINATOR, str(folder), cluster.place.address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with coordinator:
        assert coordinator.stdout is not None
        assert coordinator.stdout.readline() == "half-way\n"
        with cluster.open_client() as client:
            assert len([task for task in client.processing().values() if task]) == 3
            coordinator.kill()

            wait(lambda: not any(client.processing().values()))

    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})
    assert trained_there(visits, spec, cluster.place, 3) == trained_here(visits, spec)


@pytest.mark.chaos
def test_training_whose_whole_cluster_is_killed_is_given_up(
    visits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "CONNECT_S", 3)
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})
    opened = open_table(visits, spec.table.text_columns)
    with (
        dask_cluster(tmp_path, 2) as own,
        prepare_on_cluster(opened, spec, own.place, 2) as prepared,
    ):
        progress = train(prepared, spec)
        next(progress)
        own.stop()

        with pytest.raises(ClusterError, match="The cluster is away"):
            finish(progress)
