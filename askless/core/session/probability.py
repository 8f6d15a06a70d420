"""Probabilities and labels computed from votes."""

import numpy as np

from askless.core import kernels
from askless.core.arrays import FloatArray, IntArray
from askless.core.model.ensemble import N_KNOTS, Ensemble
from askless.core.model.votes import FORESTS, TIE, class_scores, pick_class

# Key, in models, of the calibration of a vote of all that is known.
FULL_VOTE = "ordered"

KNOTS = np.linspace(0.0, 1.0, N_KNOTS)

# What holds without a calibration: no offset, and the odds as they are.
PLAIN = np.column_stack((np.zeros(N_KNOTS), np.ones(N_KNOTS)))


def compute_probabilities(
    ensemble: Ensemble,
    policy: str,
    scores: FloatArray,
    shares: FloatArray,
    *,
    has_ties: bool = True,
) -> FloatArray:
    """Return the probability of each class, by votes so far; (..., n_classes).

    `scores` (..., n_outputs) are F = sum(alpha h) over what is known; for draws, their
    mean vote times all alpha. `shares` (...) are the shares of the ensemble's alpha
    that are known. Scores that are all 0 but for rounding give the priors, if
    `has_ties`. With a calibration of the policy, see `Calibration`. Without one:
    exp(F_l)/sum_k exp(F_k), for two classes 1/(1 + exp(-2F)) (Friedman, Hastie and
    Tibshirani 2000), for forests `compute_vote_shares`.
    """
    if uses_vote_shares(ensemble, policy):
        # The scores of draws estimate the whole vote already.
        known = shares if policy == FULL_VOTE else np.ones_like(shares)
        return compute_vote_shares(ensemble, scores, known, has_ties=has_ties)
    chances = np.empty((*shares.shape, len(ensemble.classes)))
    kernels.link_votes(
        np.ascontiguousarray(scores).reshape(-1, scores.shape[-1]),
        np.ascontiguousarray(shares).reshape(-1),
        ensemble.calibration_arrays.get(policy, PLAIN),
        ensemble.class_priors,
        TIE * float(ensemble.alpha_sums[-1]) if has_ties else -1.0,
        chances.reshape(-1, chances.shape[-1]),
    )
    return chances


def uses_vote_shares(ensemble: Ensemble, policy: str) -> bool:
    """Return whether chances are shares of votes, as in an uncalibrated forest."""
    return ensemble.algorithm in FORESTS and policy not in ensemble.calibration_arrays


def compute_vote_shares(
    ensemble: Ensemble, scores: FloatArray, known: FloatArray, *, has_ties: bool
) -> FloatArray:
    """Return the share of the votes that each class has; (..., n_classes).

    Votes of trees that are not known yet are shared equally among the classes, so the
    most probable class is that of the vote. `known` (...) is the share of the alpha
    that has voted; for draws it is 1.
    """
    means = class_scores(scores) / max(float(ensemble.alpha_sums[-1]), TIE)
    cast, n_classes = known[..., None], len(ensemble.classes)
    chances: FloatArray = (cast + means) / 2.0 + (1.0 - cast) / n_classes
    if not has_ties:
        return chances
    is_tie = np.abs(means).max(axis=-1, keepdims=True) <= TIE
    return np.where(is_tie, ensemble.class_priors, chances)


def apply_link(link: FloatArray, scores: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the logit of each output's class; (..., n_outputs).

    `link` (N_KNOTS, n_outputs + 1) has the offsets, and in its last column the slopes;
    a single column of offsets serves every output.
    """
    return apply_knot_weights(link, scores, compute_knot_weights(shares))


def apply_knot_weights(
    link: FloatArray, scores: FloatArray, knot_weights: FloatArray
) -> FloatArray:
    """Return the result of `apply_link`, by the `knot_weights` of the shares."""
    interpolated = np.einsum("...k,kl->...l", knot_weights, link)
    # The log odds of two classes are twice the vote of their single output.
    odds = 2.0 * scores if scores.shape[-1] == 1 else scores
    logits: FloatArray = interpolated[..., :-1] + interpolated[..., -1:] * odds
    return logits


def compute_knot_weights(shares: FloatArray) -> FloatArray:
    """Return weights that interpolate linearly between the knots; (..., N_KNOTS)."""
    distances = np.abs(shares[..., None] - KNOTS)
    return np.maximum(1.0 - (N_KNOTS - 1) * distances, 0.0)


def sigmoid(logits: FloatArray) -> FloatArray:
    """Return the probability of log odds, never exactly 0 or 1."""
    return 1.0 / (1.0 + np.exp(-np.clip(logits, -kernels.MAX_LOGIT, kernels.MAX_LOGIT)))


def compute_label_chances(ensemble: Ensemble, scores: FloatArray) -> FloatArray:
    """Return the chance of each label of a multi-label ensemble, 1/(1 + exp(-2F)).

    It is the prior where nothing is known of a label, or its votes tie.
    """
    is_tie = np.abs(scores) <= TIE * float(ensemble.alpha_sums[-1])
    return np.where(is_tie, ensemble.class_priors, sigmoid(2.0 * scores))


def decide_label(ensemble: Ensemble, chances: FloatArray) -> IntArray:
    """Return the most probable class, or with error costs the one of least cost.

    Probabilities (..., n_classes) -> class positions (...); ties as in `raw_classes`.
    """
    if ensemble.error_costs is None:
        return pick_class(ensemble, chances, TIE)
    gains = -(chances @ np.array(ensemble.error_costs))
    return pick_class(ensemble, gains, TIE)


def compute_lead(margins: FloatArray) -> float:
    """Return `Forecast.margin` from the margins of one row, (n_outputs,)."""
    if margins.size == 1:
        return float(margins[0])
    second, first = np.sort(margins)[-2:].tolist()
    return float(first - second) / 2
