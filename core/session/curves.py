"""Error and spend against budget over many sessions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import BoolArray, FloatArray, IntArray
from core.model.ensemble import Ensemble
from core.model.figures import Estimate
from core.model.model import Curve
from core.model.votes import TIE, label_votes
from core.session.figures import ScoredRows, estimate_mean
from core.session.probability import decide
from core.session.simulate import class_probabilities, class_votes, walk
from core.session.state import Aim
from core.session.walks import Walks
from core.table.dataset import Dataset

# Of `evaluate` at a time: 64 MB.
MAX_MARGINS = 1 << 23

# Kept of the rows that figures are told of: 134 MB.
MAX_CHANCES = 1 << 24


@dataclass(frozen=True)
class Endings:
    """How wrong the sessions of rows end, and what they spend; (n_rows, n_budgets)."""

    #: whether the vote is wrong, of several labels the share that is
    wrong_votes: FloatArray | BoolArray
    #: the same of the label decided from the probability
    wrong_labels: FloatArray | BoolArray
    #: in micro-units
    spent: IntArray
    #: what figures are told of; None where that is not asked for, or of several labels
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
    """Error and spend against budget over the rows of a dataset.

    The dataset has the ensemble's catalogue and classes; all else is as in `walk`. The
    curve is weighted by the rows' weights. Its `errors` are those of the raw vote,
    `errors_calibrated` those of the label decided from the probability; of a
    multi-label dataset both are the Hamming loss of the votes.
    """
    ends = play_rows(ensemble, dataset, budgets, policy, seed, streams, aims)
    return draw_curve(dataset, budgets, ends)


def play_rows(
    ensemble: Ensemble,
    dataset: Dataset,
    budgets: Sequence[int | None],
    policy: str | None = None,
    seed: int = 0,
    streams: Sequence[int] | None = None,
    aims: Sequence[Aim | None] | None = None,
    *,
    has_figures: bool = False,
) -> Endings:
    """Play each row as a session under each budget; see `evaluate`."""
    streams = range(dataset.n_samples) if streams is None else streams
    n_margins = max(1, len(budgets) * ensemble.n_outputs)
    n_rows = max(1, MAX_MARGINS // n_margins)
    n_chances = dataset.n_samples * len(budgets) * len(ensemble.classes)
    stride = max(1, -(-n_chances // MAX_CHANCES))
    is_scored = has_figures and not ensemble.is_multilabel
    parts, kept = [], []
    for start in range(0, max(1, dataset.n_samples), n_rows):
        rows = slice(start, start + n_rows)
        part, keys = dataset.take(rows), streams[rows]
        walks = walk(
            ensemble, part.values, budgets, policy, seed, streams=keys, aims=aims
        )
        *wrong, chances = judge(ensemble, part, walks)
        parts.append((*wrong, walks.spent))
        if is_scored:
            kept.append(chances[-start % stride :: stride])
    wrong_votes, wrong_labels, spent = map(np.concatenate, zip(*parts, strict=True))
    scored = None
    if is_scored:
        few, chances = dataset.take(slice(None, None, stride)), np.concatenate(kept)
        scored = ScoredRows(few.targets, few.weights, few.row_group_idxs, chances)
    return Endings(wrong_votes, wrong_labels, spent, scored)


def draw_curve(dataset: Dataset, budgets: Sequence[int | None], ends: Endings) -> Curve:
    """Return the curve of rows that were played."""
    weights, spent = dataset.weights, ends.spent
    return Curve(
        budgets=tuple(budgets),
        errors=tuple((weights @ ends.wrong_votes).tolist()),
        errors_calibrated=tuple((weights @ ends.wrong_labels).tolist()),
        mean_spends=tuple((weights @ spent).tolist()),
        max_spends=tuple(spent.max(axis=0, initial=0).tolist()),
        n_samples=dataset.n_samples,
        n_effective=count_effective(dataset),
    )


def find_differences(
    dataset: Dataset, ends: Endings, reference: Endings
) -> tuple[Estimate, ...]:
    """Return by how much more labels err than others on the same rows, by budget.

    Both were played on these rows under the same budgets. Rows that both label alike
    add no spread, so that small differences show on few rows.
    """
    rows = ScoredRows(
        dataset.targets, dataset.weights, dataset.row_group_idxs, np.empty((0, 0, 0))
    )
    gaps = ends.wrong_labels.astype(np.float64) - reference.wrong_labels
    return tuple(estimate_mean(gap, rows, (-1.0, 1.0)) for gap in gaps.T)


def find_gap(first: Curve, other: Curve, budget: int | None) -> Estimate:
    """Return by how much more the second curve errs than the first under a budget.

    Each is told of rows of its own. Where they are the same rows, which curves don't
    know, the interval is wider than it need be: `find_differences` knows them.

    Raises ValueError where a curve has no budget so small.

    Notes
    -----
    Newcombe (1998), method 10: the interval of 95 % of a difference of two independent
    shares, from the intervals of both.
    """
    ours, its = first.place_at(budget), other.place_at(budget)
    share, low, high = first.errors_calibrated[ours], *first.intervals[ours]
    other_share, other_low, other_high = (
        other.errors_calibrated[its],
        *other.intervals[its],
    )
    gap = other_share - share
    down = math.hypot(other_share - other_low, high - share)
    up = math.hypot(other_high - other_share, share - low)
    return Estimate(gap, (gap - down, gap + up))


def count_effective(dataset: Dataset) -> float | None:
    """Return how many independent rows of equal weight would say as much.

    1/sum(w^2) over the weights (Kish 1965). Rows that belong together count as one row
    of all their weight, as if they always erred together. None: all rows, where each
    stands for itself.
    """
    weights = dataset.weights
    if dataset.row_groups is not None:
        counted = np.bincount(dataset.row_group_idxs, weights)
        weights = counted.astype(np.float64)
    elif weights.max(initial=0.0) <= (1.0 + TIE) * weights.min(initial=1.0):
        return None
    return float(1.0 / (weights**2).sum())


def judge(
    ensemble: Ensemble, dataset: Dataset, walks: Walks
) -> tuple[FloatArray | BoolArray, FloatArray | BoolArray, FloatArray]:
    """Find where the rows' votes and labels are wrong, and the chances at their ends.

    (n_rows, n_budgets); of several labels the share that is wrong, and no chances.
    """
    targets = dataset.targets[:, None]
    if ensemble.is_multilabel:
        shares = (label_votes(ensemble, walks.margins) != targets).mean(axis=-1)
        return shares, shares, np.empty(0)
    chances = class_probabilities(ensemble, walks)
    is_wrong = class_votes(ensemble, walks) != targets
    return is_wrong, decide(ensemble, chances) != targets, chances
