"""Ridge regressions on columns: by kernels, and logistic."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from core.arrays import FloatArray, IntArray
from core.model.panels import (
    KernelRidge,
    LogisticRidge,
    draw_waves,
    lay_waves,
)
from core.panels.chances import descend, fit_link, losses_and_pulls, mean_loss
from core.panels.rows import PanelRows

# What is added to the squares of the coefficients of the logistic one.
LOGISTIC_HOLDS = (3.0, 20.0)

# Kernels by their width in medians of the distances.
WIDTHS = {"laplace": 1.0 / 0.6, "gauss": 1.0 / np.sqrt(0.5)}

# Rows whose distances give the median.
N_DISTANCES = 500


class Basis(NamedTuple):
    """Random features: of which kernel, of which distances; and what is tried."""

    kind: str
    #: (n_columns,)
    stretches: FloatArray
    n_waves: int
    #: what is added to the kernel's diagonal
    holds: tuple[float, ...]


def find_median(columns: FloatArray) -> float:
    """Median distance of rows that differ, evenly thinned; 1 where none do."""
    n_few = min(len(columns), N_DISTANCES)
    few = columns[np.linspace(0, len(columns) - 1, n_few).round().astype(np.int64)]
    apart = measure_squares(few)[np.triu_indices(n_few, 1)]
    apart = apart[apart > 0]
    return float(np.sqrt(np.median(apart))) if apart.size else 1.0


def measure_squares(columns: FloatArray) -> FloatArray:
    """Squared distance of each row to each; (n_rows, n_rows)."""
    squares = (columns**2).sum(axis=1)
    apart = squares[:, None] + squares - 2.0 * columns @ columns.T
    positive: FloatArray = np.maximum(apart, 0.0)
    return positive


def fit_kernel(
    rows: PanelRows, columns: FloatArray, basis: Basis, folds: Sequence[IntArray]
) -> tuple[FloatArray, KernelRidge]:
    """Fit a kernel ridge; return the log odds of held-out rows, and the ridge.

    The squared loss on +1 and -1 for each output has all folds in closed form: with
    residuals r of the whole fit and H its hat matrix, those of a fold F left out are
    (1 - H_FF)^-1 r_F. The hold is the one of least log-loss, after Platt's link.
    """
    stretched = columns * basis.stretches
    width = (WIDTHS[basis.kind] * find_median(stretched)) or 1.0
    waves = draw_waves(basis.kind, columns.shape[1], basis.n_waves, rows.seed)
    laid = lay_waves(stretched, waves / width)
    wanted = wanted_votes(rows)
    means = rows.weights @ wanted / rows.weights.sum()
    roots = np.sqrt(rows.weights)[:, None]
    least, best = math.inf, None
    outputs = (wanted - means) * roots
    for residuals, coefficients in hold_out(laid * roots, outputs, folds, basis.holds):
        votes = wanted - residuals / roots
        slope, offsets = fit_link(votes, rows.targets, rows.weights)
        logits = slope * votes + offsets
        loss = mean_loss(logits, rows.targets, rows.weights)
        if loss < least:
            least, best = loss, (logits, coefficients, offsets + slope * means, slope)
    assert best is not None, "some hold has a finite loss"
    logits, *found = best
    ridge = KernelRidge(basis.kind, width, rows.seed, basis.stretches, *found)
    return logits, ridge


def wanted_votes(rows: PanelRows) -> FloatArray:
    """+1 where a row is of the output's class, else -1; (n_rows, n_outputs)."""
    first = 1 if rows.n_outputs == 1 else 0
    classes = np.arange(first, first + rows.n_outputs)
    return np.where(rows.targets[:, None] == classes, 1.0, -1.0)


def hold_out(
    inputs: FloatArray,
    outputs: FloatArray,
    folds: Sequence[IntArray],
    holds: Sequence[float],
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield, for each hold, residuals of each fold left out and coefficients of all."""
    n_rows, n_inputs = inputs.shape
    gram = inputs @ inputs.T if n_inputs > n_rows else inputs.T @ inputs
    for hold in holds:
        inverse = np.linalg.inv(gram + hold * np.eye(gram.shape[0]))
        residuals = np.empty_like(outputs)
        if n_inputs > n_rows:
            duals = inverse @ outputs
            coefficients = inputs.T @ duals
            for fold in folds:
                block = inverse[np.ix_(fold, fold)]
                residuals[fold] = np.linalg.solve(block, duals[fold])
        else:
            coefficients = inverse @ (inputs.T @ outputs)
            left = outputs - inputs @ coefficients
            hats = inputs @ inverse
            for fold in folds:
                block = np.eye(fold.size) - hats[fold] @ inputs[fold].T
                residuals[fold] = np.linalg.solve(block, left[fold])
        yield residuals, coefficients


def fit_logistic(
    rows: PanelRows, columns: FloatArray, folds: Sequence[IntArray]
) -> tuple[FloatArray, LogisticRidge]:
    """Fit a ridge logistic regression; return the log odds of held-out rows too."""
    least, best = math.inf, None
    for hold in LOGISTIC_HOLDS:
        whole = solve_logistic(rows, columns, hold)
        logits = np.empty((rows.n_rows, rows.n_outputs))
        for fold in folds:
            fitted = solve_logistic(rows, columns, hold, fold, whole)
            logits[fold] = fitted.logits(columns[fold])
        loss = mean_loss(logits, rows.targets, rows.weights)
        if loss < least:
            least, best = loss, (logits, whole)
    assert best is not None, "some hold has a finite loss"
    return best


def solve_logistic(
    rows: PanelRows,
    columns: FloatArray,
    hold: float,
    left_out: IntArray | None = None,
    start: LogisticRidge | None = None,
) -> LogisticRidge:
    """Minimise the log-loss plus hold/2 times the squares of the coefficients."""
    n_columns, n_outputs = columns.shape[1], rows.n_outputs
    begin = np.vstack((np.zeros((n_columns, n_outputs)), rows.starts))
    if start is not None:
        begin = np.vstack((start.coefficients, start.offsets))
    kept = np.setdiff1d(np.arange(rows.n_rows), () if left_out is None else left_out)
    inputs, targets, weights = columns[kept], rows.targets[kept], rows.weights[kept]

    def lose(x: FloatArray) -> tuple[float, FloatArray]:
        grid = x.reshape(begin.shape)
        losses, pulls = losses_and_pulls(inputs @ grid[:-1] + grid[-1], targets)
        pulls *= weights[:, None]
        changes = np.vstack((inputs.T @ pulls + hold * grid[:-1], pulls.sum(axis=0)))
        squares = hold / 2 * (grid[:-1] ** 2).sum()
        return float(losses @ weights + squares), changes.ravel()

    grid = descend(lose, begin.ravel()).reshape(begin.shape)
    return LogisticRidge(grid[:-1].copy(), grid[-1].copy())
