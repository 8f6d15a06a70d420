"""Ridge regressions on columns: by kernels, and logistic."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from askless.core import kernels
from askless.core.arrays import (
    FloatArray,
    Floats,
    IntArray,
    evenly_spaced,
    round_digits,
)
from askless.core.model.ladder.blends import (
    KernelRidge,
    LogisticRidge,
    draw_waves,
    wave_features,
)
from askless.core.model.ladder.columns import HiddenColumns
from askless.core.panels.predictors.chances import (
    fit_binary,
    fit_link,
    losses_and_gradients,
    mean_log_loss,
    minimise_loss,
)
from askless.core.panels.predictors.solving import ComputeInputs, DualRidge, PrimalRidge
from askless.core.panels.rows import DIGITS, HeldOut, PanelRows

# Ridge penalties that are tried for the logistic regression.
LOGISTIC_PENALTIES = (3.0, 20.0)

# Rows times the square of columns up to which two classes are fitted by Newton steps.
MOST_PRODUCTS = 1 << 21

# Width of the kernel in medians of the distances.
WIDTH = 1.0 / 0.6

# Squared distances below this share of the squared lengths may be rounding.
ROUNDING = 1e-12

# Rows whose distances give the median.
N_DISTANCES = 500


class HeldOutRidge(NamedTuple):
    """A ridge, and its logits of held-out rows when fitted without their fold."""

    #: (n_judges, n_outputs), log odds
    logits: FloatArray
    #: returns the ridge of the rows without a fold, or of all rows
    without: Callable[[int | None], KernelRidge | LogisticRidge]
    #: returns the same for some rows of a fold with columns hidden; (n_some, n_outputs)
    hide: Callable[[HiddenColumns, int, IntArray], FloatArray]


class Basis(NamedTuple):
    """Random features of a kernel: how distances stretch, how many, and penalties."""

    #: (n_columns,)
    stretches: FloatArray
    n_waves: int
    #: ridge penalties to try, each added to the kernel's diagonal
    penalties: tuple[float, ...]


def compute_median_distance(squares: FloatArray) -> float:
    """Return the median distance of rows that differ, or 1 if none do.

    `squares` are squared distances.
    """
    between = squares[squares > 0]
    return float(np.sqrt(np.median(between))) if between.size else 1.0


def compute_squared_distances(columns: FloatArray, others: FloatArray) -> FloatArray:
    """Return the squared distance of each row to each other, (n_rows, n_others).

    What may be rounding is 0: else equal rows would seem to differ, and where most rows
    are equal, their median distance would be one of rounding.
    """
    sums = (columns**2).sum(axis=1)[:, None] + (others**2).sum(axis=1)
    distances = sums - 2.0 * columns @ others.T
    return np.where(distances > ROUNDING * sums, distances, 0.0)


def fit_kernel(
    rows: PanelRows, columns: FloatArray, basis: Basis, held_out: HeldOut
) -> HeldOutRidge:
    """Fit a kernel ridge regression, by random features, to columns of rows.

    `columns` (n_rows, n_columns) are standardised. The loss is squared error on +1 and
    -1 for each output. The penalty of least held-out log-loss by Platt's link is kept.
    """
    stretched = columns * basis.stretches
    width = WIDTH * sample_median_distance(stretched)
    waves = draw_waves(columns.shape[1], basis.n_waves, rows.seed) / width
    targets = signed_targets(rows)
    means = rows.weights @ targets / rows.weights.sum()
    # Inputs and targets times these make least squares weighted.
    roots = np.sqrt(rows.weights)[:, None]
    solver = DualRidge if rows.n_rows <= 2 * basis.n_waves else PrimalRidge
    short_waves = waves.astype(np.float32)
    compute_inputs = make_weighted_waves(stretched, short_waves, roots)
    ridge = solver(compute_inputs, (targets - means) * roots, held_out.folds)
    by_penalty = [ridge.fold_coefficients(penalty) for penalty in basis.penalties]
    # For all penalties together: computing the inputs takes the time.
    weighted = ridge.compute_votes(
        [np.hstack(ones) for ones in zip(*by_penalty, strict=True)]
    )
    votes = np.hsplit((weighted / roots)[held_out.row_idxs], len(by_penalty))
    linked = [calibrate_votes(means + vote, held_out) for vote in votes]
    best = min(range(len(linked)), key=lambda idx: linked[idx].loss)
    by_fold, (_, logits, slope, start) = by_penalty[best], linked[best]
    offsets = start + slope * means
    first = KernelRidge(
        "laplace", width, rows.seed, basis.stretches, by_fold[0], offsets, slope
    )

    def hide(hidden: HiddenColumns, fold: int, row_idxs: IntArray) -> FloatArray:
        filled = hidden.fill(columns[row_idxs]) * basis.stretches
        features = wave_features(filled.astype(np.float32), short_waves)
        votes = (features * first.compute_damping(hidden)) @ by_fold[fold]
        logits: FloatArray = slope * votes + offsets
        return logits

    def without(left_out: int | None) -> KernelRidge:
        coefficients = (
            ridge.coefficients(basis.penalties[best])
            if left_out is None
            else by_fold[left_out]
        )
        return replace(first, coefficients=round_digits(coefficients, DIGITS))

    return HeldOutRidge(logits, without, hide)


def sample_median_distance(columns: FloatArray) -> float:
    """Return the median distance of at most `N_DISTANCES` rows, evenly spaced.

    Even rows are compared with odd ones.
    """
    few = columns[evenly_spaced(len(columns), N_DISTANCES)]
    return compute_median_distance(compute_squared_distances(few[::2], few[1::2]))


def make_weighted_waves(
    columns: FloatArray, short_waves: Floats, roots: FloatArray
) -> ComputeInputs:
    """Return a function from rows to random features times the roots of their weights.

    It computes in single precision, where cosines take a tenth of the time. `roots`,
    (n_rows, 1), are the square roots of the weights.
    """
    short, short_roots = columns.astype(np.float32), roots.astype(np.float32)

    def compute_inputs(row_idxs: IntArray) -> Floats:
        return wave_features(short[row_idxs], short_waves) * short_roots[row_idxs]

    return compute_inputs


class CalibratedVotes(NamedTuple):
    """Votes of held-out rows as log odds, with their log-loss."""

    loss: float
    logits: FloatArray
    slope: float
    offsets: FloatArray


def calibrate_votes(votes: FloatArray, held_out: HeldOut) -> CalibratedVotes:
    """Return the log odds of held-out rows by Platt's link."""
    targets, weights = held_out.targets, held_out.weights
    slope, offsets = fit_link(votes, targets, weights)
    logits = slope * votes + offsets
    loss = mean_log_loss(logits, targets, weights)
    return CalibratedVotes(loss, logits, slope, offsets)


def signed_targets(rows: PanelRows) -> FloatArray:
    """Return +1 where a row has the output's class, else -1; (n_rows, n_outputs)."""
    first = 1 if rows.n_outputs == 1 else 0
    classes = np.arange(first, first + rows.n_outputs)
    return np.where(rows.targets[:, None] == classes, 1.0, -1.0)


def fit_logistic(
    rows: PanelRows, columns: FloatArray, held_out: HeldOut
) -> HeldOutRidge:
    """Fit a ridge logistic regression to the columns (n_rows, n_columns) of rows.

    The penalty of least log-loss on the held-out fold of most weight is kept.
    """
    folds, last = held_out.folds, None
    widest = int(np.argmax([rows.weights[fold].sum() for fold in folds]))
    judge, tried = folds[widest], []
    # `last` starts each fit where the one before ended, which is near.
    for penalty in LOGISTIC_PENALTIES:
        last = solve_logistic(rows, columns, penalty, judge, last)
        judged = last.logits(columns[judge])
        loss = mean_log_loss(judged, rows.targets[judge], rows.weights[judge])
        tried.append((loss, penalty, last))
    _, penalty, best = min(tried, key=lambda fitted: fitted[0])
    logits, by_fold = np.empty((rows.n_rows, rows.n_outputs)), []
    for number, fold in enumerate(folds):
        last = best
        if number != widest:
            last = solve_logistic(rows, columns, penalty, fold, last)
        by_fold.append(last)
        logits[fold] = last.logits(columns[fold])

    def without(left_out: int | None) -> LogisticRidge:
        if left_out is None:
            fitted = solve_logistic(rows, columns, penalty, start=best)
        else:
            fitted = by_fold[left_out]
        return replace(fitted, coefficients=round_digits(fitted.coefficients, DIGITS))

    def hide(hidden: HiddenColumns, fold: int, row_idxs: IntArray) -> FloatArray:
        fitted, filled = by_fold[fold], hidden.fill(columns[row_idxs])
        return fitted.logits(filled, fitted.compute_damping(hidden))

    return HeldOutRidge(logits[held_out.row_idxs], without, hide)


def solve_logistic(
    rows: PanelRows,
    columns: FloatArray,
    penalty: float,
    left_out: IntArray | None = None,
    start: LogisticRidge | None = None,
) -> LogisticRidge:
    """Minimise the log-loss plus penalty/2 times the squares of the coefficients.

    The rows `left_out` have no weight. Two classes are fitted by Newton steps if rows
    and columns are few; otherwise L-BFGS-B is used, from `start` on if it is given.
    """
    n_columns, n_outputs = columns.shape[1], rows.n_outputs
    begin = np.vstack((np.zeros((n_columns, n_outputs)), rows.starts))
    if n_outputs == 1 and rows.n_rows * n_columns**2 <= MOST_PRODUCTS:
        weights = rows.weights.copy()
        if left_out is not None:
            weights[left_out] = 0.0
        inputs = np.hstack((columns, np.ones((rows.n_rows, 1))))
        # The last column is the offset, which has no penalty.
        penalties = np.append(np.full(n_columns, penalty), 0.0)
        prior = kernels.Penalty(
            begin[:, 0], penalties, np.zeros(n_columns + 1, np.bool_)
        )
        coefficients = fit_binary(inputs, rows.targets, weights, prior)
        return LogisticRidge(coefficients[:-1, None], coefficients[-1:])
    if start is not None:
        begin = np.vstack((start.coefficients, start.offsets))
    row_idxs = np.setdiff1d(
        np.arange(rows.n_rows), () if left_out is None else left_out
    )
    inputs, targets, weights = (
        columns[row_idxs],
        rows.targets[row_idxs],
        rows.weights[row_idxs],
    )

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        grid = x.reshape(begin.shape)
        losses, gradients = losses_and_gradients(inputs @ grid[:-1] + grid[-1], targets)
        gradients *= weights[:, None]
        gradient = np.vstack(
            (inputs.T @ gradients + penalty * grid[:-1], gradients.sum(axis=0))
        )
        squares = penalty / 2 * (grid[:-1] ** 2).sum()
        return float(losses @ weights + squares), gradient.ravel()

    grid = minimise_loss(loss, begin.ravel()).reshape(begin.shape)
    return LogisticRidge(grid[:-1].copy(), grid[-1].copy())
