"""What is predicted from what is known: vote, margin, probability, label."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from core import kernels
from core.arrays import BoolArray, FloatArray, IntArray
from core.model.ensemble import Ensemble
from core.model.votes import raw_votes
from core.session.arrays import SessionArrays
from core.session.policies.cascade import count_passed
from core.session.policies.ordered import find_plan
from core.session.policies.sample import past_draws
from core.session.policies.waiting import find_waiting
from core.session.probability import (
    decide,
    probabilities,
    stage_chances,
    stage_votes,
)
from core.session.state import Forecast, State


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
        votes,
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
    votes, alphas = np.zeros(ensemble.n_outputs), np.zeros(2)
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
    votes = np.zeros(ensemble.n_outputs)
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
        return make_forecast(ensemble, "sample", votes, 0.0, votes, n_draws=0)
    total = float(ensemble.alpha_sums[-1])
    share = float(ensemble.alpha_array[has_vote].sum()) / total
    margins = votes / n_draws
    return make_forecast(
        ensemble, "sample", margins, share, margins * total, n_draws=n_draws
    )


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
    policy: str,
    margins: FloatArray,
    share: float,
    scores: FloatArray,
    *,
    n_draws: int | None = None,
) -> Forecast:
    """Decide a label from scores (n_outputs,) and the share of alpha known."""
    chances = probabilities(ensemble, policy, scores, np.array(share))
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
    """`Forecast.margin` from the margins of one row, (n_outputs,)."""
    if margins.size == 1:
        return float(margins[0])
    second, first = np.sort(margins)[-2:].tolist()
    return float(first - second) / 2
