"""A session as a state machine: State -> State, pure.

Replayable from (ensemble, policy, budget, seed, known values, answers in order).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from core.errors import AnswerError, ClosedError, OverBudgetError, Refusal
from core.model.ensemble import Ensemble
from core.session import forecasts
from core.session.arrays import paid_by, session_arrays
from core.session.policies import POLICIES
from core.session.policies.ordered import find_plan
from core.session.policies.waiting import find_waiting
from core.session.state import (
    Answer,
    Charge,
    Forecast,
    Outcome,
    Question,
    State,
    StopReason,
    StopRule,
)
from core.session.stop_rules import is_certain, is_confident
from core.table.catalogue import NO_GROUP
from core.table.prices import price

CHARGED_OUTCOMES = ("value", "ordered")
FINAL_REASONS = ("client_stopped", "expired")


def start(
    ensemble: Ensemble,
    budget: int | None,
    seed: int = 0,
    known: Mapping[int, float] | None = None,
    policy: str | None = None,
    stop: StopRule | None = None,
    stream: int = 0,
) -> State:
    """Open a session.

    Parameters
    ----------
    ensemble : Ensemble
    budget : int or None
        Most that may be charged, in micro-units; None: unlimited.
    seed, stream : int
        Key of the policy `sample`, 0 to 2**64 - 1. `evaluate` gives row i stream i.
    known : mapping of int to float, optional
        Values known beforehand by feature; free, and they pay no fee.
    policy : str, optional
        `ordered`, `sample`, or of a cascade `cascade`; that of the ensemble's
        algorithm by default.
    stop : StopRule, optional

    Returns
    -------
    State
    """
    values = [math.nan] * len(ensemble.catalogue.features)
    outcomes: list[Outcome | str | None] = [None] * len(values)
    for feature_idx, value in (known or {}).items():
        values[feature_idx] = value
        outcomes[feature_idx] = "known"
    state = State(
        policy=policy or ensemble.policy,
        budget=budget,
        seed=seed,
        stream=stream,
        stop=stop or StopRule(),
        outcomes=tuple(outcomes),  # type: ignore[arg-type]  # "known" is one of them
        values=tuple(values),
        known=tuple(sorted(known or {})),
    )
    return advance(ensemble, state)


def observe(
    ensemble: Ensemble,
    state: State,
    feature_idx: int,
    outcome: Outcome,
    value: float | None = None,
) -> State:
    """Take an answer, charge it, and find the next question.

    A feature is charged at most once, on its first `value` or `ordered`, at the price
    of that moment. The first charged member of a bundle pays its price; its members
    without an answer become `ordered` at 0. The same answer again changes nothing.
    Any feature may be answered, not only the one asked.

    Parameters
    ----------
    ensemble : Ensemble
    state : State
    feature_idx : int
    outcome : {"value", "ordered", "unavailable", "refused", "unknown"}
    value : float, optional
        With `value` only; as in `Dataset.values`, `UNSEEN` for a category that
        training did not see.

    Returns
    -------
    State

    Raises
    ------
    AnswerError
        A value without the outcome `value`, or the other way round.
    OverBudgetError
        The price exceeds what remains.
    ClosedError
        The session takes no such answer any more.
    """
    name = ensemble.catalogue.features[feature_idx].name
    if (outcome == "value") != (value is not None):
        rule = "a value is given exactly when the outcome is value"
        raise AnswerError([Refusal(name, rule, f"outcome {outcome}")])
    before = state.outcomes[feature_idx]
    is_same_outcome = before == outcome or (before == "known" and outcome == "value")
    if is_same_outcome and (value is None or value == state.values[feature_idx]):
        return state
    if is_closed(state) or (state.is_ended and before is None):
        raise ClosedError(f"{name}: the session takes no more answers")
    charges = find_charges(ensemble, state, feature_idx, outcome)
    amount = charges[0].amount if charges else 0
    if state.remaining is not None and amount > state.remaining:
        raise OverBudgetError(name, amount, state.remaining)
    outcomes, values = list(state.outcomes), list(state.values)
    outcomes[feature_idx] = outcome
    values[feature_idx] = math.nan if value is None else value
    for charge in charges[1:]:
        outcomes[charge.feature_idx] = "ordered"
    answer = Answer(feature_idx, outcome, value, amount)
    answered = replace(
        state,
        outcomes=tuple(outcomes),
        values=tuple(values),
        charges=state.charges + charges,
        history=(*state.history, answer),
    )
    return advance(ensemble, answered)


def stop(state: State, reason: StopReason = "client_stopped") -> State:
    """End a session from outside (`client_stopped` or `expired`).

    One that has ended already keeps its reason.
    """
    assert reason in FINAL_REASONS
    if state.is_ended:
        return state
    return replace(state, next_feature_idx=None, stop_reason=reason, is_ended=True)


def is_closed(state: State) -> bool:
    """Whether a session is over: ended, and no result pending."""
    return state.is_ended and not state.pending


def find_charges(
    ensemble: Ensemble, state: State, feature_idx: int, outcome: Outcome
) -> tuple[Charge, ...]:
    """Find what an answer charges: the feature first, then what its bundle reveals."""
    catalogue = ensemble.catalogue
    paid = paid_by(catalogue, state)
    if (
        outcome not in CHARGED_OUTCOMES
        or feature_idx in paid.feature_idxs
        or feature_idx in state.known
    ):
        return ()
    own = Charge(feature_idx, price(catalogue, paid, feature_idx))
    others = bundle_members(ensemble, state, feature_idx)
    return (own, *(Charge(idx, 0) for idx in others))


def bundle_members(
    ensemble: Ensemble, state: State, feature_idx: int
) -> tuple[int, ...]:
    """Other members of the feature's bundle that have no answer yet."""
    group_idx = int(ensemble.catalogue.group_idxs[feature_idx])
    if group_idx == NO_GROUP or not ensemble.catalogue.is_bundle[group_idx]:
        return ()
    members = np.flatnonzero(ensemble.catalogue.group_idxs == group_idx)
    return tuple(
        int(idx)
        for idx in members
        if idx != feature_idx and state.outcomes[idx] is None
    )


def count_questions(ensemble: Ensemble, state: State) -> int:
    """How many questions were answered; the members of a bundle are one question."""
    group_idxs, is_bundle = ensemble.catalogue.group_idxs, ensemble.catalogue.is_bundle
    asked = set()
    for answer in state.history:
        group_idx = int(group_idxs[answer.feature_idx])
        is_member = group_idx != NO_GROUP and is_bundle[group_idx]
        asked.add(("group", group_idx) if is_member else ("", answer.feature_idx))
    return len(asked)


def advance(ensemble: Ensemble, state: State) -> State:
    """Find what comes next: a question, an advice to stop, or the end."""
    if state.stop_reason in FINAL_REASONS:
        return state
    arrays = session_arrays(ensemble, state)
    step = POLICIES[state.policy](ensemble, state, arrays)
    is_sure = state.stop.certain and is_certain(ensemble, state, arrays)
    moved = replace(
        state,
        n_draws=step.n_draws,
        next_feature_idx=step.feature_idx,
        stop_reason=step.reason,
        is_ended=step.feature_idx is None,
        is_decided=is_sure or step.reason == "all_known",
    )
    if moved.is_ended:
        return moved
    most = state.stop.max_questions
    if most is not None and count_questions(ensemble, state) >= most:
        return replace(
            moved, next_feature_idx=None, stop_reason="max_questions", is_ended=True
        )
    if is_sure:
        return replace(moved, stop_reason="certain")
    if is_confident(ensemble, moved, arrays):
        return replace(moved, stop_reason="confident")
    return moved


def forecast(ensemble: Ensemble, state: State) -> Forecast:
    """Predict from what a session knows; see `core.session.forecasts.forecast`."""
    return forecasts.forecast(ensemble, state, session_arrays(ensemble, state))


def next_question(ensemble: Ensemble, state: State) -> Question | None:
    """Say what is asked next and at which price; None once a session has ended.

    After an advice to stop (`certain`, `confident`) it is what would be asked if one
    goes on.
    """
    feature_idx = state.next_feature_idx
    if feature_idx is None:
        return None
    catalogue = ensemble.catalogue
    arrays = session_arrays(ensemble, state)
    group_idx = int(catalogue.group_idxs[feature_idx])
    waiting = find_waiting(ensemble, arrays)
    waiting_for = waiting.feature_idxs
    is_open = waiting_for >= 0
    if state.policy != "sample":
        # The plan, and the hypothesis after it if it is the one that asks.
        length = find_plan(ensemble, arrays).length
        is_open[max(length, int(np.argmax(waiting_for == feature_idx)) + 1) :] = False
    alphas = ensemble.alpha_array
    is_payable = (waiting_for >= 0) & waiting.is_payable
    others = dict.fromkeys(waiting_for[is_payable].tolist())
    starts, _ = ensemble.readers
    prices = arrays.prices.tolist()
    return Question(
        number=count_questions(ensemble, state) + 1,
        feature_idx=feature_idx,
        feature_idxs=(feature_idx, *bundle_members(ensemble, state, feature_idx)),
        price=prices[feature_idx],
        is_group_paid=group_idx != NO_GROUP and bool(arrays.is_group_paid[group_idx]),
        n_hypotheses=int(starts[feature_idx + 1] - starts[feature_idx]),
        share=float(
            alphas[is_open & (waiting_for == feature_idx)].sum() / alphas[is_open].sum()
        ),
        alternatives=tuple((idx, prices[idx]) for idx in others if idx != feature_idx),
    )
