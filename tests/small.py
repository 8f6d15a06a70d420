"""What many tests need: a small table, and a generator pulled to its end."""

from collections.abc import Generator, Sequence
from typing import Any, TypeVar

import numpy as np

from core.pipeline.spec import TrainingSpec
from core.pipeline.train import train as train_checked
from core.table.catalogue import Catalogue, Feature
from core.table.check import Checked
from core.table.dataset import ClassLabel, Dataset
from core.table.spec import TableSpec

Yielded = TypeVar("Yielded")
Returned = TypeVar("Returned")


def train(dataset, params, *, target="", error_costs=None, done=None, **options):
    """Train on a dataset by a spec of these options."""
    spec = TrainingSpec(TableSpec(target), boost=params, **options)
    return train_checked(Checked(dataset, error_costs, ()), spec, done)


def signed_of(weights):
    """Weight of each row and class times +1 or -1; (n_samples, n_outputs)."""
    parts = [shard.weights for shard in weights.shards]
    return np.concatenate(parts, axis=1).T / weights.quanta


def pull(
    work: Generator[Yielded, None, Returned],
) -> tuple[list[Yielded], Returned]:
    """Return all that a generator yields, and what it returns."""
    yielded = []
    while True:
        try:
            yielded.append(next(work))
        except StopIteration as stop:
            return yielded, stop.value


def finish(work: Generator[Any, None, Returned]) -> Returned:
    return pull(work)[1]


def table_of(
    columns: Sequence[Any],
    targets: Any,
    catalogue: Catalogue | None = None,
    n_classes: int = 2,
) -> Dataset:
    """Rows of equal weight from columns; features are numbers unless told otherwise."""
    targets = np.asarray(targets, np.int64)
    names = (f"f{idx}" for idx in range(len(columns)))
    values = np.array(columns, np.float64).reshape(len(columns), targets.size)
    return Dataset(
        catalogue or Catalogue(tuple(Feature(name) for name in names)),
        tuple(ClassLabel(str(one), str(one)) for one in range(n_classes)),
        values.T.copy(),
        targets,
        np.full(targets.size, 1 / targets.size),
    )
