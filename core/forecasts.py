"""What is predicted from what is known: vote, margin, probability, label."""

from __future__ import annotations

import math

import numpy as np

from core import kernels
from core.policies.ordered import find_plan
from core.policies.sampled import count_draws
from core.session_arrays import SessionArrays
from core.types import Calibration, Ensemble, FloatArray, Forecast, PolicyName, State

TIE = 1e-12


def forecast(ensemble: Ensemble, state: State, arrays: SessionArrays) -> Forecast:
    """Predict from a session as far as it has come.

    Policy `ordered`: margin = sum(alpha h) over the known part of the plan / sum of
    the plan's alpha. Policy `sample`: votes / draws that could vote, until the session
    is `certain` or `all_known`; from then on the full vote.

    Returns
    -------
    Forecast
        With nothing known or a tie: the majority class and the priors.
        `hoeffding_p` = exp(-N m^2/2) for N draws (Reyzin 2010, Corollary 3,
        one-sided): for fixed N a bound on the chance of such a lead if the full vote
        pointed the other way; not a probability of error.
    """
    if state.policy == "sample" and not state.is_decided:
        return sampled_forecast(ensemble, state, arrays)
    votes = hypothesis_votes(ensemble, arrays.values)
    alphas = np.abs(ensemble.signed_alphas)
    status = arrays.status[ensemble.feature_idxs]
    if state.policy == "ordered":
        is_planned = np.arange(votes.size) < find_plan(ensemble, arrays).length
    else:
        is_planned = arrays.is_affordable[ensemble.feature_idxs] | (
            status != kernels.OPEN
        )
    is_planned &= status != kernels.GONE
    known = float(alphas[is_planned & (status == kernels.KNOWN)].sum())
    planned = float(alphas[is_planned].sum())
    score = float(votes[is_planned].sum())
    return make_forecast(
        ensemble,
        "ordered",
        score / planned if planned else 0.0,
        known / float(ensemble.alpha_sums[-1]) if known else 0.0,
        score=score,
    )


def sampled_forecast(
    ensemble: Ensemble, state: State, arrays: SessionArrays
) -> Forecast:
    """Forecast of the policy `sample` from the draws so far."""
    is_known = arrays.status[ensemble.feature_idxs] == kernels.KNOWN
    alphas = np.abs(ensemble.signed_alphas)
    ballots = np.sign(hypothesis_votes(ensemble, arrays.values))
    counts = count_draws(ensemble, state)
    n_draws = int(counts @ np.abs(ballots))
    if n_draws == 0:
        return make_forecast(ensemble, "sample", 0.0, 0.0, 0)
    margin = float(counts @ ballots) / n_draws
    share = float(alphas[is_known].sum() / alphas.sum())
    return make_forecast(ensemble, "sample", margin, share, n_draws)


def make_forecast(
    ensemble: Ensemble,
    policy: PolicyName,
    margin: float,
    share: float,
    n_draws: int | None = None,
    score: float | None = None,
) -> Forecast:
    """Decide a label from a margin in [-1, 1] and the share of alpha known."""
    scores = None if score is None else np.array([score])
    positive = float(
        positive_probabilities(
            ensemble, policy, np.array([margin]), np.array([share]), scores
        )[0]
    )
    return Forecast(
        label=decide(ensemble, positive),
        vote=raw_vote(ensemble, margin * float(ensemble.alpha_sums[-1])),
        probabilities=(1.0 - positive, positive),
        margin=margin,
        share=share,
        n_draws=n_draws,
        hoeffding_p=None if n_draws is None else math.exp(-n_draws * margin**2 / 2),
    )


def hypothesis_votes(ensemble: Ensemble, values: FloatArray) -> FloatArray:
    """Alpha h(x) of every hypothesis on one row, 0 where the value is missing."""
    read = values[ensemble.feature_idxs]
    is_above = np.where(
        ensemble.is_category, read == ensemble.cuts, read > ensemble.cuts
    )
    votes = np.where(is_above, ensemble.signed_alphas, -ensemble.signed_alphas)
    is_silent = np.isnan(read) | (ensemble.is_category & (read < 0))
    return np.where(is_silent, 0.0, votes)


def raw_vote(ensemble: Ensemble, vote: float) -> int:
    """Class position of a vote sum(alpha h); the majority class on a tie.

    What rounding could have made counts as a tie.
    """
    if abs(vote) <= TIE * float(ensemble.alpha_sums[-1]):
        return ensemble.majority
    return 1 if vote > 0 else 0


def raw_votes(ensemble: Ensemble, votes: FloatArray) -> np.ndarray:
    """`raw_vote` for many votes."""
    is_tie = np.abs(votes) <= TIE * ensemble.alpha_sums[-1]
    return np.where(is_tie, ensemble.majority, votes > 0)


def positive_probabilities(
    ensemble: Ensemble,
    policy: PolicyName,
    margins: FloatArray,
    shares: FloatArray,
    scores: FloatArray | None = None,
) -> FloatArray:
    """Probability of the positive class, calibrated on held-out rows.

    A margin of 0 gives the prior. Without a calibration 1/(1 + exp(-2F)), F the
    `scores` sum(alpha h) over known features, by default the margin times the alpha
    known (Friedman, Hastie and Tibshirani 2000).
    """
    if scores is None:
        scores = margins * shares * ensemble.alpha_sums[-1]
    smooth = smooth_probabilities(ensemble, policy, margins, shares, scores)
    return np.where(np.abs(margins) <= TIE, ensemble.priors[1], smooth)


def smooth_probabilities(
    ensemble: Ensemble,
    policy: PolicyName,
    margins: FloatArray,
    shares: FloatArray,
    scores: FloatArray,
) -> FloatArray:
    """`positive_probabilities` without the step to the prior at a tie."""
    calibration = dict(ensemble.calibrations).get(policy)
    logits = 2.0 * scores
    if calibration is not None:
        logits = calibrated_logits(calibration, margins, shares)
    probabilities: FloatArray = 1.0 / (1.0 + np.exp(-np.clip(logits, -40.0, 40.0)))
    return probabilities


def smooth_probability(
    ensemble: Ensemble, margin: float, share: float, score: float
) -> float:
    """One of `smooth_probabilities` for the deterministic vote."""
    one = [np.array([number]) for number in (margin, share, score)]
    return float(smooth_probabilities(ensemble, "ordered", *one)[0])


def calibrated_logits(
    calibration: Calibration, margins: FloatArray, shares: FloatArray
) -> FloatArray:
    """Log odds of the positive class, as `Calibration` gives them."""
    slopes = calibration.slope_unknown * (1 - shares) + calibration.slope_known * shares
    return calibration.offset + calibration.drift * shares + slopes * margins


def decide(ensemble: Ensemble, positive: float) -> int:
    """Give the class to act on for a probability of the positive class."""
    return int(decide_all(ensemble, np.array([positive]))[0])


def decide_all(ensemble: Ensemble, positives: FloatArray) -> np.ndarray:
    """Most probable class, or the one of least expected cost; majority on a tie."""
    if ensemble.error_costs is None:
        gains = 2.0 * positives - 1.0
    else:
        costs = ensemble.error_costs
        cost_of_first = positives * costs[1][0] + (1 - positives) * costs[0][0]
        cost_of_second = positives * costs[1][1] + (1 - positives) * costs[0][1]
        gains = cost_of_first - cost_of_second
    return np.where(np.abs(gains) <= TIE, ensemble.majority, gains > 0)
