"""What holds for every session, whatever the script of its answers."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.errors import AnswerError, ClosedError, OverBudgetError
from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from askless.core.session.state import Answer, State, StopRule
from tests import strategies
from tests.sessions import observe, observe_all

IN_VAIN = ("unavailable", "refused", "unknown")
SCRIPTS = st.lists(
    st.tuples(
        st.booleans(),
        st.integers(0, 5),
        st.sampled_from(("value", "value", "ordered", *IN_VAIN)),
        st.sampled_from((0.0, 1.0)),
    ),
    max_size=12,
)


def play(ensemble: Ensemble, state: State, script) -> list[State]:
    """Every state on the way; an answer that is refused is passed over."""
    states = [state]
    for is_as_asked, idx, outcome, value in script:
        feature_idx = idx % len(ensemble.catalogue.features)
        if is_as_asked and states[-1].next_feature_idx is not None:
            feature_idx = states[-1].next_feature_idx
        given_value = value if outcome == "value" else None
        try:
            after = observe(ensemble, states[-1], feature_idx, outcome, given_value)
        except (AnswerError, OverBudgetError, ClosedError):
            continue
        states.append(after)
    return states


@st.composite
def openings(draw) -> tuple[Ensemble, dict]:
    """An ensemble, and what a session on it starts from."""
    ensemble = draw(strategies.stump_ensembles())
    idxs = st.integers(0, len(ensemble.catalogue.features) - 1)
    rule = StopRule(
        certain=draw(st.booleans()),
        confidence=draw(st.none() | st.just(0.75)),
        max_questions=draw(st.none() | st.integers(0, 4)),
    )
    return ensemble, {
        "budget": draw(strategies.budgets()),
        "seed": draw(st.integers(0, 2**64 - 1)),
        "known": draw(st.dictionaries(idxs, st.sampled_from((0.0, 1.0)), max_size=2)),
        "stop": rule,
    }


@st.composite
def played(draw) -> tuple[Ensemble, list[State]]:
    """An ensemble, and every state of a session on it."""
    ensemble, fields = draw(openings())
    return ensemble, play(ensemble, machine.start(ensemble, **fields), draw(SCRIPTS))


@given(played())
def test_charges_are_counted_once_and_only_the_client_ends_a_session(session):
    _, states = session
    state = states[-1]

    assert not any(state.is_ended for state in states)
    assert all(state.remaining is None or state.remaining >= 0 for state in states)
    assert state.spent == sum(charge.amount for charge in state.charges)
    assert state.spent == sum(answer.charged for answer in state.history)
    idxs = [charge.feature_idx for charge in state.charges]
    assert len(idxs) == len(set(idxs))


@given(played())
def test_question_is_open_and_can_be_paid_at_its_price(session):
    ensemble, states = session

    for state in states:
        question = machine.next_question(ensemble, state)
        if question is not None:
            after = observe(ensemble, state, question.feature_idx, "value", 1.0)
            assert state.outcomes[question.feature_idx] is None
            assert state.remaining is None or question.price <= state.remaining
            assert after.history[-1].charged == question.price


@given(openings(), SCRIPTS)
def test_replayed_history_gives_the_same_state(opening, script):
    ensemble, fields = opening
    state = play(ensemble, machine.start(ensemble, **fields), script)[-1]

    replayed = observe_all(
        ensemble,
        machine.start(ensemble, **fields),
        *((a.feature_idx, a.outcome, a.value) for a in state.history),
    )

    assert repr(replayed) == repr(state)
    assert machine.forecast(ensemble, replayed) == machine.forecast(ensemble, state)


def scaled(ensemble: Ensemble, factor: int) -> Ensemble:
    catalogue = ensemble.catalogue
    features = tuple(replace(f, cost=factor * f.cost) for f in catalogue.features)
    groups = tuple(
        replace(g, fee=factor * g.fee)
        if g.price is None
        else replace(g, price=factor * g.price)
        for g in catalogue.groups
    )
    return replace(
        ensemble, catalogue=replace(catalogue, features=features, groups=groups)
    )


@given(openings(), SCRIPTS, st.integers(2, 1000))
def test_scaling_costs_and_budget_together_changes_nothing(opening, script, factor):
    ensemble, fields = opening
    budget = fields["budget"]
    larger = {**fields, "budget": None if budget is None else factor * budget}

    states = play(ensemble, machine.start(ensemble, **fields), script)
    dear = scaled(ensemble, factor)
    dear_states = play(dear, machine.start(dear, **larger), script)

    assert [factor * state.spent for state in states] == [s.spent for s in dear_states]
    assert [(s.next_feature_idx, s.stop_reason) for s in states] == [
        (s.next_feature_idx, s.stop_reason) for s in dear_states
    ]
    assert [machine.forecast(ensemble, s) for s in states] == [
        machine.forecast(dear, s) for s in dear_states
    ]


@given(openings(), st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True))
def test_answers_at_once_lead_where_they_lead_one_by_one(opening, idxs):
    ensemble, fields = opening
    state = machine.start(ensemble, **fields)
    idxs = [idx for idx in idxs if idx < len(ensemble.catalogue.features)]
    answers = [Answer(idx, "value", 1.0) for idx in idxs]

    try:
        single = observe_all(ensemble, state, *((idx, "value", 1.0) for idx in idxs))
    except OverBudgetError:
        with pytest.raises(OverBudgetError):
            machine.observe(ensemble, state, answers, is_insistent=True)
        return

    at_once = machine.observe(ensemble, state, answers, is_insistent=True)

    # Whether the second was asked for after the first is not looked at.
    assert single.is_led or not at_once.is_led
    alike = replace(single, is_led=at_once.is_led)
    assert repr(without_chances(at_once)) == repr(without_chances(alike))


def without_chances(state):
    """Return a state whose answers don't say how likely their questions were."""
    history = tuple(replace(question, propensity=None) for question in state.history)
    return replace(state, history=history)
