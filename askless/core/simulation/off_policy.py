"""Estimates another policy's error and spend from cases that were logged by one.

Answers of a case don't depend on the order in which they are asked, and the log knows
at which chance each question was put. So a case in which another policy finds all its
answers stands for those in which it does not; docs/learning.md has the derivation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.figures import QUANTILE, Estimate
from askless.core.session import machine
from askless.core.session.outline import outline
from askless.core.simulation.refusals import LEAST_CHANCE
from askless.core.simulation.replays import Replay, ReplayTerms, replay
from askless.core.simulation.trails import (
    SUPPORTS,
    CaseTrail,
    find_support,
    list_needs,
    weigh_questions,
)

MEASURES = ("error", "log_loss", "spend")

# Beyond these an interval says less than it seems to.
LEAST_EFFECTIVE = 30
MOST_UNSUPPORTED = 0.05
#: cases in which exploration brings an answer, if it must for more than such a share
LEAST_EXPLORED, MOST_UNEXPLORED = 20, 0.02

Lack = Literal["few_effective", "no_support", "few_explored"]


@dataclass(frozen=True)
class JudgedCases:
    """What a policy comes to on logged cases; see `judge_cases`."""

    #: (n_cases,); inverse of the chance that the log has all its answers, 0: it lacks
    #: one
    weights: FloatArray
    #: (n_cases, n_measures), at the end; 0 where the log lacks an answer
    ends: FloatArray
    #: (n_cases, n_measures); the doubly robust figure of each case
    robust: FloatArray
    #: (n_cases, 3); weight of each case in the classes of `SUPPORTS`; exploration: as
    #: far as the first answer that only exploration can bring
    supports: FloatArray
    #: (n_cases, 2); weight of a case that explored that answer: the log has all others,
    #: or lacks one still
    explored: FloatArray
    #: (n_cases,); expected number of answers that exploration brings
    n_explored: FloatArray


@dataclass(frozen=True, slots=True)
class PolicyEstimate:
    """A policy's figures estimated from logged cases; spend in micro-units.

    Each of the three is by `MEASURES`.
    """

    #: by inverse propensities (Horvitz and Thompson 1952)
    weighted: tuple[Estimate, ...]
    #: the same by the sum of weights, which is biased and varies less (Hajek 1971)
    normalised: tuple[Estimate, ...]
    #: doubly robust (Robins, Rotnitzky and Zhao 1994; Jiang and Li 2016)
    robust: tuple[Estimate, ...]
    n_cases: int
    #: (sum of weights)^2 / sum of squared weights (Kish 1965)
    n_effective: float
    #: shares of cases whose answers the log has, has by exploration, can never have
    support: tuple[float, float, float]
    n_explored: float
    #: why no verdict should rest on this; None: it may
    lack: Lack | None


def judge_cases(
    ensemble: Ensemble,
    trails: Sequence[CaseTrail],
    policy: str | None = None,
    seed: int = 0,
) -> JudgedCases:
    """Judge a policy of an ensemble on logged cases, each under its own budget.

    Sessions are played to the first advice to stop, by `machine.start`'s own rule.

    Parameters
    ----------
    ensemble : Ensemble
        For classes of one label; at the prices at which the cases were charged.
    trails : sequence of CaseTrail
        By the catalogue and the classes of this ensemble.
    policy : str, optional
        As in `machine.start`.
    seed : int
        Of policies that draw; case i draws from the stream i.

    Notes
    -----
    The policy's questions are f_1 .. f_T, and C of them are answered by the log before
    the first that isn't. W_k is the weight of `weigh_questions`. E[W_k 1{C >= k}] is 1
    for a case in which the second logger described there gets the first k answers, and
    0 for any other. It gets one answer by exploration, since a session explores once,
    and if the budget pays it; the others must be on the logger's own path. V_k is the
    loss if the session ended after k questions, known since the true class is, and V_T
    is the loss. For the spend V_k is what was spent, at least what the plan costs. A
    case's doubly robust figure is

        V_0 + sum over k = 1 .. C of W_k (V_k - V_(k-1)),

    the augmented estimator for monotone missing data (Robins, Rotnitzky and Zhao 1994)
    and the sequential one of Jiang and Li (2016, eq. 9). Where the log can have all
    answers it is unbiased if chances are those that were logged, whatever V is. Where
    it can't, it rests on V alone, and `estimate_policy` gives no verdict. The label was
    not chosen by the log, so that V may use it; Dudik, Langford and Li (2011) have a
    regression there.
    """
    n_cases = len(trails)
    weights, ends = np.zeros(n_cases), np.zeros((n_cases, len(MEASURES)))
    robust, supports = np.zeros_like(ends), np.zeros((n_cases, len(SUPPORTS)))
    explored, n_explored = np.zeros((n_cases, 2)), np.zeros(n_cases)
    plans: dict[int | None, int] = {}
    for row, trail in enumerate(trails):
        if trail.budget not in plans:
            asked = outline(ensemble, trail.budget, policy)
            plans[trail.budget] = sum(one.price for one in asked)
        terms = ReplayTerms(trail.budget, policy, seed, row)
        played = replay(ensemble, trail.case, terms)
        losses = measure_questions(played, trail.class_idx, plans[trail.budget])
        needs = list_needs(played)
        steps = weigh_questions(ensemble, needs, trail)[: len(played.asked)]
        robust[row] = losses[0] + steps @ np.diff(losses, axis=0)
        if played.is_supported:
            weights[row] = steps[-1] if steps.size else 1.0
            ends[row] = losses[-1]
        found = find_support(ensemble, needs, played, trail)
        supports[row, SUPPORTS.index(found.kind)] = found.weight
        explored[row, 0 if played.is_supported else 1] = found.explored
        n_explored[row] = found.weight * found.chance
    return JudgedCases(weights, ends, robust, supports, explored, n_explored)


def measure_questions(played: Replay, class_idx: int, plan: int) -> FloatArray:
    """Return the measures if a replay ended after each question; (1 + n, n_measures).

    `plan` is what the whole session should spend, in micro-units.
    """
    steps = np.empty((len(played.states), len(MEASURES)))
    for place, state in enumerate(played.states):
        found = machine.forecast(played.ensemble, state)
        chance = max(found.probabilities[class_idx], LEAST_CHANCE)
        steps[place] = found.label != class_idx, -np.log(chance), max(state.spent, plan)
    if played.is_supported:
        steps[-1, -1] = played.spent
    return steps


def estimate_policy(judged: JudgedCases) -> PolicyEstimate:
    """Return a policy's figures from its logged cases, with 95 % intervals.

    There are two cases or more. Intervals are normal ones: of means of the cases'
    figures, and of a ratio by its linear part (Hajek). They are wrong where few cases
    carry most of the weight, or where the log can't have the answers; `lack` says so.

    Notes
    -----
    A case that needs an answer by exploration may need a second one, which no session
    can bring. Whether it does is seen only where the first one was explored. So the
    share of such cases is estimated from these, by the ratio of their weights (Hajek).
    The mean of `weights`, 1 with support, would tell it less surely: it varies with
    how many cases happened to explore, and this ratio does not.
    """
    weights, n_cases = judged.weights, len(judged.weights)
    total = weights.sum()
    n_effective = float(total**2 / (weights @ weights)) if total else 0.0
    shares = judged.supports.sum(axis=0) / max(judged.supports.sum(), 1.0)
    explored = judged.explored.sum(axis=0)
    in_vain = float(shares[1] * explored[1] / max(explored.sum(), LEAST_CHANCE))
    n_explored = float(judged.n_explored.sum())
    means = (weights @ judged.ends) / max(total, LEAST_CHANCE)
    parts = weights[:, None] * (judged.ends - means) * (n_cases / max(total, 1e-9))
    lack: Lack | None = None
    if shares[2] > MOST_UNSUPPORTED:
        lack = "no_support"
    elif shares[1] > MOST_UNEXPLORED and n_explored < LEAST_EXPLORED:
        lack = "few_explored"
    elif shares[2] + in_vain > MOST_UNSUPPORTED:
        lack = "no_support"
    elif n_effective < LEAST_EFFECTIVE:
        lack = "few_effective"
    return PolicyEstimate(
        weighted=estimate_means(weights[:, None] * judged.ends),
        normalised=estimate_means(means + parts),
        robust=estimate_means(judged.robust),
        n_cases=n_cases,
        n_effective=n_effective,
        support=(
            float(shares[0]),
            float(shares[1]) - in_vain,
            float(shares[2]) + in_vain,
        ),
        n_explored=n_explored,
        lack=lack,
    )


def estimate_gaps(judged: JudgedCases, other: JudgedCases) -> tuple[Estimate, ...]:
    """Return the first policy's doubly robust figures minus the other's, paired."""
    return estimate_means(judged.robust - other.robust)


def estimate_means(figures: FloatArray) -> tuple[Estimate, ...]:
    """Return the mean of each column with its normal 95 % interval; (n_cases, n)."""
    means = figures.mean(axis=0)
    errors = figures.std(axis=0, ddof=1) / np.sqrt(len(figures))
    return tuple(
        Estimate(mean, (mean - QUANTILE * error, mean + QUANTILE * error))
        for mean, error in zip(means.tolist(), errors.tolist(), strict=True)
    )
