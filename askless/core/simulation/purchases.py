"""Count what sessions buy under each of some budgets."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.catalogue.catalogue import NO_GROUP, Catalogue
from askless.core.model.ensemble import Ensemble
from askless.core.simulation.blocks import Block, Conditions
from askless.core.simulation.simulate import simulate
from askless.core.table.dataset import Dataset

# The weight of the rows whose sessions ask for a set of features, by its packed bits.
Lists = dict[bytes, float]


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
    ensemble: Ensemble, dataset: Dataset, budgets: Sequence[int | None], seed: int = 0
) -> list[Purchases]:
    """Simulate the sessions of rows; return their purchases under each budget.

    Budgets are in micro-units, None is unlimited. A feature whose value is missing
    counts as asked.
    """
    purchases = []
    for budget in budgets:
        walks = simulate(
            ensemble, dataset.values, [budget], seed=seed, needs_ranks=True
        )
        is_asked = walks.ranks > 0
        lists = sum_weights_by_list(is_asked, dataset.weights)
        n_lists, commonest = summarise_lists(lists)
        counts = count_row_questions(ensemble.catalogue, is_asked)
        purchases.append(
            Purchases(
                mean_spend=round(float(dataset.weights @ walks.spent[:, 0]), 3),
                max_spend=int(walks.spent.max(initial=0)),
                shares=round_shares(dataset.weights @ is_asked),
                n_lists=n_lists,
                commonest=commonest,
                ended_after=tuple(
                    round_shares(np.bincount(counts, dataset.weights)).tolist()
                ),
            )
        )
    return purchases


def sum_block_lists(
    ensemble: Ensemble, block: Block, weights: FloatArray, played: Conditions
) -> list[Lists]:
    """Simulate the sessions of a block's rows; return their lists, by condition.

    `weights` (n_rows,) are those of the rows.
    """
    lists = []
    aims = played.aims or [None] * len(played.budgets)
    for budget, aim in zip(played.budgets, aims, strict=True):
        walks = simulate(
            ensemble,
            block.values,
            [budget],
            played.policy,
            played.seed,
            needs_ranks=True,
            streams=block.streams,
            aims=[aim],
            spend=played.spend,
        )
        lists.append(sum_weights_by_list(walks.ranks > 0, weights))
    return lists


def sum_weights_by_list(is_asked: BoolArray, weights: FloatArray) -> Lists:
    """Sum the weights of rows by the set of features that they are asked for."""
    packed = np.packbits(is_asked, axis=1)
    keys, list_idxs = np.unique(packed, axis=0, return_inverse=True)
    sums = np.bincount(list_idxs.reshape(-1), weights, minlength=len(keys))
    pairs = zip(keys, sums.tolist(), strict=True)
    return {key.tobytes(): weight for key, weight in pairs if weight > 0.0}


def merge_lists(lists: Lists, more: Lists) -> Lists:
    """Return the weights of both by list."""
    return lists | {key: lists.get(key, 0.0) + more[key] for key in more}


def summarise_lists(lists: Lists) -> tuple[int, float]:
    """Return the number of different lists, and the commonest one's share of weight."""
    shares = np.array([*lists.values()]) / (math.fsum(lists.values()) or 1.0)
    return len(lists), float(round_shares(shares).max(initial=0.0))


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
