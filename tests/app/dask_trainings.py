"""A table, and specs that are trained on it here and on a cluster."""

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from askless.app.cluster import worker_lines
from askless.app.cluster.group import ShardGroup
from askless.app.cluster.layout import prepare_on_cluster
from askless.app.cluster.messages import Order
from askless.app.cluster.worker_lines import WorkerLine
from askless.app.documents.files import model_text
from askless.app.processes.parts import choose_runner
from askless.app.settings.places import ClusterPlace
from askless.app.uploads.checking import read_training
from askless.app.uploads.streams import open_table
from askless.core.arrays import IntArray
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train
from tests.app.dask_clusters import DaskCluster
from tests.small import finish

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


def trained_here(visits: Path, spec: TrainingSpec) -> str:
    return model_text(finish(train(read_training(visits, spec), spec)))


def trained_there(
    visits: Path, spec: TrainingSpec, place: ClusterPlace, n_shards: int | None = 2
) -> str:
    opened = open_table(visits, spec.table.text_columns)
    with prepare_on_cluster(opened, spec, place, n_shards) as prepared:
        runner = choose_runner(prepared.table, spec)
        return model_text(finish(train(prepared, spec, run_parts=runner)))


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
