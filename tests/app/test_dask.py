"""A real Dask cluster with TLS: the same model to the bit, and what is refused."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.cluster import engine, layout, tasks, worker_lines
from askless.app.cluster.engine import Cluster
from askless.app.cluster.layout import prepare_on_cluster
from askless.app.documents.spec.spec import read_spec
from askless.app.main import create_app
from askless.app.settings.places import ClusterError
from askless.app.settings.settings import Settings
from askless.app.uploads.streams import open_table
from askless.core.errors import RefusedError
from tests.app.dask_clusters import DaskCluster, write_certificates
from tests.app.dask_trainings import (
    SPEC,
    TREES,
    kill_before,
    killer,
    trained_here,
    trained_there,
)
from tests.app.jobs import Jobs
from tests.app.test_silent_cells import SPEC as CASES_SPEC
from tests.app.test_silent_cells import parquet as cases_in_parquet

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_dask"]


CODED = {"algorithm": "adaboost"}
SPECS = {
    "stumps": SPEC,
    "trees": TREES,
    "lazy": {**TREES, "params": {**TREES["params"], "search": "lazy"}},
    "selection": {**SPEC, "selection": {"method": "sfs"}},
    "classes": {**SPEC, "target": "kind"},
    "weights": {**SPEC, "weight": "weight", "certificate": {"share": 0.2}},
    "panels": {**SPEC, "algorithm": "auto", "params": {"rounds": 3}},
}


@pytest.mark.parametrize("kind", SPECS)
def test_model_is_that_of_one_process(
    cluster: DaskCluster, visits: Path, kind: str
) -> None:
    wanted = {**SPECS[kind]}
    others = {"y", "kind", "weight"} - {wanted["target"], wanted.get("weight")}
    spec = read_spec({**wanted, "ignore": sorted(others)})

    model = trained_there(visits, spec, cluster.place, None)

    assert model == trained_here(visits, spec)


def test_logged_cases_among_the_rows_are_noted(
    cluster: DaskCluster, tmp_path: Path
) -> None:
    path = tmp_path / "cases.parquet"
    path.write_bytes(cases_in_parquet())

    with prepare_on_cluster(
        open_table(path), read_spec(CASES_SPEC | CODED), cluster.place, 2
    ) as prepared:
        warnings = prepared.warnings

    assert "6 of 12 rows are logged cases" in warnings[-1]


def test_command_line_trains_on_a_cluster(
    cluster: DaskCluster,
    visits: Path,
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
        *("train", visits, "--spec", tmp_path / "spec.json", "-o", out),
        *("--cluster", cluster.place.address, "--shards", 2),
    )

    assert finished.code == 0, finished.err
    assert out.read_text() == trained_here(visits, read_spec(told))


@pytest.fixture
def settings(
    cluster: DaskCluster, database_url: str, tmp_path: Path, visits: Path
) -> Settings:
    place = cluster.place
    return Settings(
        home=tmp_path,
        database_url=database_url,
        dataset_places=[f"file://{visits.parent}"],
        cluster=place.address,
        cluster_ca=place.ca,
        cluster_cert=place.cert,
        cluster_key=place.key,
    )


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    return create_app(settings, is_local=True)


def start_training(client: TestClient, visits: Path) -> str:
    named = client.post("/datasets", json={"url": f"file://{visits}"})
    told = {**SPEC, "ignore": ["kind", "weight"], "dataset_id": named.json()["id"]}
    started = client.post("/train", json=told)
    assert started.status_code == 202, started.text
    return str(started.json()["id"])


def test_service_trains_on_a_cluster_what_stays_in_its_place(
    client: TestClient,
    jobs: Jobs,
    visits: Path,
    cluster: DaskCluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = []
    take = worker_lines.assign_shards

    def take_noted(there: Cluster, sources: Any) -> Any:
        taken.append(len(sources))
        return take(there, sources)

    monkeypatch.setattr(worker_lines, "assign_shards", take_noted)
    training_id = start_training(client, visits)

    jobs.worker().work()

    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})
    assert jobs.document(training_id) == trained_here(visits, spec)
    assert taken == [len(cluster.pids())]


def test_service_says_that_a_training_lost_its_cluster(
    client: TestClient,
    jobs: Jobs,
    visits: Path,
    cluster: DaskCluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kill_before(monkeypatch, {3}, killer(cluster))
    monkeypatch.setattr(worker_lines.assign_shards, "__defaults__", (0,))
    training_id = start_training(client, visits)

    jobs.worker().work()

    error = client.get(f"/train/{training_id}").json()["error"]
    assert error["type"] == "/problems/cluster-lost"
    assert error["detail"].startswith("The training was given up: 1 of its shard")


def test_more_shards_than_workers_are_told_once_patience_ends(
    cluster: DaskCluster, visits: Path
) -> None:
    place = replace(cluster.place, patience_s=0.5)

    with pytest.raises(ClusterError) as told:
        trained_there(visits, read_spec(SPEC), place, 4)

    assert str(told.value) == "The cluster has too few workers: 3 for 4 shards."


@pytest.mark.chaos
def test_workers_that_are_on_their_way_are_waited_for(
    cluster: DaskCluster, visits: Path
) -> None:
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})
    with ThreadPoolExecutor() as others:
        growing = others.submit(cluster.grow, 4)

        model = trained_there(visits, spec, cluster.place, 4)

        growing.result()
    assert model == trained_here(visits, spec)


def test_table_that_workers_do_not_find_is_refused(
    cluster: DaskCluster, visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})
    lay = layout.table_in_shards
    kept = visits.with_suffix(".kept")

    def lay_gone(*wanted: Any) -> Any:
        visits.rename(kept)
        return lay(*wanted)

    monkeypatch.setattr(layout, "table_in_shards", lay_gone)
    try:
        with pytest.raises(RefusedError) as refused:
            trained_there(visits, spec, cluster.place)
    finally:
        kept.rename(visits)

    (refusal,) = refused.value.refusals
    assert refusal.field.startswith("table visits.parquet at worker tls://127.0.0.1:")
    assert refusal.rule == "must stay as it is while it is read"


def test_worker_with_another_core_is_refused(
    cluster: DaskCluster, visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "core_version", lambda: "0.0.9 (000000000000)")
    spec = read_spec({**SPEC, "ignore": ["kind", "weight"]})

    with pytest.raises(ClusterError) as refused:
        trained_there(visits, spec, cluster.place)

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
            *(worker.pid for worker in cluster.workers),
        ]
        listening = [
            found.laddr.ip
            for pid in pids
            for found in psutil.Process(pid).net_connections("tcp")
            if found.status == psutil.CONN_LISTEN
        ]

    assert len(listening) >= len(pids)
    assert {*listening} == {"127.0.0.1"}
