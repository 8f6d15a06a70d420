"""Take the answers to a session, and charge them."""

import math
from collections.abc import Sequence
from dataclasses import replace

from askless.core.catalogue.catalogue import NO_GROUP, Catalogue
from askless.core.catalogue.prices import Paid, price_feature
from askless.core.errors import AnswerError, OverBudgetError, Refusal
from askless.core.session.state import (
    Answer,
    Charge,
    ChargeKind,
    Outcome,
    Purchase,
    State,
)

CHARGED_OUTCOMES = ("value", "ordered")
KNOWN_RULE = "is known from the start: it can be corrected or ordered"
# So that corrections don't make a session grow without end: all of them are kept.
MAX_TAKEN = 50
TAKEN_RULE = (
    f"was answered {MAX_TAKEN} times, the most that a session keeps: start another one"
)


def is_already_taken(state: State, answer: Answer) -> bool:
    """Return whether a session has exactly this answer already."""
    before = state.outcomes[answer.feature_idx]
    is_same_outcome = before == answer.outcome or (
        before == "known" and answer.outcome == "value"
    )
    # Without a value there is none to compare.
    is_same_value = answer.value in (None, state.values[answer.feature_idx])
    return is_same_outcome and is_same_value


def list_questions(catalogue: Catalogue, history: Sequence[Answer]) -> tuple[int, ...]:
    """Return the feature of each question answered; of a bundle the first one."""
    asked: dict[tuple[bool, int], int] = {}
    for answer in history:
        idx = answer.feature_idx
        is_member = bool(catalogue.is_bundled[idx])
        key = is_member, int(catalogue.group_idxs[idx]) if is_member else idx
        asked.setdefault(key, idx)
    return tuple(asked.values())


def count_questions(catalogue: Catalogue, history: Sequence[Answer]) -> int:
    """Return how many questions were answered; a bundle counts as one."""
    return len(list_questions(catalogue, history))


def is_as_asked(catalogue: Catalogue, asked: State, after: State) -> bool:
    """Return whether the new answers are to the question asked, or pending results.

    A bundle must be answered whole, or be pending.
    """
    answered = {answer.feature_idx for answer in after.history[len(asked.history) :]}
    new = {idx for idx in answered if asked.outcomes[idx] is None}
    if any(asked.outcomes[idx] != "ordered" for idx in answered - new):
        return False
    if not new:
        return True
    feature_idx = asked.next_feature_idx
    if feature_idx is None or asked.pending:
        return False
    revealed = list_revealed(catalogue, asked, feature_idx)
    is_whole = all(after.outcomes[idx] is not None for idx in revealed)
    return is_whole and new <= set(revealed)


def discards_known_value(state: State, feature_idx: int, outcome: Outcome) -> bool:
    """Return whether an outcome would discard a value known from the start."""
    is_known = state.outcomes[feature_idx] == "known"
    return is_known and outcome not in CHARGED_OUTCOMES


def take_answer(catalogue: Catalogue, state: State, answer: Answer) -> State:
    """Take one answer and charge it; raises as `machine.observe` does."""
    feature_idx, outcome = answer.feature_idx, answer.outcome
    name = catalogue.features[feature_idx].name
    if (outcome == "value") != (answer.value is not None):
        rule = "a value is given exactly when the outcome is value"
        raise AnswerError([Refusal(name, rule, f"outcome {outcome}")])
    if discards_known_value(state, feature_idx, outcome):
        raise AnswerError([Refusal(name, KNOWN_RULE, f"outcome {outcome}")])
    charges = list_charges(catalogue, state, answer)
    amount = charges[0].amount if charges else 0
    if state.remaining is not None and amount > state.remaining:
        raise OverBudgetError(name, amount, state.remaining)
    return book_answer(state, answer, charges)


def book_answer(state: State, answer: Answer, charges: tuple[Charge, ...]) -> State:
    """Add an answer and its charges to a session.

    The first charge is that of the answer's feature; the features of the others are
    pending.
    """
    feature_idx, outcome = answer.feature_idx, answer.outcome
    amount = charges[0].amount if charges else 0
    before = state.outcomes[feature_idx]
    outcomes, values = list(state.outcomes), list(state.values)
    is_kept = before in ("known", "ordered") and not math.isnan(values[feature_idx])
    if is_kept and outcome != "value":
        # A value known at the start counts until a result comes, or for good.
        outcomes[feature_idx] = "ordered" if outcome == "ordered" else "known"
    else:
        outcomes[feature_idx] = outcome
        values[feature_idx] = math.nan if answer.value is None else answer.value
    for charge in charges[1:]:
        outcomes[charge.feature_idx] = "ordered"
    return state.change(
        outcomes=tuple(outcomes),
        values=tuple(values),
        charges=state.charges + charges,
        history=(*state.history, replace(answer, charged=amount)),
    )


def apply_answer(catalogue: Catalogue, state: State, answer: Answer) -> State:
    """Take an answer; raise `AnswerError` after `MAX_TAKEN` answers for the feature."""
    feature_idx = answer.feature_idx
    if (
        sum(answer_before.feature_idx == feature_idx for answer_before in state.history)
        >= MAX_TAKEN
    ):
        name = catalogue.features[feature_idx].name
        raise AnswerError([Refusal(name, TAKEN_RULE)])
    return take_answer(catalogue, state, answer)


def give_up_pending(catalogue: Catalogue, state: State) -> State:
    """Answer all pending results with `unknown`; their charges stand."""
    for feature_idx in state.pending:
        state = take_answer(catalogue, state, Answer(feature_idx, "unknown"))
    return state


def list_charges(
    catalogue: Catalogue, state: State, answer: Answer
) -> tuple[Charge, ...]:
    """Return the charges of an answer: its feature, then the rest of its bundle.

    A feature known at the start is charged only when it is ordered. A feature billed by
    call is charged when it is unavailable, too, unless it was charged before.
    """
    feature_idx = answer.feature_idx
    kind: ChargeKind = "charge" if answer.outcome in CHARGED_OUTCOMES else "miss"
    if kind == "miss" and not (
        answer.outcome == "unavailable" and catalogue.is_per_call[feature_idx]
    ):
        return ()
    is_free = feature_idx in state.known and answer.outcome != "ordered"
    kinds = [
        charge.kind for charge in state.charges if charge.feature_idx == feature_idx
    ]
    # A value after a miss is charged: a miss has paid for none.
    if is_free or "charge" in kinds or kind in kinds:
        return ()
    paid = compute_paid(catalogue, state)
    own = Charge(feature_idx, price_feature(catalogue, paid, feature_idx), kind)
    others = bundle_members(catalogue, state, feature_idx)
    return (own, *(Charge(idx, 0) for idx in others))


def book_purchase(catalogue: Catalogue, state: State, purchase: Purchase) -> State:
    """Add a purchase to a session at the seller's amount.

    A value that is known from the start is not discarded for an empty answer.
    """
    feature_idx, amount, kind = purchase.feature_idx, purchase.amount, purchase.kind
    charges: tuple[Charge, ...] = ()
    # A free value is charged 0, so that no correction charges it.
    if amount or (kind == "charge" and purchase.answers):
        charges = (Charge(feature_idx, amount, kind, purchase.provider),)
    if charges and purchase.answers:
        others = bundle_members(catalogue, state, feature_idx)
        # After an empty answer the others have no seller: they were not bought.
        seller = purchase.provider if kind == "charge" else None
        charges += tuple(Charge(idx, 0, provider=seller) for idx in others)
    answers = [
        answer
        for answer in purchase.answers
        if not discards_known_value(state, answer.feature_idx, answer.outcome)
    ]
    if not answers:
        return replace(state, charges=state.charges + charges)
    # The charge stands with the answer for its own feature, if there is one.
    answers.sort(key=lambda answer: answer.feature_idx != feature_idx)
    state = book_answer(state, answers[0], charges)
    for answer in answers[1:]:
        state = book_answer(state, answer, ())
    return state


def compute_paid(catalogue: Catalogue, state: State) -> Paid:
    """Return the features and group fees that a session has paid.

    A group's fee, or the price of a bundle, is paid by the charge that holds it: where
    that one was reversed, the next charge of the group pays it. The state keeps it.
    """
    cached: tuple[Catalogue, Paid] | None = state.__dict__.get("paid")
    if cached is None or cached[0] is not catalogue:
        cached = state.__dict__["paid"] = catalogue, sum_paid(catalogue, state.charges)
    return cached[1]


def sum_paid(catalogue: Catalogue, charges: Sequence[Charge]) -> Paid:
    """Return the features and group fees that charges pay.

    A miss pays the fee of a group, and neither a feature nor a bundle.
    """
    groups = set()
    for charge in charges if catalogue.groups else ():
        group_idx = int(catalogue.group_idxs[charge.feature_idx])
        is_bundle = bool(catalogue.is_bundle[group_idx])
        if group_idx == NO_GROUP or (is_bundle and charge.kind == "miss"):
            continue
        # A charge of less was made when the fee was paid already. A miss of more was
        # charged by a seller at its own price, as a bundle may be.
        whole = catalogue.features[charge.feature_idx].cost + catalogue.fees[group_idx]
        is_sold = charge.provider is not None
        is_more = charge.amount > whole and not (charge.kind == "miss" and is_sold)
        if charge.amount == whole or is_more or (is_bundle and is_sold):
            groups.add(group_idx)
    bought = [charge.feature_idx for charge in charges if charge.kind == "charge"]
    return Paid(frozenset(bought), frozenset(groups))


def bundle_members(
    catalogue: Catalogue, state: State, feature_idx: int
) -> tuple[int, ...]:
    """Return the other open members of a feature's bundle; none without a bundle."""
    if not catalogue.groups:
        return ()
    others = (idx for idx in catalogue.offer_of(feature_idx) if idx != feature_idx)
    return tuple(idx for idx in others if state.outcomes[idx] is None)


def list_revealed(
    catalogue: Catalogue, state: State, feature_idx: int
) -> tuple[int, ...]:
    """Return the features that an answer reveals: also its bundle's open members."""
    return (feature_idx, *bundle_members(catalogue, state, feature_idx))
