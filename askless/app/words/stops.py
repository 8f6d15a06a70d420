"""Reasons why a session asks no more, in words with its amounts."""

from dataclasses import replace

from askless.app.words.savings import describe_rest
from askless.app.words.trust import lacks_any
from askless.app.words.wording import money
from askless.core.model.ensemble import Ensemble
from askless.core.session.machine import decide_next_step, next_question
from askless.core.session.policies import POLICIES
from askless.core.session.position import Position
from askless.core.session.state import State
from askless.core.session.uses import list_unanswered

# Each reason that needs no amount, as a clause: it may stand after a colon.
STOP_WORDS = {
    "certain": "no answer of the plan at this budget can change the prediction",
    "confident": "the prediction is as certain as was asked for",
    "certified": "the answer is as likely to stay as the certificate asks",
    "rejected_early": "a stage of the cascade has rejected the case",
    "max_questions": "the agreed number of questions is reached",
    "client_stopped": "stopped on request",
    "expired": "the session expired",
    "out_of_time": "the deadline of the run was reached",
    "not_worth_it": "what would be asked next saves less error than it costs",
}


def describe_stop(ensemble: Ensemble, state: State) -> str:
    """Return why a session asks no more, as a clause; "" where it gives no reason."""
    reason = state.stop_reason
    if reason == "all_known":
        done = "answered or ordered" if state.pending else "answered"
        return f"everything that the model needs for this case is {done}"
    if reason == "budget_exhausted":
        return describe_exhausted(ensemble, state)
    if reason == "plan_complete":
        return describe_complete(ensemble, state)
    if reason == "not_worth_it":
        return describe_not_worth(ensemble, state)
    return "" if reason is None else STOP_WORDS[reason]


def describe_not_worth(ensemble: Ensemble, state: State) -> str:
    """Return what going on would cost, and that it does not pay."""
    if state.is_ended:
        # Of a session that has ended, what would have been asked next.
        state = decide_next_step(ensemble, replace(state, is_ended=False))
    position = Position.of(ensemble, state)
    if position.beyond is position:
        return STOP_WORDS["not_worth_it"]
    question, knee = next_question(ensemble, state), ensemble.knee_at(state.budget)
    assert question is not None, "the reason comes with what would be asked"
    assert knee is not None, "else all of the budget is worth it"
    unit = ensemble.catalogue.cost_unit
    price, spend = question.price, price_rest(state, position)
    words = "" if price == spend else f", {money(price, unit)} for the next question"
    is_whole_rest = state.budget == knee.budget and state.spent <= (position.limit or 0)
    if not is_whole_rest or lacks_any(ensemble, state):
        # The gain was measured between other amounts, or of rows that answer all.
        knee = replace(knee, gain=None)
    gain = describe_rest(knee, unit, has_costs=ensemble.error_costs is not None)
    return f"going on is not worth it: {money(spend, unit)} more{words}, {gain}"


def price_rest(state: State, position: Position) -> int:
    """Return the most that the rest of the budget would buy; micro-units."""
    return POLICIES[state.policy].plan_left(position.beyond).spend


def describe_exhausted(ensemble: Ensemble, state: State) -> str:
    """Return that no open feature which the model reads costs what remains or less."""
    if not state.remaining:
        return (
            "nothing is left of the budget, and everything that could still be asked "
            "costs something"
        )
    left = money(state.remaining, ensemble.catalogue.cost_unit)
    return f"everything that could still be asked costs more than the remaining {left}"


def describe_complete(ensemble: Ensemble, state: State) -> str:
    """Return why nothing is asked although an open feature could be paid.

    Votes are bought in an order, of which the next one is too dear. Panels leave what
    does not help; whether something dearer does they don't say.
    """
    if state.remaining is None:
        return "nothing that could still be asked would lower the expected error"
    left = money(state.remaining, ensemble.catalogue.cost_unit)
    if POLICIES[state.policy].has_votes:
        return (
            f"what would be bought next costs more than the remaining {left}, but "
            "something else is still affordable"
        )
    is_affordable = Position.of(ensemble, state).beyond.is_affordable
    is_whole = all(is_affordable[idx] for idx in list_unanswered(ensemble, state))
    dearer = "" if is_whole else "; something dearer might"
    return (
        f"nothing that could still be asked for the remaining {left} would lower the "
        f"expected error{dearer}"
    )


def to_sentence(clause: str) -> str:
    """Return a clause with a capital and a full stop; "" stays as it is."""
    return f"{clause[:1].upper()}{clause[1:]}." if clause else ""
