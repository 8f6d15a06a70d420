"""Probabilities from votes: coefficients fitted on held-out rows, kept if they help."""

from collections.abc import Generator, Sequence
from typing import NamedTuple

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.model.ensemble import N_KNOTS, Calibration
from askless.core.panels.predictors.chances import fit_binary
from askless.core.session.probability import (
    PLAIN,
    apply_knot_weights,
    apply_link,
    compute_knot_weights,
    sigmoid,
)

# Twice the cost, in rows, of moving a coefficient by 1 from the plain link. Weak enough
# for a few hundred rows, strong enough to keep slopes finite on separable rows.
PENALTY = 1.0

# Relative change of the loss at which the solver stops.
TOLERANCE = 1e-7

# Steps of the solver between two checks whether to stop, and the most checks.
N_STEPS, N_LOOKS = 20, 25

# Most excess error of labels over votes at any budget: half of what is promised for
# new rows.
MAX_EXCESS = 0.0025

# Logits that differ by less are a tie.
ROUNDING = 1e-9

Fitting = Generator[None, None, Calibration]


class HeldOutVotes(NamedTuple):
    """Votes on held-out rows at the ends of their sessions; one row per session."""

    #: F = sum(alpha h) over what is known; (n_votes, n_outputs).
    scores: FloatArray
    #: Share of all alpha that is known; as the rest (n_votes,).
    shares: FloatArray
    targets: IntArray
    #: In rows; each row's are spread over its budgets.
    weights: FloatArray
    #: Which budget the session had.
    budget_idxs: IntArray


def join_votes(parts: Sequence[HeldOutVotes]) -> HeldOutVotes:
    """Concatenate the votes of several folds."""
    return HeldOutVotes(*map(np.concatenate, zip(*parts, strict=True)))


def calibrate(
    folds: Sequence[HeldOutVotes],
) -> Generator[None, None, tuple[list[Calibration], Calibration] | None]:
    """Fit a calibration of lower log-loss than the plain link on other rows.

    Two are tried: slopes with and without offsets. Each is fitted without one fold and
    judged on that fold, for every fold in turn. The one of least log-loss is kept,
    unless its labels err more than the votes by over `MAX_EXCESS` at some budget.
    Without offsets the labels are the votes.

    Yields now and then, so that a caller can stop. Returns for each fold the
    calibration fitted on the others, and the one fitted on all; None where the plain
    link is best.
    """
    best, least = None, sum(log_loss(PLAIN, fold) for fold in folds)
    for has_offsets in (False, True):
        fitted = yield from fit_calibration(join_votes(folds), has_offsets=has_offsets)
        crossed = []
        for idx in range(len(folds)):
            others = join_votes([*folds[:idx], *folds[idx + 1 :]])
            fitting = fit_calibration(others, fitted, has_offsets=has_offsets)
            crossed.append((yield from fitting))
        links = [fold_calibration.link for fold_calibration in crossed]
        loss = sum(map(log_loss, links, folds))
        # Offsets come second: they must beat slopes alone, and the plain link.
        if loss < least and worst_excess_error(links, folds) <= MAX_EXCESS:
            best, least = (crossed, fitted), loss
    return best


def fit_calibration(
    observed: HeldOutVotes, start: Calibration | None = None, *, has_offsets: bool
) -> Fitting:
    """Fit the coefficients of a `Calibration` by penalised maximum likelihood.

    The penalty draws them to the plain link: no offset, slopes of 1. Slopes are kept
    non-negative. With two classes Newton's method fits them after one yield, without
    `start`. With more, L-BFGS-B begins at `start`, by default the plain link, and
    yields after every `N_STEPS` steps.

    Notes
    -----
    For two classes this is Platt's (1999) logistic model on the odds 2F, for K classes
    temperature scaling with a bias per class (Guo et al. 2017), both varying with the
    share known.
    """
    if observed.scores.shape[1] == 1:
        yield
        return fit_two_classes(observed, has_offsets=has_offsets)
    # Loaded where it is needed: most commands fit nothing.
    from scipy.optimize import minimize

    offset, slope = np.split(PLAIN, 2, axis=1)
    # The plain link, with a column of offsets for each output.
    plain = np.hstack((offset.repeat(observed.scores.shape[1], axis=1), slope))
    link = plain if start is None else start.link
    room = (None, None) if has_offsets else (0.0, 0.0)
    knot_weights = compute_knot_weights(observed.shares)
    for _ in range(N_LOOKS):
        step = minimize(
            penalised_loss,
            link.ravel(),
            args=(plain, observed, knot_weights),
            jac=True,
            method="L-BFGS-B",
            bounds=([room] * (link.shape[1] - 1) + [(0.0, None)]) * N_KNOTS,
            options={"maxiter": N_STEPS, "ftol": TOLERANCE},
        )
        link = step.x.reshape(plain.shape)
        yield
        if step.success:
            break
    offsets, slopes = link[:, :-1], link[:, -1]
    return Calibration(tuple(map(tuple, offsets.tolist())), tuple(slopes.tolist()))


def fit_two_classes(observed: HeldOutVotes, *, has_offsets: bool) -> Calibration:
    """Return the coefficients of two classes, whose log odds are linear in them."""
    knot_weights = compute_knot_weights(observed.shares)
    # The log odds are twice the vote of the single output.
    inputs = 2.0 * observed.scores * knot_weights
    if has_offsets:
        inputs = np.hstack((inputs, knot_weights))
    is_slope = np.arange(inputs.shape[1]) < N_KNOTS
    penalties = np.full(is_slope.size, PENALTY)
    prior = kernels.Penalty(is_slope.astype(np.float64), penalties, is_slope)
    fitted = fit_binary(inputs, observed.targets, observed.weights, prior)
    offsets = fitted[N_KNOTS:] if has_offsets else np.zeros(N_KNOTS)
    slopes = tuple(fitted[:N_KNOTS].tolist())
    return Calibration(tuple((offset,) for offset in offsets.tolist()), slopes)


def penalised_loss(
    coefficients: FloatArray,
    plain: FloatArray,
    observed: HeldOutVotes,
    knot_weights: FloatArray,
) -> tuple[float, FloatArray]:
    """Return the penalised log-loss of several classes, and its gradient.

    `coefficients` are those of a link, one knot after the other; `knot_weights` of the
    shares are the same at every step.
    """
    link = coefficients.reshape(plain.shape)
    logits = apply_knot_weights(link, observed.scores, knot_weights)
    losses, gradients = compute_vote_losses(logits, observed)
    gradients *= observed.weights[:, None]
    by_slope = (gradients * observed.scores).sum(axis=1, keepdims=True)
    # No product of matrices: its threads wait for one another over such small ones.
    gradient = np.einsum("nk,nl->kl", knot_weights, np.hstack((gradients, by_slope)))
    shift = link - plain
    loss = (losses * observed.weights).sum() + PENALTY / 2 * (shift**2).sum()
    return float(loss), (gradient + PENALTY * shift).ravel()


def compute_vote_losses(
    logits: FloatArray, observed: HeldOutVotes
) -> tuple[FloatArray, FloatArray]:
    """Return each vote's log-loss and gradient; the logits are overwritten."""
    if logits.shape[1] == 1:
        signs = 2.0 * observed.targets - 1.0
        leads = signs * logits[:, 0]
        return np.logaddexp(0.0, -leads), (-signs * sigmoid(-leads))[:, None]
    every = np.arange(logits.shape[0])
    logits -= logits.max(axis=1, keepdims=True)
    chances = np.exp(logits)
    totals = chances.sum(axis=1)
    losses = np.log(totals) - logits[every, observed.targets]
    chances /= totals[:, None]
    chances[every, observed.targets] -= 1.0
    return losses, chances


def log_loss(link: FloatArray, observed: HeldOutVotes) -> float:
    """Return the log-loss summed over all votes, in rows."""
    logits = apply_link(link, observed.scores, observed.shares)
    losses, _ = compute_vote_losses(logits, observed)
    return float((losses * observed.weights).sum())


def worst_excess_error(
    links: Sequence[FloatArray], folds: Sequence[HeldOutVotes]
) -> float:
    """Return the error of labels minus that of votes at the worst budget.

    `links` has the calibration of each fold, fitted on the others; votes are labelled
    by the plain link.
    """
    n_budgets = 1 + max(int(fold.budget_idxs.max(initial=0)) for fold in folds)
    excess, sizes = np.zeros(n_budgets), np.zeros(n_budgets)
    for link, fold in zip(links, folds, strict=True):
        changes = 1.0 * mark_wrong(link, fold) - mark_wrong(PLAIN, fold)
        excess += np.bincount(fold.budget_idxs, fold.weights * changes, n_budgets)
        sizes += np.bincount(fold.budget_idxs, fold.weights, n_budgets)
    return float((excess / np.maximum(sizes, 1e-300)).max())


def mark_wrong(link: FloatArray, observed: HeldOutVotes) -> BoolArray:
    """Return a mask of votes whose most probable class (first on ties) is wrong."""
    logits = apply_link(link, observed.scores, observed.shares)
    labels = (logits[:, 0] > 0).astype(np.int64)
    if logits.shape[1] > 1:
        is_best = logits >= logits.max(axis=1, keepdims=True) - ROUNDING
        labels = is_best.argmax(axis=1)
    wrong: BoolArray = labels != observed.targets
    return wrong
