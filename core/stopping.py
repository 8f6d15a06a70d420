"""When a session should stop although more could be asked."""

from __future__ import annotations

import numpy as np

from core import kernels
from core.forecasts import TIE, decide, raw_vote, smooth_probability
from core.policies.ordered import find_plan
from core.session_arrays import SessionArrays
from core.types import Ensemble, Forecast, State


def is_confident(state: State, forecast: Forecast) -> bool:
    """Whether the label is as probable as the session's stop rule asks for."""
    confidence = state.stop.confidence
    return (
        confidence is not None and forecast.probabilities[forecast.label] >= confidence
    )


def is_certain(ensemble: Ensemble, state: State, arrays: SessionArrays) -> bool:
    """Whether no answer still affordable can change the vote, nor the label.

    Each open feature still individually affordable contributes the least and the
    greatest of its summed votes over all values and "missing". Exact for the vote of
    stumps without a budget, sound otherwise: a plan that grows because a feature is
    missing is allowed for. The label is decided from a calibrated probability, which
    is monotone in the margin and in the share known for a fixed other, so the
    corners of the reachable box decide.
    """
    low, high, alpha_known = vote_bounds(ensemble, state, arrays)
    if raw_vote(ensemble, low) != raw_vote(ensemble, high):
        return False
    total = float(ensemble.alpha_sums[-1])
    if total == 0:
        return True
    shares = (alpha_known / total, 1.0)
    corners = [
        smooth_probability(ensemble, margin, share, score)
        for margin, score in zip(
            reachable_margins(low, high, alpha_known, total), (low, high), strict=True
        )
        for share in shares
    ]
    if low <= TIE * total and high >= -TIE * total:
        # A tie, which the prior decides, and the margins just beside it.
        corners.append(ensemble.priors[1])
        corners += [smooth_probability(ensemble, 0.0, share, 0.0) for share in shares]
    return len({decide(ensemble, positive) for positive in corners}) == 1


def reachable_margins(
    low: float, high: float, alpha_known: float, total: float
) -> tuple[float, float]:
    """Extremes of vote/plan alpha when the plan holds between known and all alpha."""
    smallest = max(alpha_known, abs(low), abs(high), TIE)
    return (
        low / (smallest if low < 0 else total),
        high / (total if high < 0 else smallest),
    )


def vote_bounds(
    ensemble: Ensemble, state: State, arrays: SessionArrays
) -> tuple[float, float, float]:
    """Least and greatest final vote, and the alpha of the plan already known."""
    bounds = np.empty(2)
    is_prefix = state.policy == "ordered"
    plan_length = find_plan(ensemble, arrays).length if is_prefix else 0
    kernels.bound_votes(
        arrays.values,
        arrays.status,
        arrays.is_affordable,
        ensemble.feature_idxs,
        ensemble.cuts,
        ensemble.is_category,
        ensemble.signed_alphas,
        ensemble.segment_starts,
        ensemble.segment_cuts,
        plan_length,
        is_prefix,
        bounds,
    )
    stop = plan_length if is_prefix else len(ensemble.hypotheses)
    is_known = arrays.status[ensemble.feature_idxs[:stop]] == kernels.KNOWN
    alpha_known = float(np.abs(ensemble.signed_alphas[:stop])[is_known].sum())
    return float(bounds[0]), float(bounds[1]), alpha_known
