"""Tables and streams that tests learn online, and boosters that have learnt them."""

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.codes.binning import bin_values
from askless.core.table.dataset import Dataset
from askless.core.training.boosting import sign_weights
from askless.core.training.online.online import (
    OnlineBooster,
)
from askless.core.training.params import BoostParams
from tests.small import make_dataset

PARAMS = BoostParams("online", rounds=12, half_life=500)


def learnt(
    dataset: Dataset, params: BoostParams, *spans: int, has_table: bool = True
) -> OnlineBooster:
    """Learn rows in their order, in several calls of so many rows; all in one else."""
    cuts = bin_values(dataset).cuts if has_table else None
    n_classes = len(dataset.classes)
    booster = OnlineBooster.start(dataset.catalogue, n_classes, params, cuts)
    signed = signed_of(dataset)
    start = 0
    for n_rows in spans or (dataset.n_samples,):
        rows = slice(start, start + n_rows)
        booster.learn(dataset.values[rows], signed[rows])
        start += n_rows
    return booster


def signed_of(dataset: Dataset) -> FloatArray:
    return sign_weights(dataset.targets, len(dataset.classes))


def bytes_of(booster: OnlineBooster) -> list[bytes]:
    return [array.tobytes() for array in booster.state]


def line(
    n_rows: int,
    costs: tuple[int, ...],
    *,
    seed: int = 0,
    turn: float = 1.0,
    spread: float = 0.1,
) -> Dataset:
    """A table of two classes by the sign of a number that all features repeat."""
    draws = np.random.default_rng(seed)
    first = draws.normal(size=n_rows)
    values = np.column_stack(
        [first + draws.normal(size=n_rows) * spread for _ in costs]
    )
    features = [
        Feature(f"f{idx}", cost=cost * MICROS_PER_UNIT)
        for idx, cost in enumerate(costs)
    ]
    targets = (first * turn > 0).astype(np.int64)
    weights = np.full(n_rows, 1 / n_rows)
    return make_dataset(values, targets, 2, weights, Catalogue(tuple(features)))


def both_of(first: Dataset, then: Dataset) -> Dataset:
    """One table after another."""
    values = np.concatenate([first.values, then.values])
    targets = np.concatenate([first.targets, then.targets])
    weights = np.full(targets.size, 1 / targets.size)
    return make_dataset(values, targets, 2, weights, first.catalogue)


def share_wrong(booster: OnlineBooster, dataset: Dataset) -> float:
    """Share of rows that the learners put on the wrong side."""
    votes = np.zeros(dataset.n_samples)
    for stump, alpha in booster.stumps():
        above = dataset.values[:, stump.feature_idx] > stump.cut
        votes += alpha * np.where(above, 1, -1) * stump.votes[0]
    return float(((votes > 0) != (dataset.targets == 1)).mean())
