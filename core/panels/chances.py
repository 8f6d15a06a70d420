"""Log odds as chances, and what they lose on rows."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from core import kernels
from core.arrays import FloatArray, IntArray
from core.model.blends import MAX_LOGIT

Loss = Callable[[FloatArray], tuple[float, FloatArray]]
Bounds = tuple[float | None, float | None]

# No chance is taken for surer than this when log odds are made of it.
LEAST_CHANCE = 1e-5


def to_logits(chances: FloatArray) -> FloatArray:
    """Log odds of two classes, else logs; (..., n_classes) -> (..., n_outputs)."""
    logs = np.log(np.clip(chances, LEAST_CHANCE, 1.0 - LEAST_CHANCE))
    if chances.shape[-1] == 2:
        return logs[..., 1:] - logs[..., :1]
    centred: FloatArray = logs - logs.mean(axis=-1, keepdims=True)
    return centred


def mean_loss(logits: FloatArray, targets: IntArray, weights: FloatArray) -> float:
    """Mean log-loss of rows; (n_rows, n_outputs)."""
    losses, _ = losses_and_pulls(logits, targets)
    return float(weights @ losses / weights.sum())


def losses_and_pulls(
    logits: FloatArray, targets: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Log-loss of each row, and how it changes with each of its log odds."""
    if logits.shape[-1] == 1:
        signs = 2.0 * targets - 1.0
        leads = signs * logits[:, 0]
        pulls = -signs / (1.0 + np.exp(np.clip(leads, -MAX_LOGIT, MAX_LOGIT)))
        return np.logaddexp(0.0, -leads), pulls[:, None]
    every = np.arange(targets.size)
    least = logits - logits.max(axis=1, keepdims=True)
    chances = np.exp(least)
    totals = chances.sum(axis=1)
    losses = np.log(totals) - least[every, targets]
    chances /= totals[:, None]
    chances[every, targets] -= 1.0
    return losses, chances


def is_less(losses: FloatArray, others: FloatArray) -> bool:
    """Return whether rows lose less than otherwise by over a standard error."""
    gains = others - losses
    return float(gains.mean()) > float(gains.std()) / math.sqrt(gains.size)


def descend(
    loss: Loss, start: FloatArray, bounds: Sequence[Bounds] | None = None
) -> FloatArray:
    """Minimise a loss, which comes with its slopes, by L-BFGS-B."""
    # Loaded where it is needed: most commands fit nothing.
    from scipy.optimize import minimize

    found: FloatArray = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=bounds
    ).x
    return found


def fit_link(
    votes: FloatArray, targets: IntArray, weights: FloatArray
) -> tuple[float, FloatArray]:
    """Fit log odds = slope * vote + offset; return the slope and the offsets.

    Platt (1999), of several classes one slope and an offset each.
    """
    n_outputs = votes.shape[1]
    start = np.append(2.0, np.zeros(n_outputs))
    hold, is_positive = np.full(start.size, 2e-3), start > 0.0
    if n_outputs == 1:
        inputs = np.hstack((votes, np.ones_like(votes)))
        held = kernels.Penalty(start, hold, is_positive)
        slope, offset = fit_two(inputs, targets, weights, held)
        return float(slope), np.array([offset])

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        losses, pulls = losses_and_pulls(x[0] * votes + x[1:], targets)
        pulls *= weights[:, None]
        changes = np.append((pulls * votes).sum(), pulls.sum(axis=0))
        away = x - start
        return float(losses @ weights + 1e-3 * away @ away), changes + 2e-3 * away

    free = [(None, None)] * votes.shape[1]
    found = descend(loss, start, [(0.0, None), *free])
    return float(found[0]), found[1:]


def fit_weights(
    logits: FloatArray,
    targets: IntArray,
    weights: FloatArray,
    start: FloatArray,
    hold: float,
) -> FloatArray:
    """Weigh predictors so that the sum of their log odds has the least log-loss.

    `logits` (n_predictors, n_rows, n_outputs) of rows not fitted to; none weighs less
    than 0, and each is held to its start, by `hold` rows.
    """
    if logits.shape[2] == 1:
        every = np.ones(start.size, np.bool_)
        held = kernels.Penalty(start, np.full(start.size, 2.0 * hold), every)
        return fit_two(logits[:, :, 0].T, targets, weights, held)

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        losses, pulls = losses_and_pulls(np.einsum("p,pnk->nk", x, logits), targets)
        pulls *= weights[:, None]
        away = x - start
        changes = np.einsum("nk,pnk->p", pulls, logits) + 2.0 * hold * away
        return float(losses @ weights + hold * away @ away), changes

    return descend(loss, start, [(0.0, None)] * start.size)


def fit_two(
    inputs: FloatArray, targets: IntArray, weights: FloatArray, held: kernels.Penalty
) -> FloatArray:
    """Return the coefficients of least log-loss of two classes; from their centres."""
    found = held.centres.copy()
    laid = np.ascontiguousarray(inputs)
    kernels.fit_logits(laid, targets, np.ascontiguousarray(weights), held, found)
    return found
