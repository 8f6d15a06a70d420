"""What many tests need: small tables and ensembles, a generator pulled to its end."""

import math
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.model.ensemble import Ensemble
from askless.core.model.hypotheses import Hypothesis
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train as train_checked
from askless.core.table.check import CheckedTable
from askless.core.table.dataset import ClassLabel, Dataset
from askless.core.table.spec import TableSpec

MICROS = 1_000_000
Yielded = TypeVar("Yielded")
Returned = TypeVar("Returned")


def train(dataset, params, *, target="", error_costs=None, done=None, **options):
    """Train on a dataset by a spec of these options."""
    spec = TrainingSpec(TableSpec(target), boost=params, **options)
    return train_checked(CheckedTable(dataset, error_costs, ()), spec, done)


def signed_of(weights):
    """Weight of each row and class times +1 or -1; (n_samples, n_outputs)."""
    # A change of weights waits until they are looked at.
    weights.search_stumps(np.arange(1))
    parts = [shard.weights for shard in weights.shards.members]
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
    targets: Any = None,
    catalogue: Catalogue | None = None,
    n_classes: int = 2,
    types: Sequence[str] | None = None,
    weights: Any = None,
) -> Dataset:
    """Rows from columns: numbers, equal weights, classes in turn unless told otherwise.

    Weights stay as they are, also where they are zero.
    """
    if targets is None:
        targets = np.arange(len(columns[0])) % n_classes
    targets = np.asarray(targets, np.int64)
    if catalogue is None:
        kinds = enumerate(types or ["number"] * len(columns))
        catalogue = Catalogue(tuple(Feature(f"f{idx}", kind) for idx, kind in kinds))
    values = np.array(columns, np.float64).reshape(len(columns), targets.size).T
    dataset = make_dataset(values, targets, n_classes, catalogue=catalogue)
    if weights is None:
        return dataset
    return replace(dataset, weights=np.array(weights, np.float64))


def classes_of(n_classes: int) -> tuple[ClassLabel, ...]:
    """Return classes a, b, c, …"""
    return tuple(ClassLabel(f"c{idx}", f"class {idx}") for idx in range(n_classes))


def ensemble_of(
    hypotheses: Sequence[Hypothesis],
    catalogue: Catalogue | None = None,
    n_classes: int = 2,
    **fields: Any,
) -> Ensemble:
    """Hypotheses of alpha 1 on number features of cost 1 unless told otherwise."""
    if catalogue is None:
        n_features = 1 + max(
            f for hypothesis in hypotheses for f in hypothesis.feature_idxs
        )
        catalogue = Catalogue(tuple(Feature(f"f{idx}") for idx in range(n_features)))
    plain = {
        "classes": classes_of(n_classes),
        "alphas": (1.0,) * len(hypotheses),
        "priors": (1 / n_classes,) * n_classes,
        "algorithm": "adaboost_bt",
        "policy": "ordered",
    }
    return Ensemble(catalogue, hypotheses=tuple(hypotheses), **(plain | fields))


def make_dataset(
    values: np.ndarray,
    targets: np.ndarray,
    n_classes: int,
    weights: np.ndarray | None = None,
    catalogue: Catalogue | None = None,
    row_groups: np.ndarray | None = None,
) -> Dataset:
    """Return a dataset of number features of cost 1 unless told otherwise."""
    n_samples, n_features = values.shape
    if weights is None:
        weights = np.full(n_samples, 1.0 / n_samples)
    return Dataset(
        catalogue or Catalogue(tuple(Feature(f"f{i}") for i in range(n_features))),
        classes_of(n_classes),
        np.ascontiguousarray(values, np.float64),
        np.asarray(targets, np.int64),
        weights / weights.sum(),
        row_groups,
    )


def random_catalogue(random: np.random.Generator, n_features: int) -> Catalogue:
    """Return features of random costs: categories, a group with a fee, a bundle."""
    features = []
    for idx in range(n_features):
        group = {0: "blood", 1: "blood", 2: "echo", 3: "echo"}.get(idx)
        is_category = idx % 3 == 2
        features.append(
            Feature(
                f"f{idx}",
                "category" if is_category else "number",
                cost=0 if group == "echo" else int(random.integers(0, 5)) * MICROS // 2,
                group=group,
                categories=("a", "b", "c") if is_category else (),
            )
        )
    groups = (
        Group("blood", fee=int(2.1 * MICROS)),
        Group("echo", price=int(3.3 * MICROS)),
    )
    return Catalogue(tuple(features), groups[: min(2, (n_features + 1) // 2)])


def random_dataset(
    seed: int,
    n_classes: int = 3,
    n_samples: int = 30,
    n_features: int = 6,
    n_values: int | None = None,
    share_missing: float = 0.15,
    is_multilabel: bool = False,
) -> Dataset:
    """Return a dataset whose classes follow from its features, more or less.

    `n_values` distinct values per number; None: all different.
    """
    random = np.random.default_rng(seed)
    catalogue = random_catalogue(random, n_features)
    hidden = random.normal(size=(n_samples, n_features))
    scores = hidden @ random.normal(size=(n_features, n_classes))
    scores += 0.7 * hidden[:, :1] * hidden[:, -1:]
    values = hidden.copy()
    if n_values is not None:
        values = np.clip(np.round(hidden * n_values / 4), -n_values // 2, n_values // 2)
    for idx, feature in enumerate(catalogue.features):
        if feature.type == "category":
            values[:, idx] = np.clip(np.round(hidden[:, idx] + 1), 0, 2)
    values[random.random(values.shape) < share_missing] = math.nan
    targets = np.argmax(scores, axis=1)
    targets[:n_classes] = np.arange(n_classes)
    if is_multilabel:
        targets = (scores > 0).astype(np.int64)
    weights = random.uniform(0.5, 2.0, n_samples)
    return make_dataset(values, targets, n_classes, weights, catalogue)
