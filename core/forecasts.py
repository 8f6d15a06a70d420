"""What is predicted from what is known: vote, margin, probability, label."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from core import kernels
from core.policies.cascade import count_passed
from core.policies.ordered import find_plan
from core.policies.sampled import past_draws
from core.policies.waiting import find_waiting
from core.session_arrays import SessionArrays
from core.types import (
    BoolArray,
    Ensemble,
    FloatArray,
    Forecast,
    IntArray,
    PolicyName,
    State,
)

TIE = 1e-12
MAX_LOGIT = 40.0


def forecast(ensemble: Ensemble, state: State, arrays: SessionArrays) -> Forecast:
    """Predict from a session as far as it has come.

    Policy `ordered`: margins = sum(alpha h) over what is known of the plan / sum of
    the plan's alpha. Policy `sample`: votes / draws that could vote, until the session
    is `certain` or `all_known`; from then on the full vote.

    Returns
    -------
    Forecast
        With nothing known or a tie: the majority class, and with nothing known (of
        two classes also on a tie) the priors. `hoeffding_p` = exp(-N m^2/2) for N
        draws (Reyzin 2010, Corollary 3, one-sided), times K - 1 for K classes (union
        bound): for fixed N a bound on the chance of such a lead if the full vote
        pointed elsewhere; not a probability of error.
    """
    if state.policy == "sample" and not state.is_decided:
        return sampled_forecast(ensemble, state, arrays)
    votes, known, planned = tally(
        ensemble, arrays, *find_counted(ensemble, state, arrays)
    )
    found = make_forecast(
        ensemble,
        "ordered",
        votes / planned if planned else votes,
        known / float(ensemble.alpha_sums[-1]) if known else 0.0,
        scores=votes,
    )
    if state.policy == "cascade":
        passed = np.array(count_passed(ensemble, arrays))
        chances = stage_chances(ensemble, passed)
        return replace(
            found,
            label=int(decide(ensemble, chances)),
            vote=int(stage_votes(ensemble, passed)),
            probabilities=tuple(chances.tolist()),
        )
    return found


def stage_chances(ensemble: Ensemble, passed: IntArray) -> FloatArray:
    """Probability of each class from the stages passed; (...) -> (..., 2).

    Shares of held-out rows that came as far (`passed` as from
    `core.policies.cascade.count_passed`).
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


def find_counted(
    ensemble: Ensemble, state: State, arrays: SessionArrays
) -> tuple[int, BoolArray]:
    """How many of the first hypotheses a full vote counts, and which of them.

    The plan, or with the policy `sample` whatever is within reach.
    """
    if state.policy == "sample":
        return len(ensemble.hypotheses), find_waiting(ensemble, arrays).is_payable
    is_counted = np.ones(len(ensemble.hypotheses), np.bool_)
    return find_plan(ensemble, arrays).length, is_counted


def tally(
    ensemble: Ensemble, arrays: SessionArrays, length: int, is_counted: BoolArray
) -> tuple[FloatArray, float, float]:
    """Votes of the first hypotheses, the alpha that has voted and that has or may.

    `is_counted` (n_hypotheses,) marks those that may still vote.
    """
    paths = ensemble.paths
    votes, alphas = np.zeros(ensemble.n_channels), np.zeros(2)
    kernels.tally(
        arrays.values,
        arrays.status,
        is_counted,
        length,
        paths.roots,
        paths.nodes,
        paths.cuts,
        ensemble.alpha_array,
        ensemble.weighted_votes,
        votes,
        alphas,
    )
    known, planned = alphas.tolist()
    return votes, known, planned


def sampled_forecast(
    ensemble: Ensemble, state: State, arrays: SessionArrays
) -> Forecast:
    """Forecast of the policy `sample` from the draws so far."""
    paths = ensemble.paths
    votes = np.zeros(ensemble.n_channels)
    has_vote = np.empty(paths.roots.size, np.bool_)
    n_voted = kernels.tally_draws(
        arrays.values,
        arrays.status,
        past_draws(ensemble, state),
        paths.roots,
        paths.nodes,
        paths.cuts,
        paths.votes,
        votes,
        has_vote,
    )
    n_draws = int(n_voted)
    if n_draws == 0:
        return make_forecast(ensemble, "sample", votes, 0.0, n_draws=0)
    known = float(ensemble.alpha_array[has_vote].sum())
    share = known / float(ensemble.alpha_sums[-1])
    return make_forecast(ensemble, "sample", votes / n_draws, share, n_draws=n_draws)


def current_votes(ensemble: Ensemble, arrays: SessionArrays) -> IntArray:
    """Vote that each hypothesis has come to, 0: none; (n_hypotheses,)."""
    paths = ensemble.paths
    ends = np.empty(paths.roots.size, dtype=np.int64)
    kernels.follow_all(
        arrays.values, arrays.status, paths.roots, paths.nodes, paths.cuts, ends
    )
    heres = paths.nodes[np.maximum(ends, 0), 4]
    positions: IntArray = np.where(ends >= 0, heres, ~ends)
    return positions


def make_forecast(
    ensemble: Ensemble,
    policy: PolicyName,
    margins: FloatArray,
    share: float,
    *,
    n_draws: int | None = None,
    scores: FloatArray | None = None,
) -> Forecast:
    """Decide a label from margins (n_channels,) and the share of alpha known."""
    shares = np.array(share)
    chances = probabilities(ensemble, policy, margins, shares, scores)
    lead = find_lead(margins)
    hoeffding_p = None
    if n_draws is not None:
        n_rivals = len(ensemble.classes) - 1
        hoeffding_p = min(1.0, n_rivals * math.exp(-n_draws * lead**2 / 2))
    return Forecast(
        label=int(decide(ensemble, chances)),
        vote=int(raw_votes(ensemble, margins * ensemble.alpha_sums[-1])),
        probabilities=tuple(chances.tolist()),
        margin=lead,
        share=share,
        n_draws=n_draws,
        hoeffding_p=hoeffding_p,
    )


def find_lead(margins: FloatArray) -> float:
    """`Forecast.margin` from the margins of one row, (n_channels,)."""
    if margins.size == 1:
        return float(margins[0])
    second, first = np.sort(margins)[-2:].tolist()
    return float(first - second) / 2


def class_scores(votes: FloatArray) -> FloatArray:
    """Votes (..., n_channels) as one score per class, (..., n_classes)."""
    if votes.shape[-1] > 1:
        return votes
    return np.concatenate((-votes, votes), axis=-1)


def raw_votes(ensemble: Ensemble, votes: FloatArray) -> IntArray:
    """Class position of votes sum(alpha h), (..., n_channels) -> (...).

    What rounding could have made counts as a tie, which goes to the class of the
    larger prior, then of the higher position.
    """
    tolerance = 2.0 * TIE * float(ensemble.alpha_sums[-1])
    return argbest(ensemble, class_scores(votes), tolerance)


def argbest(ensemble: Ensemble, gains: FloatArray, tolerance: float) -> IntArray:
    """Class of the largest gain, (..., n_classes) -> (...); ties as in `raw_votes`."""
    is_best = gains >= gains.max(axis=-1, keepdims=True) - tolerance
    preference = ensemble.preference
    best: IntArray = preference[is_best[..., preference].argmax(axis=-1)]
    return best


def probabilities(
    ensemble: Ensemble,
    policy: PolicyName,
    margins: FloatArray,
    shares: FloatArray,
    scores: FloatArray | None = None,
) -> FloatArray:
    """Probability of each class, calibrated on held-out rows.

    Parameters
    ----------
    ensemble : Ensemble
    policy : str
    margins : float64 array, shape (..., n_channels)
    shares : float64 array, shape (...)
        Of the ensemble's alpha that is known.
    scores : float64 array, shape (..., n_channels), optional
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
    if ensemble.n_channels > 1 and policy not in ensemble.calibration_arrays:
        chances = np.exp(scores - scores.max(axis=-1, keepdims=True))
    else:
        chances = channel_chances(ensemble, policy, margins, shares, scores)
    smooth = share_out(chances)
    is_tie = (np.abs(margins) <= TIE).all(axis=-1, keepdims=True)
    return np.where(is_tie, np.array(ensemble.priors), smooth)


def share_out(chances: FloatArray) -> FloatArray:
    """Chances by channel as probabilities by class, which sum to 1."""
    if chances.shape[-1] == 1:
        return np.concatenate((1.0 - chances, chances), axis=-1)
    shared: FloatArray = chances / chances.sum(axis=-1, keepdims=True)
    return shared


def channel_chances(
    ensemble: Ensemble,
    policy: PolicyName,
    margins: FloatArray,
    shares: FloatArray,
    scores: FloatArray,
) -> FloatArray:
    """Chance of each channel's class against the rest; (..., n_channels)."""
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
    chances = channel_chances(ensemble, "ordered", margins, shares, scores)
    return np.where(np.abs(margins) <= TIE, np.array(ensemble.priors), chances)


def label_votes(ensemble: Ensemble, margins: FloatArray) -> BoolArray:
    """Which labels a multi-label ensemble votes for; ties as their priors say."""
    is_likely = np.array(ensemble.priors) > 0.5
    votes: BoolArray = np.where(np.abs(margins) <= TIE, is_likely, margins > 0)
    return votes


def calibrated_logits(
    coefficients: FloatArray, margins: FloatArray, shares: FloatArray
) -> FloatArray:
    """Log odds of each channel's class, as its `Calibration` gives them.

    coefficients: (4, n_channels), see `Ensemble.calibration_arrays`.
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
