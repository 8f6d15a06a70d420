"""Error and spend against budget over many sessions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.figures import Estimate
from askless.core.model.model import Curve
from askless.core.session.state import Aim, Spend
from askless.core.simulation.blocks import (
    Block,
    Conditions,
    choose_stride,
    simulate_block,
)
from askless.core.simulation.curve_sums import sum_rows
from askless.core.simulation.figures import ScoredRows, estimate_mean
from askless.core.table.dataset import Dataset


@dataclass(frozen=True)
class Endings:
    """Errors and spends at the ends of rows' sessions, (n_rows, n_budgets)."""

    #: whether the vote is wrong; for several labels, the share that is wrong
    wrong_votes: FloatArray | BoolArray
    #: the same for the label decided from the probability
    wrong_labels: FloatArray | BoolArray
    #: in micro-units
    spent: IntArray
    #: rows that figures are computed from; None if not asked for, or for several labels
    scored: ScoredRows | None


def evaluate(
    ensemble: Ensemble,
    dataset: Dataset,
    budgets: Sequence[int | None],
    policy: str | None = None,
    seed: int = 0,
    streams: Sequence[int] | None = None,
    aims: Sequence[Aim | None] | None = None,
) -> Curve:
    """Return error and spend against budget over the rows of a dataset.

    The dataset has the ensemble's catalogue and classes; all else: see `walk_rows`.
    The curve is weighted by the rows' weights. Its `errors` are those of the raw vote,
    `errors_calibrated` those of the label decided from the probability; of a
    multi-label dataset both are the Hamming loss of the votes.
    """
    ends = simulate_rows(ensemble, dataset, budgets, policy, seed, streams, aims)
    return make_curve(dataset, budgets, ends)


def simulate_rows(
    ensemble: Ensemble,
    dataset: Dataset,
    budgets: Sequence[int | None],
    policy: str | None = None,
    seed: int = 0,
    streams: Sequence[int] | None = None,
    aims: Sequence[Aim | None] | None = None,
    *,
    has_figures: bool = False,
    spend: Spend = "worthwhile",
) -> Endings:
    """Simulate a session of each row under each budget; see `evaluate`.

    With `has_figures` the rows are scored, unless a row may have several labels.
    """
    played = Conditions(list(budgets), policy, seed, aims, spend)
    streams = range(dataset.n_samples) if streams is None else streams
    is_scored = has_figures and not ensemble.is_multilabel
    stride = (
        choose_stride(ensemble, dataset.n_samples, len(budgets)) if is_scored else 0
    )
    block = Block(dataset.values, dataset.targets, streams)
    ends = simulate_block(ensemble, block, played, stride)
    scored = None
    if is_scored:
        few = dataset.take(slice(None, None, stride))
        scored = ScoredRows(few.targets, few.weights, few.row_group_idxs, ends.chances)
    return Endings(ends.wrong_votes, ends.wrong_labels, ends.spent, scored)


def make_curve(dataset: Dataset, budgets: Sequence[int | None], ends: Endings) -> Curve:
    """Return the curve of simulated rows."""
    sums = sum_rows(dataset.weights, ends.wrong_votes, ends.wrong_labels, ends.spent)
    group_weights = None
    if dataset.row_groups is not None:
        summed = np.bincount(dataset.row_group_idxs, dataset.weights)
        group_weights = summed.astype(np.float64)
    return sums.to_curve(budgets, group_weights)


def compare_paired(
    dataset: Dataset, ends: Endings, reference: Endings
) -> tuple[Estimate, ...]:
    """Return the paired difference of two error rates on the same rows, by budget.

    Both were simulated on these rows under the same budgets. Rows with the same label
    in both add no variance, so small differences show on few rows.
    """
    rows = ScoredRows(
        dataset.targets, dataset.weights, dataset.row_group_idxs, np.empty((0, 0, 0))
    )
    gaps = ends.wrong_labels.astype(np.float64) - reference.wrong_labels
    return tuple(estimate_mean(gap, rows, (-1.0, 1.0)) for gap in gaps.T)


def compare_independent(first: Curve, other: Curve, budget: int | None) -> Estimate:
    """Return the error of the second curve minus that of the first under a budget.

    The curves are treated as measured on independent rows. If the rows are the same,
    the interval is wider than necessary; `compare_paired` pairs them.

    Raises ValueError where a curve has no budget so small.

    Notes
    -----
    Newcombe (1998), method 10: the interval of 95 % of a difference of two independent
    shares, from the intervals of both.
    """
    place, other_place = first.place_at(budget), other.place_at(budget)
    share, low, high = first.errors_calibrated[place], *first.intervals[place]
    other_share, other_low, other_high = (
        other.errors_calibrated[other_place],
        *other.intervals[other_place],
    )
    gap = other_share - share
    down = math.hypot(other_share - other_low, high - share)
    up = math.hypot(other_high - other_share, share - low)
    return Estimate(gap, (gap - down, gap + up))
