"""How logged cases came about, and how likely it was that they have an answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.model.ensemble import Ensemble
from askless.core.session.answers import CHARGED_OUTCOMES, list_revealed
from askless.core.session.state import State
from askless.core.simulation.replays import LoggedCase, Replay, log_case
from askless.core.table.prices import Paid, pay, price

#: Stands for a feature that a catalogue lacks.
FOREIGN = -1

Support = Literal["log", "exploration", "none"]
SUPPORTS: tuple[Support, ...] = ("log", "exploration", "none")


@dataclass(frozen=True, slots=True)
class LoggedDraw:
    """A draw of whether to explore, as it was logged; money in micro-units.

    Features are by the catalogue of the ensemble that is judged, or `FOREIGN`.
    """

    #: how many of the features asked had an answer
    n_asked: int
    remaining: int | None
    #: what the logging policy itself would ask; None: it would advise to stop
    policy_idx: int | None
    price: int
    #: how many other purchases could have been drawn
    n_open: int
    #: None: the logging policy went on
    drawn_idx: int | None


@dataclass(frozen=True)
class CaseTrail:
    """How a logged case was asked, and its true class, by one ensemble's catalogue."""

    case: LoggedCase
    #: in order, known ones first; `FOREIGN` where the catalogue lacks a feature
    asked: tuple[int, ...]
    draws: tuple[LoggedDraw, ...]
    #: chance to explore before each question
    explore: float
    #: in micro-units; None: unlimited
    budget: int | None
    class_idx: int


@dataclass(frozen=True, slots=True)
class CaseSupport:
    """How a policy finds its answers in a logged case; see `find_support`."""

    kind: Support
    #: of the case, by the draws before the one that decides
    weight: float
    #: that the draw brings the answer that is due
    chance: float = 0.0
    #: weight with that draw, if it brought the answer
    explored: float = 0.0


def trail_case(state: State, class_idx: int) -> CaseTrail:
    """Return how a session was asked, by its own catalogue."""
    asked = order_asked(state, len(state.history))
    case, rate, budget = log_case(state), state.explore, state.budget
    return CaseTrail(case, asked, list_draws(state), rate, budget, class_idx)


def list_draws(state: State) -> tuple[LoggedDraw, ...]:
    """Return a session's draws of whether to explore, by its own catalogue."""
    return tuple(
        LoggedDraw(
            n_asked=len(order_asked(state, one.n_answers)),
            remaining=one.remaining,
            policy_idx=one.policy_idx,
            price=one.price,
            n_open=one.n_open,
            drawn_idx=one.feature_idx,
        )
        for one in state.explorations
    )


def order_asked(state: State, n_answers: int) -> tuple[int, ...]:
    """Return the features of the first answers, each once, after the known ones."""
    answered = (one.feature_idx for one in state.history[:n_answers])
    return tuple(dict.fromkeys((*state.known, *answered)))


def list_needs(played: Replay) -> list[frozenset[int]]:
    """Return the features that each question reveals, the one not answered last."""
    catalogue = played.ensemble.catalogue
    needs = [
        frozenset(list_revealed(catalogue, state, idx))
        for idx, state in zip(played.asked, played.states, strict=False)
    ]
    state = played.states[-1]
    if not played.is_supported:
        idx = state.next_feature_idx
        assert idx is not None, "something was to be asked"
        needs.append(frozenset(list_revealed(catalogue, state, idx)))
    return needs


def weigh_questions(
    ensemble: Ensemble, needs: Sequence[frozenset[int]], trail: CaseTrail
) -> FloatArray:
    """Return the weight W_k of each question of a policy; (n_needs,).

    `needs` are the features that each question reveals.

    Notes
    -----
    Think of a second logger that draws otherwise: it goes on as long as the policy's
    next open question can still be paid after the logger's own one, and else, or where
    it would stop, it asks for that question at once (`is_due`). It always gets the
    answers if they can be got. W_k is the ratio of its chances to those logged, over
    the draws made before the first k answers were there (Precup, Sutton and Singh
    2000, per-decision weights): 1 / (1 - explore) where both go on, n_open / explore
    where the logger drew what was due, 0 otherwise. What the draws of `sample` did is
    part of the case.
    """
    weights = np.ones(len(needs))
    for draw in trail.draws:
        n_done = count_done(needs, list_answered(ensemble, draw, trail))
        if n_done == len(needs):
            break
        wanted = needs[n_done]
        ratio = 0.0
        if is_due(ensemble, wanted, draw, trail):
            if draw.drawn_idx in wanted:
                ratio = draw.n_open / trail.explore
        elif draw.drawn_idx is None:
            ratio = 1.0 / (1.0 - trail.explore)
        weights[n_done:] *= ratio
    return weights


def list_answered(ensemble: Ensemble, draw: LoggedDraw, trail: CaseTrail) -> set[int]:
    """Return the features that had an answer, or were ordered, before a draw.

    The members of a bundle came with the first one that was paid.
    """
    catalogue, answers = ensemble.catalogue, trail.case.answers
    paid_groups = find_paid_at(ensemble, draw, trail).group_idxs
    members = (
        idx
        for idx in answers
        if catalogue.is_bundled[idx] and catalogue.group_idxs[idx] in paid_groups
    )
    return {*trail.case.known, *trail.asked[: draw.n_asked], *members}


def count_done(needs: Sequence[frozenset[int]], have: set[int]) -> int:
    """Return how many questions are answered before the first that isn't."""
    for n_done, wanted in enumerate(needs):
        if not wanted <= have:
            return n_done
    return len(needs)


def is_due(
    ensemble: Ensemble, wanted: frozenset[int], draw: LoggedDraw, trail: CaseTrail
) -> bool:
    """Return whether a purchase must be made now, or can't be paid any more."""
    if draw.policy_idx is None:
        return True
    if draw.policy_idx in wanted or draw.remaining is None:
        return False
    paid = find_paid_at(ensemble, draw, trail)
    if draw.policy_idx != FOREIGN:
        paid = pay(ensemble.catalogue, paid, [draw.policy_idx])
    return price(ensemble.catalogue, paid, min(wanted)) > draw.remaining - draw.price


def find_paid_at(ensemble: Ensemble, draw: LoggedDraw, trail: CaseTrail) -> Paid:
    """Return what a logged case had paid before a draw, be it reversed since.

    What was charged counts, also where the result never came, and what has a value.
    """
    answers = trail.case.answers
    asked = (answers[idx] for idx in trail.asked[: draw.n_asked] if idx in answers)
    paid = [
        one.feature_idx
        for one in asked
        if one.charged or one.outcome in CHARGED_OUTCOMES
    ]
    return pay(ensemble.catalogue, Paid(), paid)


def find_support(
    ensemble: Ensemble,
    needs: Sequence[frozenset[int]],
    played: Replay,
    trail: CaseTrail,
) -> CaseSupport:
    """Return how the second logger of `weigh_questions` finds its answers in a case.

    The first draw at which a question is due decides. What is due by then, and can be
    paid, counts as `exploration`. Only a case that explored it shows whether it was
    enough: a session explores once, so that a second answer which the logger's own path
    lacks is lacking for good. `explored` has the weight of such a case.
    """
    share = 1.0
    for draw in trail.draws:
        n_done = count_done(needs, list_answered(ensemble, draw, trail))
        if n_done == len(needs):
            break
        wanted = needs[n_done]
        if is_due(ensemble, wanted, draw, trail):
            paid = find_paid_at(ensemble, draw, trail)
            amount = price(ensemble.catalogue, paid, min(wanted))
            if draw.remaining is not None and amount > draw.remaining:
                return CaseSupport("none", share)
            chance = trail.explore / draw.n_open
            explored = share / chance if draw.drawn_idx in wanted else 0.0
            return CaseSupport("exploration", share, chance, explored)
        share *= 0.0 if draw.drawn_idx is not None else 1.0 / (1.0 - trail.explore)
    return CaseSupport("log" if played.is_supported else "none", share)
