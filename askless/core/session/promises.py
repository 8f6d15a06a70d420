"""Make the question that is asked next, with what is promised of its answer."""

from collections.abc import Sequence

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.catalogue.catalogue import NO_GROUP
from askless.core.catalogue.prices import Paid, buy
from askless.core.model.ensemble import Ensemble
from askless.core.model.measured import MeasuredErrors
from askless.core.session.answers import list_revealed
from askless.core.session.policy import Policy
from askless.core.session.position import Position, shared_once
from askless.core.session.state import Aim, Promise, Question


def choose_measured_errors(
    ensemble: Ensemble, policy: str, budget: int | None, aim: Aim | None
) -> MeasuredErrors | None:
    """Return the errors that were measured on sessions as these; None: on none.

    The curve is one of sessions without an aim, asked by the policy of the budget and
    spending all of it; `budget` is what a session spends at most.
    """
    is_measured = aim is None and policy == ensemble.policy_at(budget)
    return ensemble.measured if is_measured else None


def make_question(
    policy: Policy, position: Position, number: int, *, explores: bool = False
) -> Question:
    """Return the question for the feature that a session asks next.

    `number` counts the session's questions from 1.
    """
    ensemble, feature_idx = position.ensemble, position.state.next_feature_idx
    assert feature_idx is not None, "there is a question"
    group_idx = int(ensemble.catalogue.group_idxs[feature_idx])
    if not explores and feature_idx not in policy.list_askable(position):
        # It is beyond what is worth spending.
        position = position.beyond
    starts, _ = ensemble.readers
    prices = position.prices.tolist()
    askable = policy.list_askable(position)
    revealed = list_revealed(ensemble.catalogue, position.state, feature_idx)
    empty_chance, expected_price = expect_charge(position, feature_idx)
    return Question(
        number=number,
        feature_idx=feature_idx,
        feature_idxs=revealed,
        price=prices[feature_idx],
        is_group_paid=group_idx != NO_GROUP
        and bool(position.case.is_group_paid[group_idx]),
        n_hypotheses=int(starts[feature_idx + 1] - starts[feature_idx])
        if policy.has_votes
        else None,
        # It is not in the policy's plan.
        open_share=0.0 if explores else policy.open_share(position, feature_idx),
        alternatives=tuple(
            [(idx, prices[idx]) for idx in askable if idx != feature_idx]
        ),
        promise=None if explores else make_promise(policy, position, revealed),
        is_outside_rules=not explores and policy.is_outside_rules(position),
        explores=explores,
        empty_chance=empty_chance,
        expected_price=expected_price,
    )


def make_promise(
    policy: Policy, position: Position, revealed: Sequence[int]
) -> Promise | None:
    """Return the promise before a question is answered; None: nothing is promised.

    `revealed` are the features that the answer makes known.

    Notes
    -----
    With E(b) the error of the model's curve under the largest budget not above b, the
    error at the end is E(limit), the same in the whole session; the limit is the part
    of the budget that the session spends (`compute_limit`). The error of a state is
    E(p), p the price of what its prediction reads, all bought anew. A value known at
    the start counts at its price, and adds it to the limit, if it belongs to the
    preferred panel that is known whole. An error is never below the one that is
    promised for later. Nothing is promised where something that such sessions may buy
    came without a value: rows that were measured answer everything.
    """
    state, ensemble = position.state, position.ensemble
    budget = position.limit
    measured = choose_measured_errors(ensemble, policy.name, budget, state.aim)
    if measured is None or policy.lacks_any(position):
        return None
    left = policy.plan_left(position)
    value = price_read(policy, position)
    if budget is not None and state.known:
        budget = max(budget, value + left.spend)
    at_end = measured.rate_at(budget)
    after = at_end
    if left.most > 1:
        after = max(at_end, measured.rate_at(price_read(policy, position, revealed)))
    now = max(at_end, measured.rate_at(value))
    return Promise(
        error_now=now,
        error_after=min(after, now),
        error_at_end=at_end,
        questions_left=(left.least, left.most),
        spend_left=left.spend,
    )


def price_read(policy: Policy, position: Position, revealed: Sequence[int] = ()) -> int:
    """Return the price of what a prediction reads, once more is known; micro-units."""
    is_known = policy.mark_known(position).copy()
    is_known[list(revealed)] = True
    is_read = policy.mark_read(position, is_known)
    ladder, given = position.ensemble.panels, position.state.known
    if ladder is not None and given:
        whole = ladder.panels[ladder.known_panel(is_known)].feature_idxs
        is_read[[idx for idx in given if idx not in whole]] = False
    read = np.flatnonzero(is_read)
    return buy(position.ensemble.catalogue, Paid(), read.tolist())[0]


@shared_once
def expect_empty(position: Position) -> FloatArray | None:
    """Return the chance that each feature's offer comes back empty; (n_features,).

    It depends on which offers came back empty and which with a value. None: training
    saw no empty ones.
    """
    ladder = position.ensemble.panels
    if ladder is None or ladder.emptiness is None:
        return None
    catalogue, outcomes = position.ensemble.catalogue, position.state.outcomes
    offer_idxs, n_offers = catalogue.offer_idxs, len(catalogue.offers)
    is_empty = np.ones(n_offers, np.bool_)
    is_empty[offer_idxs[~position.is_empty]] = False
    is_asked = is_empty.copy()
    is_asked[offer_idxs[[outcome == "value" for outcome in outcomes]]] = True
    expected = ladder.emptiness.expect(catalogue, is_empty[None], is_asked)
    chances: FloatArray = expected[0]
    return chances


def expect_charge(position: Position, feature_idx: int) -> tuple[float | None, int]:
    """Return the chance that an open feature's offer is empty, and its mean charge.

    The chance is None where it is not known. The charge is in micro-units; an empty
    answer costs nothing if it is billed by answer.
    """
    empty, price = expect_empty(position), int(position.prices[feature_idx])
    if empty is None:
        return None, price
    chance = float(empty[feature_idx])
    if position.ensemble.catalogue.is_per_call[feature_idx]:
        return chance, price
    return chance, round(price * (1.0 - chance))
