"""A real Dask cluster with TLS: the same model to the bit, whatever is killed.

Most of what is killed is so by `make test-chaos`.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from app.cluster import engine, layout, tasks, worker_lines
from app.cluster.engine import Cluster
from app.cluster.group import ShardGroup, ShardsLostError
from app.cluster.layout import on_cluster
from app.cluster.messages import BEAT, Order, number_of
from app.cluster.worker_lines import WorkerLine
from app.documents.files import model_text
from app.documents.spec import read_spec
from app.main import create_app
from app.processes.parts import choose_runner
from app.settings.places import ClusterError, ClusterPlace
from app.settings.settings import Settings
from app.uploads.checking import read_training
from app.uploads.streams import open_table
from core.arrays import IntArray
from core.errors import RefusedError
from core.pipeline.spec import TrainingSpec
from core.pipeline.train import train
from tests.app.dask_clusters import DaskCluster, dask_cluster, write_certificates
from tests.app.jobs import Jobs, wait
from tests.small import finish

pytest_plugins = ["tests.app.conftest_http"]

SPEC = {
    "name": "visits",
    "target": "y",
    "missing_target": "drop",
    "algorithm": "adaboost_bt_smoothed",
    "params": {"rounds": 6},
    "validation": {"folds": 2},
}
TREES = {
    **SPEC,
    "algorithm": "speedboost",
    "params": {"rounds": 4, "learner": "tree", "leaves": 4},
}
SPECS = {
    "stumps": SPEC,
    "trees": TREES,
    "lazy": {**TREES, "params": {**TREES["params"], "search": "lazy"}},
    "selection": {**SPEC, "selection": {"method": "sfs"}},
    "classes": {**SPEC, "target": "kind"},
    "weights": {**SPEC, "weight": "weight", "certificate": {"share": 0.2}},
    "panels": {**SPEC, "algorithm": "auto", "params": {"rounds": 3}},
}


def write_table(folder: Path) -> Path:
    """Write a table of numbers, words and gaps, in row groups; some rows have no y."""
    random = np.random.default_rng(2)
    n_rows = 260
    values = random.normal(size=(n_rows, 4)).round(2)
    y = (values.sum(axis=1) + random.normal(size=n_rows) > 0).astype(float)
    columns = {f"f{idx}": column for idx, column in enumerate(values.T)}
    columns["f1"] = np.where(random.random(n_rows) < 0.1, np.nan, columns["f1"])
    columns["word"] = np.array(["one", "two", "three"])[random.integers(0, 3, n_rows)]
    columns["y"] = np.where(np.arange(n_rows) % 40 == 3, np.nan, y)
    columns["kind"] = np.array([*"abc"])[np.digitize(values[:, 0], [-0.5, 0.5])]
    columns["weight"] = random.integers(0, 4, n_rows).astype(float)
    path = folder / "visits.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=50)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def table(folder: Path) -> Path:
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


def trained_here(table: Path, spec: TrainingSpec) -> str:
    return model_text(finish(train(read_training(table, spec), spec)))


def trained_there(
    table: Path, spec: TrainingSpec, place: ClusterPlace, n_shards: int | None = 2
) -> str:
    opened = open_table(table, spec.table.text_columns)
    with on_cluster(opened, spec, place, n_shards) as prepared:
        runner = choose_runner(prepared.table, spec)
        return model_text(finish(train(prepared, spec, run_parts=runner)))


@pytest.mark.parametrize("kind", SPECS)
def test_model_is_that_of_one_process(
    cluster: DaskCluster, table: Path, kind: str
) -> None:
    wanted = {**SPECS[kind]}
    others = {"y", "kind", "weight"} - {wanted["target"], wanted.get("weight")}
    spec = read_spec({**wanted, "ignore": sorted(others)})

    model = trained_there(table, spec, cluster.place, None)

    assert model == trained_here(table, spec)


class KilledGroup(ShardGroup[WorkerLine]):
    """Shards of which the second's worker is killed before some exchanges."""

    exchanges: frozenset[int] = frozenset()
    kill: Callable[[str], None]
    n_exchanges = 0

    def exchange(
        self, orders: Sequence[Order], history: Sequence[Order], n_arrays: int
    ) -> list[IntArray]:
        self.n_exchanges += 1
        if self.n_exchanges in self.exchanges:
            self.kill(self._members[1].line.worker)
        return super().exchange(orders, history, n_arrays)


def kill_before(
    monkeypatch: pytest.MonkeyPatch, exchanges: set[int], kill: Callable[[str], None]
) -> None:
    """Have the second shard's worker killed before some exchanges."""
    facts = {"exchanges": frozenset(exchanges), "kill": staticmethod(kill)}
    kind = type("KilledAtTimes", (KilledGroup,), facts)
    monkeypatch.setattr(worker_lines, "ShardGroup", kind)


def killer(
    cluster: DaskCluster, sent: signal.Signals = signal.SIGKILL
) -> Callable[[str], None]:
    pids = cluster.pids()
    return lambda worker: os.kill(pids[worker], sent)


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
    table: Path,
    exchanges: set[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster.grow(2 + len(exchanges))
    kill_before(monkeypatch, exchanges, killer(cluster))
    spec = read_spec({**TREES, "ignore": ["kind", "weight"]})

    model = trained_there(table, spec, cluster.place)

    assert model == trained_here(table, spec)
    wait(lambda: len(cluster.pids()) == 2)


def test_shard_of_a_worker_that_is_killed_while_it_reads_goes_to_another(
    cluster: DaskCluster, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill, killed = killer(cluster), []
    receive = WorkerLine.receive

    def receive_first(line: WorkerLine) -> bytes | None:
        packed = receive(line)
        if packed is not None and number_of(packed) == BEAT and not killed:
            killed.append(line.worker)
            kill(line.worker)
        return packed

    monkeypatch.setattr(WorkerLine, "receive", receive_first)
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})

    model = trained_there(table, spec, cluster.place)

    assert model == trained_here(table, spec)
    assert len(killed) == 1


@pytest.mark.chaos
def test_shard_of_a_worker_that_is_killed_before_it_begins_goes_to_another(
    cluster: DaskCluster, table: Path, monkeypatch: pytest.MonkeyPatch
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

    assert trained_there(table, spec, cluster.place) == trained_here(table, spec)
    assert len(killed) == 1


@pytest.mark.chaos
def test_second_death_while_a_shard_is_restored_is_made_good_too(
    cluster: DaskCluster, table: Path, monkeypatch: pytest.MonkeyPatch
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

    model = trained_there(table, spec, cluster.place)

    assert model == trained_here(table, spec)
    assert len(set(started)) == 4


@pytest.mark.chaos
def test_shard_of_a_worker_that_is_stopped_goes_to_another(
    cluster: DaskCluster, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_lines, "SILENCE_S", 2)
    pids, stop = cluster.pids(), killer(cluster, signal.SIGSTOP)
    kill_before(monkeypatch, {5}, stop)
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})

    try:
        model = trained_there(table, spec, cluster.place)
    finally:
        for pid in pids.values():
            os.kill(pid, signal.SIGCONT)

    assert model == trained_here(table, spec)


@pytest.mark.chaos
def test_worker_that_does_not_begin_is_passed_over(
    cluster: DaskCluster, table: Path
) -> None:
    first = min(cluster.pids())
    kill = killer(cluster, signal.SIGSTOP)
    place = replace(cluster.place, patience_s=12.0)
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})
    pids = cluster.pids()

    kill(first)
    try:
        model = trained_there(table, spec, place)
    finally:
        os.kill(pids[first], signal.SIGCONT)

    assert model == trained_here(table, spec)


def test_training_without_a_spare_worker_is_given_up(
    cluster: DaskCluster, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_before(monkeypatch, {5}, killer(cluster))
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})
    place = replace(cluster.place, patience_s=1.0)

    with pytest.raises(ClusterError) as lost:
        trained_there(table, spec, place, 3)

    assert str(lost.value) == (
        "The training was given up: no worker of the cluster was free to take a shard "
        "for 1 s."
    )


@pytest.mark.chaos
def test_training_whose_workers_die_and_die_is_given_up(
    cluster: DaskCluster, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_before(monkeypatch, {5}, killer(cluster))
    monkeypatch.setattr(worker_lines.take_shards, "__defaults__", (0,))
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})

    with pytest.raises(ShardsLostError, match="1 of its shard processes have died"):
        trained_there(table, spec, cluster.place)


COORDINATOR = """
import sys
from pathlib import Path
from app.settings.places import ClusterPlace
from tests.app import test_dask as dask

folder, address = Path(sys.argv[1]), sys.argv[2]
files = (folder / name for name in ("ca.pem", "cert.pem", "key.pem"))
spec = dask.read_spec({**dask.SPEC, "ignore": ["kind", "weight"]})
table = dask.open_table(folder / "visits.parquet", spec.table.text_columns)
with dask.on_cluster(table, spec, ClusterPlace(address, *files), 3) as prepared:
    progress = dask.train(prepared, spec)
    for _ in range(4):
        next(progress)
    print("half-way", flush=True)
    input()
"""


@pytest.mark.chaos
def test_workers_of_a_coordinator_that_is_killed_are_free_again(
    cluster: DaskCluster, table: Path, folder: Path
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
            assert len([one for one in client.processing().values() if one]) == 3
            coordinator.kill()

            wait(lambda: not any(client.processing().values()))

    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})
    assert trained_there(table, spec, cluster.place, 3) == trained_here(table, spec)


def test_command_line_trains_on_a_cluster(
    cluster: DaskCluster,
    table: Path,
    run: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("ca", "cert", "key"):
        path = getattr(cluster.place, name)
        monkeypatch.setenv(f"ASKLESS_CLUSTER_{name.upper()}", str(path))
    told = {**SPEC, "ignore": ["kind", "weight"]}
    (tmp_path / "spec.json").write_text(json.dumps(told))
    out = tmp_path / "model.json"

    finished = run(
        *("train", table, "--spec", tmp_path / "spec.json", "-o", out),
        *("--cluster", cluster.place.address, "--shards", 2),
    )

    assert finished.code == 0, finished.err
    assert out.read_text() == trained_here(table, read_spec(told))


@pytest.fixture
def settings(
    cluster: DaskCluster, database_url: str, tmp_path: Path, table: Path
) -> Settings:
    place = cluster.place
    return Settings(
        home=tmp_path,
        database_url=database_url,
        dataset_places=[f"file://{table.parent}"],
        cluster=place.address,
        cluster_ca=place.ca,
        cluster_cert=place.cert,
        cluster_key=place.key,
        shards=2,
    )


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    return create_app(settings, is_local=True)


def start_training(client: TestClient, table: Path) -> str:
    named = client.post("/datasets", json={"url": f"file://{table}"})
    told = {**SPEC, "ignore": ["kind", "weight"], "dataset_id": named.json()["id"]}
    started = client.post("/train", json=told)
    assert started.status_code == 202, started.text
    return str(started.json()["id"])


def test_service_trains_on_a_cluster_what_stays_in_its_place(
    client: TestClient, jobs: Jobs, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    take = worker_lines.take_shards

    def take_noted(there: Cluster, sources: Any) -> Any:
        taken.append(len(sources))
        return take(there, sources)

    monkeypatch.setattr(worker_lines, "take_shards", take_noted)
    training_id = start_training(client, table)

    jobs.worker().work()

    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})
    assert jobs.document(training_id) == trained_here(table, spec)
    assert taken == [2]


def test_service_says_that_a_training_lost_its_cluster(
    client: TestClient,
    jobs: Jobs,
    table: Path,
    cluster: DaskCluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kill_before(monkeypatch, {3}, killer(cluster))
    monkeypatch.setattr(worker_lines.take_shards, "__defaults__", (0,))
    training_id = start_training(client, table)

    jobs.worker().work()

    error = client.get(f"/train/{training_id}").json()["error"]
    assert error["type"] == "/problems/cluster-lost"
    assert error["detail"].startswith("The training was given up: 1 of its shard")


def test_more_shards_than_workers_are_told_once_patience_ends(
    cluster: DaskCluster, table: Path
) -> None:
    place = replace(cluster.place, patience_s=0.5)

    with pytest.raises(ClusterError) as told:
        trained_there(table, read_spec(SPEC), place, 4)

    assert str(told.value) == "The cluster has too few workers: 3 for 4 shards."


@pytest.mark.chaos
def test_workers_that_are_on_their_way_are_waited_for(
    cluster: DaskCluster, table: Path
) -> None:
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})
    with ThreadPoolExecutor() as others:
        growing = others.submit(cluster.grow, 4)

        model = trained_there(table, spec, cluster.place, 4)

        growing.result()
    assert model == trained_here(table, spec)


def test_table_that_workers_do_not_find_is_refused(
    cluster: DaskCluster, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})
    lay = layout.lay_elsewhere
    kept = table.with_suffix(".kept")

    def lay_gone(*wanted: Any) -> Any:
        table.rename(kept)
        return lay(*wanted)

    monkeypatch.setattr(layout, "lay_elsewhere", lay_gone)
    try:
        with pytest.raises(RefusedError) as refused:
            trained_there(table, spec, cluster.place)
    finally:
        kept.rename(table)

    (refusal,) = refused.value.refusals
    assert refusal.field.startswith("table visits.parquet at worker tls://127.0.0.1:")
    assert refusal.rule == "must stay as it is while it is read"


def test_worker_with_another_core_is_refused(
    cluster: DaskCluster, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "core_version", lambda: "0.0.9 (000000000000)")
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})

    with pytest.raises(ClusterError) as refused:
        trained_there(table, spec, cluster.place)

    said = f"it has core {tasks.core_version()}, and needs 0.0.9 (000000000000)"
    assert str(refused.value).startswith("worker tls://127.0.0.1:")
    assert str(refused.value).endswith(f"can't take a shard: {said}")


def test_certificate_of_another_authority_is_refused(
    cluster: DaskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "CONNECT_S", 1)
    place = replace(write_certificates(tmp_path), address=cluster.place.address)

    with pytest.raises(RefusedError) as refused:
        Cluster(place)

    (refusal,) = refused.value.refusals
    assert refusal.field == "ASKLESS_CLUSTER"
    assert refusal.rule == (
        "must be a scheduler that answers, with certificates of one authority"
    )


def test_stranger_is_not_heard(cluster: DaskCluster) -> None:
    with Cluster(cluster.place) as here, cluster.open_client() as client:
        shard = client.submit(
            tasks.serve_shard, here.here, "no token", tasks.core_version(), pure=False
        )

        assert shard.result(timeout=20) is None


def test_all_that_listens_is_on_loopback(cluster: DaskCluster) -> None:
    with Cluster(cluster.place):
        pids = [
            os.getpid(),
            cluster.scheduler.pid,
            *(one.pid for one in cluster.workers),
        ]
        listening = [
            found.laddr.ip
            for pid in pids
            for found in psutil.Process(pid).net_connections("tcp")
            if found.status == psutil.CONN_LISTEN
        ]

    assert len(listening) >= len(pids)
    assert {*listening} == {"127.0.0.1"}


@pytest.mark.chaos
def test_training_whose_whole_cluster_is_killed_is_given_up(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "CONNECT_S", 3)
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})
    opened = open_table(table, spec.table.text_columns)
    with (
        dask_cluster(tmp_path, 2) as own,
        on_cluster(opened, spec, own.place, 2) as prepared,
    ):
        progress = train(prepared, spec)
        next(progress)
        own.stop()

        with pytest.raises(ClusterError, match="The cluster is away"):
            finish(progress)
