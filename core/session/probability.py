"""Probabilities and labels from votes."""

from __future__ import annotations

import numpy as np

from core.arrays import FloatArray, IntArray
from core.model.ensemble import Ensemble
from core.model.votes import TIE, argbest

MAX_LOGIT = 40.0


def stage_chances(ensemble: Ensemble, passed: IntArray) -> FloatArray:
    """Probability of each class from the stages passed; (...) -> (..., 2).

    Shares of held-out rows that came as far (`passed` as from
    `core.session.policies.cascade.count_passed`).
    """
    cascade = ensemble.cascade
    assert cascade is not None, "the policy needs one"
    reaching = [stage.chance_reaching for stage in cascade.stages]
    rejected = [stage.chance_rejected for stage in cascade.stages]
    chances = np.array([*reaching, cascade.chance_passed, *rejected[::-1]])[passed]
    return np.stack((1.0 - chances, chances), axis=-1)


def stage_votes(ensemble: Ensemble, passed: IntArray) -> IntArray:
    """Class by the stages: the first once rejected, the second once all are passed.

    In between the more probable one.
    """
    between = argbest(ensemble, stage_chances(ensemble, passed), TIE)
    n_stages = ensemble.stage_ends.size
    # Without any stage nothing was passed.
    is_through = (passed == n_stages) & (n_stages > 0)
    votes: IntArray = np.where(passed < 0, 0, np.where(is_through, 1, between))
    return votes


def probabilities(
    ensemble: Ensemble,
    policy: str,
    margins: FloatArray,
    shares: FloatArray,
    scores: FloatArray | None = None,
) -> FloatArray:
    """Probability of each class, calibrated on held-out rows.

    Parameters
    ----------
    ensemble : Ensemble
    policy : str
    margins : float64 array, shape (..., n_outputs)
    shares : float64 array, shape (...)
        Of the ensemble's alpha that is known.
    scores : float64 array, shape (..., n_outputs), optional
        F = sum(alpha h) over known features; by default the margins times the alpha
        known. Needed without a calibration only.

    Returns
    -------
    float64 array, shape (..., n_classes)
        Margins that are all 0 give the priors. Calibrated chances of more than two
        classes are those of each against the rest, divided by their sum (Zadrozny and
        Elkan 2002). Without a calibration exp(F_l)/sum_k exp(F_k), of two classes
        1/(1 + exp(-2F)) (Friedman, Hastie and Tibshirani 2000).
    """
    if scores is None:
        scores = margins * shares[..., None] * ensemble.alpha_sums[-1]
    if ensemble.n_outputs > 1 and policy not in ensemble.calibration_arrays:
        chances = np.exp(scores - scores.max(axis=-1, keepdims=True))
    else:
        chances = output_chances(ensemble, policy, margins, shares, scores)
    smooth = share_out(chances)
    is_tie = (np.abs(margins) <= TIE).all(axis=-1, keepdims=True)
    return np.where(is_tie, np.array(ensemble.priors), smooth)


def share_out(chances: FloatArray) -> FloatArray:
    """Chances by output as probabilities by class, which sum to 1."""
    if chances.shape[-1] == 1:
        return np.concatenate((1.0 - chances, chances), axis=-1)
    shared: FloatArray = chances / chances.sum(axis=-1, keepdims=True)
    return shared


def output_chances(
    ensemble: Ensemble,
    policy: str,
    margins: FloatArray,
    shares: FloatArray,
    scores: FloatArray,
) -> FloatArray:
    """Chance of each output's class against the rest; (..., n_outputs)."""
    coefficients = ensemble.calibration_arrays.get(policy)
    logits = 2.0 * scores
    if coefficients is not None:
        logits = calibrated_logits(coefficients, margins, shares)
    chances: FloatArray = 1.0 / (1.0 + np.exp(-np.clip(logits, -MAX_LOGIT, MAX_LOGIT)))
    return chances


def label_chances(
    ensemble: Ensemble, margins: FloatArray, shares: FloatArray
) -> FloatArray:
    """Chance of each label of a multi-label ensemble, 1/(1 + exp(-2F)).

    Where nothing is known of a label, or its votes tie, its prior.
    """
    scores = margins * shares[..., None] * ensemble.alpha_sums[-1]
    chances = output_chances(ensemble, "ordered", margins, shares, scores)
    return np.where(np.abs(margins) <= TIE, np.array(ensemble.priors), chances)


def calibrated_logits(
    coefficients: FloatArray, margins: FloatArray, shares: FloatArray
) -> FloatArray:
    """Log odds of each output's class, as its `Calibration` gives them.

    coefficients: (4, n_outputs), see `Ensemble.calibration_arrays`.
    """
    offset, drift, unknown, known = coefficients
    shares = shares[..., None]
    slopes = unknown * (1 - shares) + known * shares
    logits: FloatArray = offset + drift * shares + slopes * margins
    return logits


def decide(ensemble: Ensemble, chances: FloatArray) -> IntArray:
    """Most probable class, or the one of least expected cost; ties as in `raw_votes`.

    Probabilities (..., n_classes) -> class positions (...).
    """
    if ensemble.error_costs is None:
        return argbest(ensemble, chances, TIE)
    gains = -(chances @ np.array(ensemble.error_costs))
    return argbest(ensemble, gains, TIE)
