"""Sessions share results with those that stand alike, and with no others."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from askless.core.catalogue.price_lists import PriceList
from askless.core.errors import AnswerError, ClosedError, OverBudgetError
from askless.core.model.ensemble import Knee
from askless.core.model.measured import MeasuredErrors
from askless.core.session import machine
from askless.core.session.position import Position
from askless.core.session.state import Aim, Answer, State, StopRule
from askless.core.session.steps import compute_prospect
from askless.core.session.uses import sort_open_features
from tests import strategies
from tests.panels import make_ladder, with_panels
from tests.sessions import BUNDLE, FEE, observe_all, small_ensemble

MEASURED = MeasuredErrors((0, 40, 90, None), (0.5, 0.3, 0.25, 0.2))
OUTCOMES = ("value", "value", "ordered", "unavailable", "refused", "unknown")
STEPS = st.tuples(
    st.sampled_from(("answer", "answer", "answer", "hold", "reverse", "budget")),
    st.integers(0, 5),
    st.sampled_from(OUTCOMES),
    st.sampled_from((0.0, 1.0)),
)


def panelled(**fields):
    plain = small_ensemble([10, 20, 30], **fields)
    ladder = make_ladder(plain, [(0, 1, 2)])
    return replace(plain, panels=ladder, policy="panels", measured=MEASURED)


def move(ensemble, state: State, kind, number, outcome, value) -> State:
    """One step of a session; what is refused changes nothing."""
    idx = number % len(state.values)
    given_value = value if outcome == "value" else None
    try:
        if kind == "hold":
            return machine.hold(ensemble, state, 7 * number)
        if kind == "budget":
            budget = state.spent + state.held + 20 * number
            return machine.change_budget(ensemble, state, budget)
        if kind == "reverse":
            charged = [charge.feature_idx for charge in state.charges]
            if idx not in charged:
                return state
            return machine.reverse(ensemble, state, idx)
        answer = Answer(idx, outcome, given_value)
        return machine.observe(ensemble, state, [answer], is_insistent=True)
    except (AnswerError, ClosedError, OverBudgetError):
        return state


@st.composite
def sessions(draw):
    """An ensemble, and the states of several sessions of it."""
    ensemble = draw(with_panels(strategies.ensembles(max_hypotheses=1)))
    limit = draw(strategies.budgets())
    knees = Knee(0, 0), Knee(1, limit and min(limit, 1)), Knee(None, limit)
    ensemble = replace(ensemble, measured=MEASURED, knees=knees)
    idxs, states = st.integers(0, len(ensemble.catalogue.features) - 1), []
    for _ in range(2):
        known = draw(st.dictionaries(idxs, st.sampled_from((0.0, 1.0)), max_size=2))
        budget = draw(strategies.budgets())
        state = machine.start(ensemble, budget, known=known, policy="panels")
        states.append(state)
        for step in draw(st.lists(STEPS, max_size=8)):
            state = move(ensemble, state, *step)
            states.append(state)
    return ensemble, states


@given(sessions())
def test_what_sessions_share_is_what_each_finds_alone(drawn):
    ensemble, states = drawn

    for state in states:
        # A copy that nobody has asked yet.
        alone = replace(ensemble)
        decided = machine.decide_next_step(alone, state)
        assert decided.next_feature_idx == state.next_feature_idx
        assert decided.stop_reason == state.stop_reason
        question = machine.next_question(ensemble, state)
        assert question == machine.next_question(alone, state)
        found = sort_open_features(ensemble, state)
        assert found == sort_open_features(alone, state)
        for idx in found.offered:
            prospect = compute_prospect(ensemble, state, idx)
            assert prospect == compute_prospect(alone, state, idx)


def shared_after(ensemble, state, *answers):
    """Return the results that a session with these answers shares."""
    return Position.of(ensemble, observe_all(ensemble, state, *answers)).shared


def bought_and_reversed(ensemble, *, known, bought):
    """A session that corrected a known value, and took another purchase back."""
    state = machine.start(ensemble, None, known={known: 1.0})
    state = observe_all(ensemble, state, (known, "value", 0.0), (bought, "value", 0.0))
    return machine.reverse(ensemble, state, bought)


def test_sessions_share_whatever_the_values_are():
    ensemble = panelled()
    begun = machine.start(ensemble, 100, known={1: 0.0}, seed=1)
    other = machine.start(ensemble, 100, known={1: 1.0}, seed=2)

    shared = shared_after(ensemble, begun, (0, "value", 1.0))

    assert shared is shared_after(ensemble, other, (0, "value", 0.0))


def test_sessions_that_differ_in_what_is_answered_paid_or_allowed_share_nothing():
    knees = Knee(0, 0), Knee(50, 20), Knee(60, 20), Knee(None, None)
    ensemble = replace(panelled(members={0: FEE, 1: FEE}), knees=knees)
    answer = 0, "value", 1.0
    known = {0: 0.0, 2: 1.0}
    begun = machine.start(ensemble, None, known={2: 1.0})
    all_of_60 = machine.start(ensemble, 60, stop=StopRule(spend="all"))
    paid = observe_all(ensemble, begun, answer)
    ordered = observe_all(ensemble, begun, (2, "ordered"))
    corrected = observe_all(ensemble, begun, (2, "value", 0.0), (2, "ordered"))
    aim = Aim(mean_budget=40)
    apart = [
        begun,
        paid,
        machine.reverse(ensemble, paid, 0),
        machine.hold(ensemble, machine.reverse(ensemble, paid, 0), paid.spent),
        observe_all(ensemble, machine.start(ensemble, None, known=known), answer),
        machine.hold(ensemble, observe_all(ensemble, begun, (0, "unavailable")), 0),
        observe_all(ensemble, machine.start(ensemble, None), answer),
        # A known value counts until its result comes; a corrected one is gone.
        ordered,
        corrected,
        machine.start(ensemble, 50),
        machine.start(ensemble, 60),
        all_of_60,
        machine.hold(ensemble, all_of_60, 40),
        machine.hold(ensemble, machine.start(ensemble, 60), 5),
        # Beyond what is worth spending, too.
        machine.hold(ensemble, machine.start(ensemble, 60), 25),
        machine.hold(ensemble, machine.start(ensemble, 60), 45),
        bought_and_reversed(ensemble, known=0, bought=1),
        bought_and_reversed(ensemble, known=1, bought=0),
        replace(machine.start(ensemble, 60), aim=aim),
    ]

    shared = {id(Position.of(ensemble, state).shared) for state in apart}

    assert len(shared) == len(apart)


def test_members_of_a_bundle_that_came_together_are_asked_no_more():
    ensemble = panelled(members={1: BUNDLE, 2: BUNDLE})
    for _ in range(2):
        state = machine.start(ensemble, None)
        asked = []
        while question := machine.next_question(ensemble, state):
            asked.append(question.feature_idxs)
            answers = [(idx, "value", 1.0) for idx in question.feature_idxs]
            state = observe_all(ensemble, state, *answers)

        assert sorted(map(len, asked)) == [1, 2]


def test_other_prices_share_nothing_with_those_of_training():
    ensemble = panelled()
    asked = machine.next_question(ensemble, machine.start(ensemble, None))
    costs = {feature.name: 2 * feature.cost for feature in ensemble.catalogue.features}

    dearer = ensemble.at_prices(PriceList(costs), "prices")

    again = machine.next_question(dearer, machine.start(dearer, None))
    assert again.price == 2 * asked.price
