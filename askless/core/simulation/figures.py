"""Figures of chances and labels on rows of known class, with intervals.

Each is a mean over the rows, or nearly one, so its standard error follows from what
each row adds to it. scikit-learn has most of the figures (the tests compare them), but
not what each row adds.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.figures import (
    QUANTILE,
    Estimate,
    Figures,
    RareFigures,
    ReliabilityBin,
    wilson_interval,
)
from askless.core.session.probability import decide_label

# Bins of a reliability diagram, each of the same weight.
N_BINS = 10

# Log-loss clips the chance of the true class at this, as scikit-learn does.
LEAST_CHANCE = float(np.finfo(np.float64).eps)

# Bounds of a share.
SHARE = (0.0, 1.0)

# Standard errors below this are rounding.
NO_SPREAD = 1e-12

# A class of a smaller share of the training's weight is rare.
RARE_SHARE = 0.1


class ScoredRows(NamedTuple):
    """Rows with their classes and the chances at the ends of their sessions."""

    #: (n_rows,)
    targets: IntArray
    #: (n_rows,); they sum to 1
    weights: FloatArray
    #: (n_rows,); the same number for rows that belong together, numbered without gaps
    group_idxs: IntArray
    #: (n_rows, n_budgets, n_classes)
    chances: FloatArray
    #: factor by which the variance of figures exceeds that of independent rows
    variance_factor: float = 1.0


def compute_figures(
    ensemble: Ensemble,
    rows: ScoredRows,
    threshold: float | None = None,
    rare_thresholds: Sequence[float | None] = (),
) -> tuple[Figures, ...]:
    """Return the figures of scored rows under each budget.

    Parameters
    ----------
    ensemble : Ensemble
        With one class per row.
    rows : ScoredRows
        At least one row; rows of several folds are put together.
    threshold : float, optional
        Least chance of the second of two classes at which rows get its label, and count
        as found if it is rare; by default labels are those of sessions
        (`decide_label`).
    rare_thresholds : sequence of float or None
        Least chance of a rare class at which rows count as found, by budget.

    Notes
    -----
    Intervals of shares are Wilson's (1927). Other means have normal intervals of a
    ratio mean over groups of rows (Cochran 1977, sec. 11.8). AUROC has those of DeLong,
    DeLong and Clarke-Pearson (1988), by groups of rows (Obuchowski 1997), on the scale
    of its log odds. For several classes, sensitivity and specificity have the means of
    the classes' limits, which are rather wide.
    """
    figures, rare_idx, n_budgets = [], find_rare_class(ensemble), rows.chances.shape[1]
    thresholds = rare_thresholds or (None,) * n_budgets
    if threshold is not None:
        assert ensemble.n_outputs == 1, "a threshold parts two classes"
        thresholds = (threshold if rare_idx == 1 else None,) * n_budgets
    for budget_idx, least in enumerate(thresholds):
        chances, rare = rows.chances[:, budget_idx], None
        labels = decide_label(ensemble, chances)
        if threshold is not None:
            labels = (chances[:, 1] >= threshold).astype(np.int64)
        if rare_idx is not None and least is not None:
            is_located = chances[:, rare_idx] >= least
            rare = judge_rare(least, is_located, rows.targets == rare_idx, rows)
        figure = compute_figures_at(ensemble, rows, chances, labels)
        figures.append(replace(figure, rare=rare))
    return tuple(figures)


def find_rare_class(ensemble: Ensemble) -> int | None:
    """Return the class of two that under `RARE_SHARE` of the training was of.

    None where there is none, and where error costs decide about labels.
    """
    priors = ensemble.priors
    if ensemble.n_outputs > 1 or ensemble.error_costs is not None:
        return None
    return priors.index(min(priors)) if min(priors) < RARE_SHARE else None


def cross_fit_rare(
    ensemble: Ensemble, rows: ScoredRows, fold_idxs: IntArray
) -> tuple[RareFigures | None, ...]:
    """Return the figures of a rare class at a threshold chosen under each budget.

    The rows of each fold are judged by the threshold that those of the other folds
    choose, and the threshold returned is that of all rows. `fold_idxs` (n_rows,) has
    two folds at least. All None where no class is rare.
    """
    rare_idx, budgets = find_rare_class(ensemble), range(rows.chances.shape[1])
    if rare_idx is None:
        return (None,) * len(budgets)
    is_rare, figures = rows.targets == rare_idx, []
    for budget_idx in budgets:
        chances = rows.chances[:, budget_idx, rare_idx]
        is_located = np.zeros(is_rare.size, np.bool_)
        for fold_idx in np.unique(fold_idxs).tolist():
            is_inside, is_outside = fold_idxs == fold_idx, fold_idxs != fold_idx
            least = choose_threshold(
                chances[is_outside], is_rare[is_outside], rows.weights[is_outside]
            )
            is_located[is_inside] = chances[is_inside] >= least
        least = choose_threshold(chances, is_rare, rows.weights)
        figures.append(judge_rare(least, is_located, is_rare, rows))
    return tuple(figures)


def choose_threshold(
    chances: FloatArray, is_rare: BoolArray, weights: FloatArray
) -> float:
    """Return the threshold of the best F1; (n_rows,) each.

    It lies midway between two chances, and is 0 if all rows should be found, 1 if no
    row is of the class. Ties go to the lowest threshold.

    Notes
    -----
    F1, the harmonic mean of precision and recall, is 2 TP / (predicted + actual), in
    weights (van Rijsbergen 1979).
    """
    total = float(weights @ is_rare)
    if not total:
        return 1.0
    distinct, places = np.unique(chances, return_inverse=True)
    # Of the rows with each chance or a higher one.
    hits, predicted = (
        np.cumsum(np.bincount(places, sums)[::-1])[::-1]
        for sums in (weights * is_rare, weights)
    )
    best = int((2.0 * hits / (predicted + total)).argmax())
    return 0.0 if best == 0 else float(distinct[best - 1 : best + 1].mean())


def judge_rare(
    threshold: float, is_located: BoolArray, is_rare: BoolArray, rows: ScoredRows
) -> RareFigures:
    """Return precision and recall of a mask of rows that a threshold finds."""
    located, rare = is_located[:, None], is_rare[:, None]
    return RareFigures(
        threshold=threshold,
        precision=estimate_share(located, rare, rows),
        recall=estimate_share(rare, located, rows),
    )


def compute_figures_at(
    ensemble: Ensemble, rows: ScoredRows, chances: FloatArray, labels: IntArray
) -> Figures:
    """Return the figures of chances (n_rows, n_classes) and labels (n_rows,)."""
    targets, n_classes = rows.targets, chances.shape[1]
    truth = targets[:, None] == np.arange(n_classes)
    own = np.take_along_axis(chances, targets[:, None], axis=1)[:, 0]
    if n_classes == 2:
        predicted, is_true = chances[:, 1], targets == 1
    else:
        predicted = np.take_along_axis(chances, labels[:, None], axis=1)[:, 0]
        is_true = labels == targets
    bin_idxs = bin_evenly(predicted, rows.weights)
    # Signed by bin, the mean of `gaps` is the sum over bins of |observed - predicted|.
    bin_gaps = np.bincount(bin_idxs, rows.weights * (is_true - predicted), N_BINS)
    gaps = np.sign(bin_gaps)[bin_idxs] * (is_true - predicted)
    cost = None
    if ensemble.error_costs is not None:
        costs = np.array(ensemble.error_costs, np.float64)[targets, labels]
        cost = estimate_mean(costs, rows)
    is_labelled = labels[:, None] == np.arange(n_classes)
    # For two classes the figures of the first mirror those of the second.
    counted = slice(1, None) if n_classes == 2 else slice(None)
    return Figures(
        auroc=estimate_auroc(truth[:, counted], chances[:, counted], rows),
        log_loss=estimate_mean(-np.log(np.maximum(own, LEAST_CHANCE)), rows),
        brier=estimate_mean(((chances - truth) ** 2).sum(axis=1) / 2.0, rows, SHARE),
        calibration_error=estimate_mean(gaps, rows, SHARE),
        sensitivity=estimate_share(truth[:, counted], is_labelled[:, counted], rows),
        specificity=estimate_share(~truth[:, counted], ~is_labelled[:, counted], rows),
        expected_cost=cost,
        reliability=make_bins(predicted, is_true, bin_idxs, rows),
    )


def estimate_mean(
    amounts: FloatArray, rows: ScoredRows, bounds: tuple[float, float] = (0.0, math.inf)
) -> Estimate:
    """Return the weighted mean, with interval, of amounts (n_rows,) within bounds."""
    least, most = bounds
    # By rounding, the sum may leave the range by a digit.
    mean = min(max(float(rows.weights @ amounts), least), most)
    n_groups = np.unique(rows.group_idxs[rows.weights > 0]).size
    if n_groups < 2:
        return Estimate(mean, None)
    spread = compute_standard_error(rows.weights * (amounts - mean), rows)
    # Corrected for the mean being estimated from the same groups.
    reach = QUANTILE * spread * math.sqrt(n_groups / (n_groups - 1.0))
    return Estimate(mean, (max(least, mean - reach), min(most, mean + reach)))


def estimate_share(
    is_counted: BoolArray, is_right: BoolArray, rows: ScoredRows
) -> Estimate | None:
    """Return the share of right rows among the counted ones, with its interval.

    It is the mean over the classes that have counted rows; both masks are
    (n_rows, n_classes).
    """
    shares = []
    for counted, right in zip(is_counted.T, is_right.T, strict=True):
        weights = rows.weights * counted
        if weights.any():
            share = min(float(weights @ right / weights.sum()), 1.0)
            limits = bound_share(share, effective_row_groups(weights, rows), rows)
            shares.append((share, *limits))
    if not shares:
        return None
    share, low, high = np.mean(shares, axis=0).tolist()
    return Estimate(share, (low, high))


def estimate_auroc(
    truth: BoolArray, chances: FloatArray, rows: ScoredRows
) -> Estimate | None:
    """Return the mean of the classes' areas under the ROC curve, with its interval.

    `truth` and `chances` are (n_rows, n_classes). Classes count by the weight of their
    rows, so that one of a few rows moves it little (Provost and Domingos 2001). None
    where every class lacks weight in its own rows or in all others.
    """
    areas, shares, sizes, added = [], [], [], np.zeros(len(truth))
    for is_own, class_chances in zip(truth.T, chances.T, strict=True):
        sides = [rows.weights * is_own, rows.weights * ~is_own]
        if not (sides[0].any() and sides[1].any()):
            continue
        own, rest = (side / side.sum() for side in sides)
        ranks = np.unique(class_chances, return_inverse=True)[1]
        below = [weigh_below(ranks, side) for side in (rest, own)]
        # For each row the share of the other side that it is ranked right against.
        places = np.where(is_own, below[0], 1.0 - below[1])
        area = min(max(float(own @ places), 0.0), 1.0)
        areas.append(area)
        shares.append(sides[0].sum())
        own_sizes = [effective_row_groups(side, rows) for side in (own, rest)]
        sizes.append(min(own_sizes))
        for side, size in zip((own, rest), own_sizes, strict=True):
            # n / (n - 1), since the area is estimated from the same rows.
            widening = math.sqrt(size / max(size - 1.0, 1.0))
            added += shares[-1] * widening * side * (places - area)
    if not areas:
        return None
    area = float(np.average(areas, weights=shares))
    fewest = min((size for size in sizes if size >= 2.0), default=None)
    if fewest is None:
        return Estimate(area, None)
    spread = compute_standard_error(added / sum(shares), rows)
    if spread <= NO_SPREAD:
        # All cases here rank right, or all wrong; other cases need not. If all chances
        # are equal, there is no order in any rows.
        is_even = abs(area - 0.5) <= NO_SPREAD
        limits = (area, area) if is_even else bound_share(area, fewest, rows)
        return Estimate(area, limits)
    odds = math.log(area / (1.0 - area))
    reach = QUANTILE * spread / (area * (1.0 - area))
    low, high = (
        1.0 / (1.0 + math.exp(-bound)) for bound in (odds - reach, odds + reach)
    )
    return Estimate(area, (low, high))


def weigh_below(ranks: IntArray, weights: FloatArray) -> FloatArray:
    """Return for each row the weight of rows of lower rank; ties count half."""
    rank_weights = np.bincount(ranks, weights)
    below: FloatArray = (np.cumsum(rank_weights) - rank_weights / 2.0)[ranks]
    return below


def bin_evenly(chances: FloatArray, weights: FloatArray) -> IntArray:
    """Return each row's bin: `N_BINS` of equal weight by chance, ties in one bin."""
    middles = weigh_below(np.unique(chances, return_inverse=True)[1], weights)
    return np.minimum(N_BINS * middles, N_BINS - 1).astype(np.int64)


def make_bins(
    predicted: FloatArray, is_true: BoolArray, bin_idxs: IntArray, rows: ScoredRows
) -> tuple[ReliabilityBin, ...]:
    """Return the reliability bins that have weight, by ascending chance."""
    bins = []
    for bin_idx in range(N_BINS):
        weights = rows.weights * (bin_idxs == bin_idx)
        bin_weight = float(weights.sum())
        if bin_weight > 0.0:
            observed = min(float(weights @ is_true) / bin_weight, 1.0)
            limits = bound_share(observed, effective_row_groups(weights, rows), rows)
            mean_chance = min(float(weights @ predicted) / bin_weight, 1.0)
            estimate = Estimate(observed, limits)
            bins.append(ReliabilityBin(min(bin_weight, 1.0), mean_chance, estimate))
    return tuple(bins)


def compute_standard_error(added: FloatArray, rows: ScoredRows) -> float:
    """Return the standard error of a figure from what each row adds to it.

    `added` (n_rows,) are deviations; rows of one group are summed, since they may err
    together.
    """
    squares = np.bincount(rows.group_idxs, added) ** 2
    return float(np.sqrt(rows.variance_factor * squares.sum()))


def effective_row_groups(weights: FloatArray, rows: ScoredRows) -> float:
    """Return the effective number of row groups (Kish 1965)."""
    group_weights = np.bincount(rows.group_idxs, weights)
    return float(group_weights.sum() ** 2 / (group_weights**2).sum())


def bound_share(share: float, n_groups: float, rows: ScoredRows) -> tuple[float, float]:
    """Return the interval of a share of so many effective row groups."""
    return wilson_interval(share, n_groups / rows.variance_factor)
