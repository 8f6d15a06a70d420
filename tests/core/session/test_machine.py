"""Sessions: charging rule by rule, then what holds for every script of answers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import AnswerError, ClosedError, OverBudgetError
from core.model.ensemble import Ensemble
from core.model.hypotheses import Stump
from core.session import machine
from core.session.state import Answer, Charge, State, StopRule
from core.table.catalogue import UNSEEN, Catalogue, Feature, Group
from core.table.dataset import ClassLabel
from tests import strategies

CLASSES = (ClassLabel("0", "no"), ClassLabel("1", "yes"))
FEE = Group("blood", fee=20)
BUNDLE = Group("echo", price=90)
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


def make_ensemble(
    costs: Sequence[int],
    members: Mapping[int, Group] | None = None,
    hypotheses: Sequence[tuple[int, float]] | None = None,
) -> Ensemble:
    """One number feature per cost; hypotheses are (feature, signed alpha)."""
    members = members or {}
    if hypotheses is None:
        hypotheses = [(idx, 1.0) for idx in range(len(costs))]
    features = tuple(
        Feature(
            f"f{idx}", cost=cost, group=members[idx].name if idx in members else None
        )
        for idx, cost in enumerate(costs)
    )
    return Ensemble(
        catalogue=Catalogue(features, tuple(dict.fromkeys(members.values()))),
        classes=CLASSES,
        hypotheses=tuple(
            Stump(idx, 0.5, (1 if alpha > 0 else -1,)) for idx, alpha in hypotheses
        ),
        alphas=tuple(abs(alpha) for _, alpha in hypotheses),
        priors=(0.5, 0.5),
        algorithm="adaboost_bt",
        policy="ordered",
    )


def charged(state: State) -> dict[int, int]:
    return {charge.feature_idx: charge.amount for charge in state.charges}


def observe_all(ensemble: Ensemble, state: State, *answers) -> State:
    for answer in answers:
        state = machine.observe(ensemble, state, *answer)
    return state


@pytest.mark.parametrize(("outcome", "value"), [("value", 1.0), ("ordered", None)])
def test_first_value_or_order_is_charged_at_the_price(outcome, value):
    ensemble = make_ensemble([7, 5])
    state = machine.start(ensemble, 100)

    state = machine.observe(ensemble, state, 0, outcome, value)

    assert state.charges == (Charge(0, 7),)
    assert (state.spent, state.remaining) == (7, 93)


def test_value_of_ordered_feature_is_not_charged_again():
    ensemble = make_ensemble([7, 5])
    state = machine.start(ensemble, 100)

    state = observe_all(ensemble, state, (0, "ordered"), (0, "value", 1.0))

    assert charged(state) == {0: 7}
    assert [answer.charged for answer in state.history] == [7, 0]


@pytest.mark.parametrize("outcome", IN_VAIN)
def test_answer_without_value_is_free_and_not_asked_again(outcome):
    ensemble = make_ensemble([7, 5], hypotheses=[(0, 1.0), (1, 1.0), (0, 1.0)])
    state = machine.start(ensemble, 100)

    state = machine.observe(ensemble, state, 0, outcome)
    after = machine.observe(ensemble, state, 1, "value", 1.0)

    assert state.charges == ()
    assert state.next_feature_idx == 1
    assert after.stop_reason == "all_known"


@pytest.mark.parametrize("outcome", IN_VAIN)
@pytest.mark.parametrize("answer", [("value", 1.0), ("ordered",)])
def test_correction_to_value_or_order_charges_the_price_now(outcome, answer):
    ensemble = make_ensemble([7, 5, 1], members={0: FEE, 1: FEE})
    state = machine.start(ensemble, 100)
    state = observe_all(ensemble, state, (0, outcome), (1, "value", 1.0))

    state = machine.observe(ensemble, state, 0, *answer)

    assert charged(state) == {1: 5 + FEE.fee, 0: 7}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("value", 1.0), ("value", 0.0)),
        (("value", 1.0), ("ordered",)),
        *((("value", 1.0), (outcome,)) for outcome in IN_VAIN),
        *(((one,), (other,)) for one in IN_VAIN for other in IN_VAIN if one != other),
    ],
)
def test_other_correction_is_free_and_keeps_the_old_answer_in_history(first, second):
    ensemble = make_ensemble([7, 5])
    before = machine.observe(ensemble, machine.start(ensemble, 100), 0, *first)

    state = machine.observe(ensemble, before, 0, *second)

    assert state.charges == before.charges
    assert state.history == (*before.history, Answer(0, *second))
    assert state.outcomes[0] == second[0]


def test_corrected_value_is_the_one_forecast_from():
    ensemble = make_ensemble([7, 5])
    state = machine.start(ensemble, 100)

    state = observe_all(ensemble, state, (0, "value", 1.0), (0, "value", 0.0))

    assert state.values[0] == 0.0
    assert machine.forecast(ensemble, state).margin == -0.5


def test_value_taken_back_is_charged_once_when_it_returns():
    ensemble = make_ensemble([7, 5])
    state = machine.start(ensemble, 100)

    state = observe_all(
        ensemble, state, (0, "value", 1.0), (0, "refused"), (0, "value", 0.0)
    )

    assert charged(state) == {0: 7}


@pytest.mark.parametrize("outcome", IN_VAIN)
def test_ordered_then_in_vain_keeps_charge_and_fee(outcome):
    ensemble = make_ensemble([7, 5, 1], members={0: FEE, 1: FEE})
    state = machine.start(ensemble, 100)

    state = observe_all(ensemble, state, (0, "ordered"), (0, outcome))

    assert charged(state) == {0: 7 + FEE.fee}
    assert machine.next_question(ensemble, state).price == 5


def test_known_feature_is_free_and_not_asked():
    ensemble = make_ensemble([7, 5])

    state = machine.start(ensemble, 100, known={0: 1.0})

    assert state.charges == ()
    assert (state.outcomes[0], state.values[0]) == ("known", 1.0)
    assert state.next_feature_idx == 1


def test_known_feature_pays_no_fee_for_its_group():
    ensemble = make_ensemble([7, 5], members={0: FEE, 1: FEE})

    state = machine.start(ensemble, 100, known={0: 1.0})

    assert machine.next_question(ensemble, state).price == 5 + FEE.fee


@pytest.mark.parametrize("answer", [("value", 0.0), ("ordered",)])
def test_answer_for_known_feature_is_free(answer):
    ensemble = make_ensemble([7, 5], members={0: FEE, 1: FEE})
    state = machine.start(ensemble, 100, known={0: 1.0})

    state = machine.observe(ensemble, state, 0, *answer)

    assert state.charges == ()
    assert machine.next_question(ensemble, state).price == 5 + FEE.fee


def test_first_charged_member_pays_the_fee_and_later_ones_do_not():
    ensemble = make_ensemble([7, 5, 3], members={0: FEE, 1: FEE, 2: FEE})
    state = machine.start(ensemble, 100)

    state = observe_all(
        ensemble, state, (0, "unavailable"), (1, "value", 1.0), (2, "ordered")
    )

    assert charged(state) == {1: 5 + FEE.fee, 2: 3}


def test_free_member_that_is_charged_first_pays_the_fee():
    ensemble = make_ensemble([0, 5], members={0: FEE, 1: FEE})
    state = machine.start(ensemble, 100)

    state = observe_all(ensemble, state, (0, "value", 1.0), (1, "value", 1.0))

    assert charged(state) == {0: FEE.fee, 1: 5}


def test_zero_price_is_a_charge_of_zero():
    ensemble = make_ensemble([0, 5])
    state = machine.start(ensemble, 0)

    state = machine.observe(ensemble, state, 0, "value", 1.0)

    assert state.charges == (Charge(0, 0),)
    assert state.stop_reason == "budget_exhausted"


@pytest.mark.parametrize("answer", [("value", 1.0), ("ordered",)])
def test_first_charged_member_of_bundle_pays_and_the_others_become_pending(answer):
    ensemble = make_ensemble([0, 0, 0, 5], members=dict.fromkeys(range(3), BUNDLE))
    state = machine.start(ensemble, 100)

    state = machine.observe(ensemble, state, 1, *answer)

    assert state.charges == (Charge(1, 90), Charge(0, 0), Charge(2, 0))
    assert set(state.pending) >= {0, 2}
    assert state.history == (Answer(1, *answer, charged=90),) or answer == ("ordered",)


def test_known_member_does_not_lower_the_price_of_its_bundle():
    ensemble = make_ensemble([0, 0, 0], members=dict.fromkeys(range(3), BUNDLE))
    state = machine.start(ensemble, 100, known={0: 1.0})

    state = machine.observe(ensemble, state, 1, "value", 1.0)

    assert charged(state) == {1: 90, 2: 0}
    assert state.outcomes == ("known", "value", "ordered")


def test_member_in_vain_leaves_its_bundle_unpaid():
    ensemble = make_ensemble([0, 0, 0], members=dict.fromkeys(range(3), BUNDLE))
    state = machine.start(ensemble, 100)

    state = observe_all(ensemble, state, (0, "refused"), (1, "value", 1.0))

    assert charged(state) == {1: 90, 2: 0}
    assert state.outcomes == ("refused", "value", "ordered")


def test_member_in_vain_that_comes_after_all_is_free_once_its_bundle_is_paid():
    ensemble = make_ensemble([0, 0, 0], members=dict.fromkeys(range(3), BUNDLE))
    state = machine.start(ensemble, 100)

    state = observe_all(
        ensemble, state, (0, "refused"), (1, "value", 1.0), (0, "value", 1.0)
    )

    assert charged(state) == {1: 90, 2: 0, 0: 0}


@pytest.mark.parametrize(
    "answer",
    [("value", 1.0), ("value", UNSEEN), ("ordered",), *((o,) for o in IN_VAIN)],
)
def test_same_answer_again_changes_nothing(answer):
    ensemble = make_ensemble([7, 5])
    state = machine.observe(ensemble, machine.start(ensemble, 100), 0, *answer)

    again = machine.observe(ensemble, state, 0, *answer)

    assert again is state


def test_known_value_given_again_is_free():
    ensemble = make_ensemble([7, 5])
    state = machine.start(ensemble, 100, known={0: 1.0})

    again = machine.observe(ensemble, state, 0, "value", 1.0)

    assert (again.spent, again.values[0]) == (0, 1.0)


def test_charge_over_budget_is_refused_with_its_figures():
    ensemble = make_ensemble([7, 500])
    state = machine.start(ensemble, 100)
    before = replace(state)

    with pytest.raises(OverBudgetError) as refused:
        machine.observe(ensemble, state, 1, "value", 1.0)

    error = refused.value
    assert (error.feature, error.price, error.remaining) == ("f1", 500, 100)
    assert repr(state) == repr(before)


def test_correction_over_budget_is_refused():
    ensemble = make_ensemble([7, 5])
    state = machine.start(ensemble, 10)
    state = observe_all(ensemble, state, (0, "unavailable"), (1, "ordered"))

    with pytest.raises(OverBudgetError):
        machine.observe(ensemble, state, 0, "value", 1.0)


def test_charge_that_takes_all_that_remains_is_accepted():
    ensemble = make_ensemble([7, 5])
    state = machine.start(ensemble, 7)

    state = machine.observe(ensemble, state, 0, "value", 1.0)

    assert state.remaining == 0


def test_unlimited_session_has_no_remaining():
    ensemble = make_ensemble([7, 10**15])
    state = machine.start(ensemble, None)

    state = machine.observe(ensemble, state, 1, "value", 1.0)

    assert state.remaining is None
    assert state.spent == 10**15


def test_another_feature_than_the_one_asked_may_be_answered():
    ensemble = make_ensemble([7, 5, 3])
    state = machine.start(ensemble, 100)

    state = machine.observe(ensemble, state, 2, "value", 1.0)

    assert charged(state) == {2: 3}
    assert state.next_feature_idx == 0


def test_feature_no_hypothesis_reads_may_be_answered():
    ensemble = make_ensemble([7, 5], hypotheses=[(1, 1.0)])
    state = machine.start(ensemble, 100)

    state = machine.observe(ensemble, state, 0, "value", 1.0)

    assert charged(state) == {0: 7}
    assert state.next_feature_idx == 1


@pytest.mark.parametrize(
    "answer", [("value", None), ("ordered", 1.0), ("refused", 0.0)]
)
def test_value_comes_exactly_with_the_outcome_value(answer):
    ensemble = make_ensemble([7, 5])
    state = machine.start(ensemble, 100)

    with pytest.raises(AnswerError, match="f0: a value is given exactly when"):
        machine.observe(ensemble, state, 0, *answer)


def test_ended_session_with_pending_results_waits():
    ensemble = make_ensemble([7])

    state = machine.observe(ensemble, machine.start(ensemble, 7), 0, "ordered")

    assert state.is_ended
    assert not machine.is_closed(state)
    assert machine.next_question(ensemble, state) is None


def test_last_pending_result_closes_an_ended_session():
    ensemble = make_ensemble([7])
    state = machine.observe(ensemble, machine.start(ensemble, 7), 0, "ordered")

    state = machine.observe(ensemble, state, 0, "value", 1.0)

    assert machine.is_closed(state)
    assert state.stop_reason == "all_known"


def test_corrections_are_accepted_while_a_result_is_pending():
    ensemble = make_ensemble([7, 5])
    state = machine.start(ensemble, 100)
    state = observe_all(ensemble, state, (0, "value", 1.0), (1, "ordered"))

    state = machine.observe(ensemble, state, 0, "value", 0.0)

    assert state.values[0] == 0.0


@pytest.mark.parametrize(
    "answer", [(0, "value", 0.0), (1, "value", 1.0), (1, "unknown"), (2, "unknown")]
)
def test_closed_session_takes_no_answer(answer):
    ensemble = make_ensemble([7, 50, 60])
    state = machine.observe(ensemble, machine.start(ensemble, 10), 0, "value", 1.0)

    with pytest.raises(ClosedError):
        machine.observe(ensemble, state, *answer)


def test_waiting_session_takes_no_new_feature():
    ensemble = make_ensemble([7, 50, 3])
    state = machine.observe(ensemble, machine.start(ensemble, 10), 0, "ordered")

    with pytest.raises(ClosedError):
        machine.observe(ensemble, state, 2, "value", 1.0)


@pytest.mark.parametrize("reason", ["client_stopped", "expired"])
def test_stop_from_outside_ends_the_session_for_good(reason):
    ensemble = make_ensemble([7, 5, 3])
    state = machine.observe(ensemble, machine.start(ensemble, 100), 0, "ordered")

    stopped = machine.stop(state, reason)
    after = machine.observe(ensemble, stopped, 0, "value", 1.0)

    assert (stopped.stop_reason, after.stop_reason) == (reason, reason)
    assert stopped.next_feature_idx is None
    assert (machine.is_closed(stopped), machine.is_closed(after)) == (False, True)


def test_session_is_stopped_by_the_client_unless_told_otherwise():
    state = machine.start(make_ensemble([7, 5]), 100)

    stopped = machine.stop(state)

    assert stopped.stop_reason == "client_stopped"
    assert machine.is_closed(stopped)


def test_session_ends_after_max_questions():
    ensemble = make_ensemble([7, 5, 3])
    state = machine.start(ensemble, 100, stop=StopRule(max_questions=2))

    one = machine.observe(ensemble, state, 0, "unavailable")
    two = machine.observe(ensemble, one, 1, "value", 1.0)

    assert (one.is_ended, two.is_ended) == (False, True)
    assert (two.stop_reason, two.next_feature_idx) == ("max_questions", None)


def test_zero_questions_end_a_session_at_its_start():
    state = machine.start(make_ensemble([7]), 100, stop=StopRule(max_questions=0))

    assert state.stop_reason == "max_questions"


def test_corrections_do_not_count_as_questions():
    ensemble = make_ensemble([7, 5, 3])
    state = machine.start(ensemble, 100, stop=StopRule(max_questions=2))

    state = observe_all(ensemble, state, (0, "ordered"), (0, "value", 1.0))

    assert not state.is_ended


def test_members_of_a_bundle_count_as_one_question():
    ensemble = make_ensemble([0, 0, 5, 3], members={0: BUNDLE, 1: BUNDLE})
    state = machine.start(ensemble, 100, stop=StopRule(max_questions=2))

    state = observe_all(ensemble, state, (0, "value", 1.0), (1, "value", 1.0))

    assert not state.is_ended
    assert machine.next_question(ensemble, state).number == 2


def test_question_says_what_it_asks_and_at_which_price():
    ensemble = make_ensemble(
        [7, 5, 3], members={1: FEE, 2: FEE}, hypotheses=[(1, 1.0), (2, 2.0), (1, -1.0)]
    )
    state = machine.start(ensemble, 100)

    question = machine.next_question(ensemble, state)

    assert (question.number, question.feature_idx, question.feature_idxs) == (
        1,
        1,
        (1,),
    )
    assert (question.price, question.is_group_paid) == (25, False)
    assert (question.n_hypotheses, question.share) == (2, 0.5)
    assert question.alternatives == ((2, 23),)


def test_question_knows_that_the_fee_is_paid():
    ensemble = make_ensemble([7, 5], members={0: FEE, 1: FEE})
    state = machine.observe(ensemble, machine.start(ensemble, 100), 0, "value", 1.0)

    question = machine.next_question(ensemble, state)

    assert (question.price, question.is_group_paid) == (5, True)


def test_question_about_a_bundle_names_all_its_open_members():
    ensemble = make_ensemble([0, 0, 0], members=dict.fromkeys(range(3), BUNDLE))
    state = machine.start(ensemble, 100, known={0: 1.0})

    question = machine.next_question(ensemble, state)

    assert (question.feature_idxs, question.price) == ((1, 2), 90)


def test_share_of_question_is_of_the_plan_for_ordered_and_of_all_for_sample():
    ensemble = make_ensemble([1, 100], hypotheses=[(0, 1.0), (1, 3.0)])

    shares = {
        policy: machine.next_question(
            ensemble, machine.start(ensemble, 10, policy=policy, seed=seed)
        ).share
        for policy, seed in (("ordered", 0), ("sample", seed_that_asks_first(ensemble)))
    }

    assert shares == {"ordered": 1.0, "sample": 0.25}


def seed_that_asks_first(ensemble: Ensemble) -> int:
    return next(
        seed
        for seed in range(100)
        if machine.start(ensemble, 10, policy="sample", seed=seed).next_feature_idx == 0
    )


def test_alternatives_are_open_affordable_features_that_hypotheses_read():
    ensemble = make_ensemble(
        [1, 2, 3, 500, 4], hypotheses=[(0, 1.0), (3, 1.0), (2, 1.0), (1, 1.0), (2, 1.0)]
    )
    state = machine.start(ensemble, 10, known={1: 0.0})

    question = machine.next_question(ensemble, state)

    assert question.alternatives == ((2, 3),)


def play(ensemble: Ensemble, state: State, script) -> list[State]:
    """Every state on the way; an answer that is refused is passed over."""
    states = [state]
    for is_as_asked, idx, outcome, value in script:
        feature_idx = idx % len(ensemble.catalogue.features)
        if is_as_asked and states[-1].next_feature_idx is not None:
            feature_idx = states[-1].next_feature_idx
        given_value = value if outcome == "value" else None
        try:
            after = machine.observe(
                ensemble, states[-1], feature_idx, outcome, given_value
            )
        except (OverBudgetError, ClosedError):
            continue
        states.append(after)
    return states


@st.composite
def openings(draw) -> tuple[Ensemble, dict]:
    """An ensemble, and what a session on it starts from."""
    ensemble = draw(strategies.ensembles())
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


@given(openings(), SCRIPTS)
def test_spent_never_exceeds_the_budget(opening, script):
    ensemble, fields = opening

    states = play(ensemble, machine.start(ensemble, **fields), script)

    assert all(state.remaining is None or state.remaining >= 0 for state in states)


@given(openings(), SCRIPTS)
def test_spent_is_the_sum_of_charges_and_of_what_history_charged(opening, script):
    ensemble, fields = opening

    state = play(ensemble, machine.start(ensemble, **fields), script)[-1]

    assert state.spent == sum(charge.amount for charge in state.charges)
    assert state.spent == sum(answer.charged for answer in state.history)


@given(openings(), SCRIPTS)
def test_no_feature_is_charged_twice(opening, script):
    ensemble, fields = opening

    state = play(ensemble, machine.start(ensemble, **fields), script)[-1]

    idxs = [charge.feature_idx for charge in state.charges]
    assert len(idxs) == len(set(idxs))


@given(openings(), SCRIPTS)
def test_only_open_features_are_asked(opening, script):
    ensemble, fields = opening

    states = play(ensemble, machine.start(ensemble, **fields), script)

    asked = [(s, s.next_feature_idx) for s in states if s.next_feature_idx is not None]
    assert all(state.outcomes[idx] is None for state, idx in asked)


@given(openings(), SCRIPTS)
def test_what_is_asked_can_be_paid(opening, script):
    ensemble, fields = opening

    states = play(ensemble, machine.start(ensemble, **fields), script)

    questions = [(state, machine.next_question(ensemble, state)) for state in states]
    assert all(
        state.remaining is None or question.price <= state.remaining
        for state, question in questions
        if question is not None
    )


@given(openings(), SCRIPTS)
def test_price_of_the_question_is_what_its_answer_charges(opening, script):
    ensemble, fields = opening
    states = play(ensemble, machine.start(ensemble, **fields), script)
    questions = [(state, machine.next_question(ensemble, state)) for state in states]
    asked = [(state, question) for state, question in questions if question is not None]

    answered = [
        machine.observe(ensemble, state, question.feature_idx, "value", 1.0)
        for state, question in asked
    ]

    assert [state.history[-1].charged for state in answered] == [
        question.price for _, question in asked
    ]


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


@given(openings(), SCRIPTS)
def test_ended_session_stays_ended(opening, script):
    ensemble, fields = opening

    states = play(ensemble, machine.start(ensemble, **fields), script)

    ends = [state.is_ended for state in states]
    assert ends == sorted(ends)


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


def test_session_that_has_ended_keeps_its_reason_when_stopped():
    ensemble = make_ensemble([5])
    ended = machine.start(ensemble, 0)

    assert machine.stop(ended) is ended


@pytest.mark.parametrize("between", ["ordered", "unavailable"])
def test_feature_known_at_the_start_is_never_charged(between):
    ensemble = make_ensemble([7, 5])
    state = machine.start(ensemble, 100, known={0: 1.0})

    state = observe_all(ensemble, state, (0, between), (0, "value", 0.0))

    assert state.spent == 0
