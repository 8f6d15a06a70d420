"""Count what sessions buy under each of some budgets."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.catalogue.catalogue import NO_GROUP, Catalogue
from askless.core.model.ensemble import Ensemble
from askless.core.simulation.simulate import walk
from askless.core.table.dataset import Dataset


class Purchases(NamedTuple):
    """Purchases of rows' sessions under one budget; shares are of the rows' weight."""

    #: in micro-units
    mean_spend: float
    max_spend: int
    #: (n_features,), share of sessions that ask for each feature
    shares: FloatArray
    #: number of different feature sets asked for, and the share of the commonest
    n_lists: int
    commonest: float
    #: share of sessions that end after 0, 1, 2 ... questions; a bundle is one question
    ended_after: tuple[float, ...]


def measure_purchases(
    ensemble: Ensemble,
    dataset: Dataset,
    budgets: Sequence[int | None],
    policy: str | None = None,
    seed: int = 0,
) -> list[Purchases]:
    """Simulate the sessions of rows; return their purchases under each budget.

    Budgets are in micro-units, None is unlimited. A feature whose value is missing
    counts as asked.
    """
    purchases = []
    for budget in budgets:
        walks = walk(ensemble, dataset.values, [budget], policy, seed, needs_ranks=True)
        is_asked = walks.ranks > 0
        lists = sum_feature_sets(is_asked, dataset.weights)
        counts = count_row_questions(ensemble.catalogue, is_asked)
        purchases.append(
            Purchases(
                mean_spend=round(float(dataset.weights @ walks.spent[:, 0]), 3),
                max_spend=int(walks.spent.max(initial=0)),
                shares=round_shares(dataset.weights @ is_asked),
                n_lists=lists.size,
                commonest=float(round_shares(lists).max(initial=0.0)),
                ended_after=tuple(
                    round_shares(np.bincount(counts, dataset.weights)).tolist()
                ),
            )
        )
    return purchases


def sum_feature_sets(is_asked: BoolArray, weights: FloatArray) -> FloatArray:
    """Sum the weights of rows by the set of features that they are asked; (n_sets,)."""
    which = np.unique(is_asked, axis=0, return_inverse=True)[1].reshape(-1)
    return np.bincount(which, weights).astype(np.float64)


def count_row_questions(catalogue: Catalogue, is_asked: BoolArray) -> IntArray:
    """Count the questions of each row, (n_rows,); a bundle is one question."""
    bundles = np.where(catalogue.is_bundled, catalogue.group_idxs, NO_GROUP)
    counts: IntArray = is_asked[:, bundles == NO_GROUP].sum(axis=1, dtype=np.int64)
    for bundle in np.unique(bundles[bundles != NO_GROUP]).tolist():
        counts += is_asked[:, bundles == bundle].any(axis=1)
    return counts


def round_shares(shares: npt.ArrayLike) -> FloatArray:
    """Return shares rounded to 9 digits, so that sums of all weights are exactly 1."""
    rounded: FloatArray = np.clip(np.asarray(shares, np.float64).round(9), 0.0, 1.0)
    return rounded
