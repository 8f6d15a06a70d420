"""Compiled logistic regression of two classes, by Newton steps."""

from typing import NamedTuple

import numpy as np

from askless.core.arrays import BoolArray, FloatArray
from askless.core.kernels.jit import kernel

# Most steps, the shortest step, and the least share of the first loss that each step
# but the last gains.
MOST_STEPS, LEAST_SIZE, LEAST_SHARE = 100, 1e-6, 1e-10

# The least pivot: where every probability is 0 or 1, the curvature is 0.
LEAST_PIVOT = 1e-10


class Penalty(NamedTuple):
    """A quadratic penalty on coefficients, and bounds at 0."""

    #: (n_columns,)
    centres: FloatArray
    #: (n_columns,); half of it times the squared distance to the centre is added
    strengths: FloatArray
    #: (n_columns,), coefficients that may not fall below 0
    is_positive: BoolArray


class Slopes(NamedTuple):
    """The derivatives of a loss by its coefficients."""

    #: (n_columns,)
    gradient: FloatArray
    #: (n_columns, n_columns), from the diagonal on
    curvature: FloatArray


@kernel
def sum_log_loss(inputs, targets, weights, coefficients, out_slopes):
    """Return the log-loss of rows, and write its derivatives."""
    n_columns = inputs.shape[1]
    gradient, curvature = out_slopes
    gradient[:] = 0.0
    curvature[:] = 0.0
    total = 0.0
    for row in range(inputs.shape[0]):
        weight, values = weights[row], inputs[row]
        if weight == 0.0:
            continue
        logit = 0.0
        for column in range(n_columns):
            logit += values[column] * coefficients[column]
        # The exponential takes minus the size, so it never overflows; signs follow.
        odds = np.exp(-abs(logit))
        chance = (1.0 if logit > 0.0 else odds) / (1.0 + odds)
        lead = logit if targets[row] == 1 else -logit
        total += weight * (np.log1p(odds) + max(-lead, 0.0))
        pull = weight * (chance - targets[row])
        curve = weight * odds / (1.0 + odds) ** 2
        for column in range(n_columns):
            gradient[column] += pull * values[column]
            curved, share = curvature[column], curve * values[column]
            for other in range(column, n_columns):
                curved[other] += share * values[other]
    return total


@kernel
def add_penalty(coefficients, penalty, out_slopes):
    """Return the penalty of coefficients, and add its derivatives to the loss's."""
    total = 0.0
    for column in range(coefficients.shape[0]):
        away = coefficients[column] - penalty.centres[column]
        strength = penalty.strengths[column]
        total += strength * away * away / 2.0
        out_slopes.gradient[column] += strength * away
        out_slopes.curvature[column, column] += strength
    return total


@kernel
def newton_step(slopes, is_fixed, out_step):
    """Write the Newton step of the coefficients that are not fixed.

    The Cholesky root of the curvature is written over it.
    """
    root, step = slopes.curvature, out_step
    n_columns = step.shape[0]
    for column in range(n_columns):
        step[column] = 0.0 if is_fixed[column] else -slopes.gradient[column]
        # A unit row and column leave the coefficient out of the equations.
        if is_fixed[column]:
            root[:column, column] = 0.0
            root[column, column:] = 0.0
            root[column, column] = 1.0
    for column in range(n_columns):
        pivot = np.sqrt(max(root[column, column], LEAST_PIVOT))
        root[column, column] = pivot
        step[column] /= pivot
        for after in range(column + 1, n_columns):
            root[column, after] /= pivot
            step[after] -= step[column] * root[column, after]
        for below in range(column + 1, n_columns):
            factor = root[column, below]
            for after in range(below, n_columns):
                root[below, after] -= factor * root[column, after]
    for column in range(n_columns - 1, -1, -1):
        for after in range(column + 1, n_columns):
            step[column] -= root[column, after] * step[after]
        step[column] /= root[column, column]


@kernel
def fit_logits(inputs, targets, weights, penalty, out_coefficients):
    """Move coefficients to the least penalised log-loss of rows.

    inputs: (n_rows, n_columns); targets: (n_rows,), 0 or 1; weights: (n_rows,), 0
    for rows left out; out_coefficients: (n_columns,), the start, overwritten.

    Notes
    -----
    Newton's steps, each halved until the loss falls; a coefficient that would go below
    its bound stays there (projected Newton, Bertsekas 1982).
    """
    n_columns, moved = inputs.shape[1], out_coefficients
    slopes = Slopes(np.empty(n_columns), np.empty((n_columns, n_columns)))
    step, is_fixed = np.empty(n_columns), np.zeros(n_columns, np.bool_)
    loss = sum_log_loss(inputs, targets, weights, moved, slopes)
    loss += add_penalty(moved, penalty, slopes)
    least, gain, n_steps = LEAST_SHARE * loss, np.inf, 0
    while gain > least and n_steps < MOST_STEPS:
        before = moved.copy()
        for column in range(n_columns):
            is_low = penalty.is_positive[column] and before[column] <= 0.0
            is_fixed[column] = is_low and slopes.gradient[column] > 0.0
        newton_step(slopes, is_fixed, step)
        size, new_loss = 1.0, np.inf
        while new_loss > loss and size > LEAST_SIZE:
            for column in range(n_columns):
                place = before[column] + size * step[column]
                moved[column] = (
                    max(place, 0.0) if penalty.is_positive[column] else place
                )
            new_loss = sum_log_loss(inputs, targets, weights, moved, slopes)
            new_loss += add_penalty(moved, penalty, slopes)
            size /= 2.0
        gain, loss, n_steps = loss - new_loss, new_loss, n_steps + 1
