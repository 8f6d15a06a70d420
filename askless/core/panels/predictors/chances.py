"""Log odds from probabilities, their log-loss, and fits that minimise it."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from askless.core import kernels
from askless.core.arrays import FloatArray, IntArray
from askless.core.model.ladder.blends import MAX_LOGIT

Loss = Callable[[FloatArray], tuple[float, FloatArray]]
Bounds = tuple[float | None, float | None]

# A fit ends when a step lowers the loss by a smaller share.
TOLERANCE = 1e-7

# Probabilities are clipped at this before log odds are taken.
LEAST_CHANCE = 1e-5


def to_logits(chances: FloatArray) -> FloatArray:
    """Return the logits of probabilities; (..., n_classes) -> (..., n_outputs).

    For two classes this is the log odds of the second; for more it is the log of each
    probability minus the mean of the row's logs. Probabilities are clipped first.
    """
    logs = np.log(np.clip(chances, LEAST_CHANCE, 1.0 - LEAST_CHANCE))
    if chances.shape[-1] == 2:
        return logs[..., 1:] - logs[..., :1]
    centred: FloatArray = logs - logs.mean(axis=-1, keepdims=True)
    return centred


def mean_log_loss(logits: FloatArray, targets: IntArray, weights: FloatArray) -> float:
    """Return the weighted mean log-loss of logits (n_rows, n_outputs)."""
    losses, _ = losses_and_gradients(logits, targets)
    return float(weights @ losses / weights.sum())


def losses_and_gradients(
    logits: FloatArray, targets: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return each row's log-loss, (n_rows,), and its gradient by the row's logits."""
    if logits.shape[-1] == 1:
        signs = 2.0 * targets - 1.0
        leads = signs * logits[:, 0]
        gradients = -signs / (1.0 + np.exp(np.clip(leads, -MAX_LOGIT, MAX_LOGIT)))
        return np.logaddexp(0.0, -leads), gradients[:, None]
    every = np.arange(targets.size)
    lowered = logits - logits.max(axis=1, keepdims=True)
    chances = np.exp(lowered)
    totals = chances.sum(axis=1)
    losses = np.log(totals) - lowered[every, targets]
    # The gradient of softmax: chances less the indicator of the true class.
    chances /= totals[:, None]
    chances[every, targets] -= 1.0
    return losses, chances


def is_significantly_less(losses: FloatArray, others: FloatArray) -> bool:
    """Return whether `losses` are lower than `others` by over one standard error.

    Losses are paired, (n_rows,); the standard error is that of their mean difference.
    """
    gains = others - losses
    return float(gains.mean()) > float(gains.std()) / math.sqrt(gains.size)


def minimise_loss(
    loss: Loss, start: FloatArray, bounds: Sequence[Bounds] | None = None
) -> FloatArray:
    """Minimise a loss, which returns its value and gradient, by L-BFGS-B."""
    # Loaded where it is needed: most commands fit nothing.
    from scipy.optimize import minimize

    best: FloatArray = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"ftol": TOLERANCE},
    ).x
    return best


def fit_link(
    votes: FloatArray, targets: IntArray, weights: FloatArray
) -> tuple[float, FloatArray]:
    """Fit log odds = slope * vote + offset; return the slope and the offsets.

    This is Platt's link (1999), drawn weakly to the slope 2 and no offset; several
    classes share one slope and have an offset each. `votes` (n_rows, n_outputs).
    """
    n_outputs = votes.shape[1]
    # The slope of boosting's votes, which are half of the log odds.
    start = np.append(2.0, np.zeros(n_outputs))
    penalty, is_positive = np.full(start.size, 2e-3), start > 0.0
    if n_outputs == 1:
        inputs = np.hstack((votes, np.ones_like(votes)))
        prior = kernels.Penalty(start, penalty, is_positive)
        slope, offset = fit_binary(inputs, targets, weights, prior)
        return float(slope), np.array([offset])

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        losses, gradients = losses_and_gradients(x[0] * votes + x[1:], targets)
        gradients *= weights[:, None]
        gradient = np.append((gradients * votes).sum(), gradients.sum(axis=0))
        shift = x - start
        return float(losses @ weights + 1e-3 * shift @ shift), gradient + 2e-3 * shift

    free = [(None, None)] * votes.shape[1]
    link = minimise_loss(loss, start, [(0.0, None), *free])
    return float(link[0]), link[1:]


def fit_weights(
    logits: FloatArray,
    targets: IntArray,
    row_weights: FloatArray,
    start: FloatArray,
    penalty: float,
) -> FloatArray:
    """Fit weights of predictors whose weighted log odds add up to the least log-loss.

    `logits` (n_predictors, n_rows, n_outputs) are of rows that the predictors were not
    fitted to. No weight is below 0; each is drawn to its start as if by `penalty` rows.
    """
    if logits.shape[2] == 1:
        every = np.ones(start.size, np.bool_)
        prior = kernels.Penalty(start, np.full(start.size, 2.0 * penalty), every)
        return fit_binary(logits[:, :, 0].T, targets, row_weights, prior)

    def loss(coefficients: FloatArray) -> tuple[float, FloatArray]:
        losses, gradients = losses_and_gradients(
            np.einsum("p,pnk->nk", coefficients, logits), targets
        )
        gradients *= row_weights[:, None]
        shift = coefficients - start
        gradient = np.einsum("nk,pnk->p", gradients, logits) + 2.0 * penalty * shift
        return float(losses @ row_weights + penalty * shift @ shift), gradient

    return minimise_loss(loss, start, [(0.0, None)] * start.size)


def fit_binary(
    inputs: FloatArray, targets: IntArray, weights: FloatArray, prior: kernels.Penalty
) -> FloatArray:
    """Return the coefficients of least penalised log-loss of two classes.

    `inputs` (n_rows, n_inputs); `prior` has the centre and penalty of each coefficient
    and which of them must not be negative.
    """
    coefficients = prior.centres.copy()
    rows, shares = np.ascontiguousarray(inputs), np.ascontiguousarray(weights)
    kernels.fit_logits(rows, targets, shares, prior, coefficients)
    return coefficients
