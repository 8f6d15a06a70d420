"""A question promises what held-out rows measured, and else nothing."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.price_lists import PriceList
from askless.core.model.ensemble import Knee
from askless.core.model.ladder.asking import AskingTerms, Worth
from askless.core.model.measured import MeasuredErrors
from askless.core.model.model import Curve, Model, bind_errors
from askless.core.session import machine
from askless.core.session.policies.adaptive import list_reachable_features
from askless.core.session.position import Position
from askless.core.session.state import Aim
from tests.panels import make_ladder, make_stopping, make_tables
from tests.sessions import NEVER, observe, small_ensemble

MEASURED = MeasuredErrors((0, 1, 2, None), (0.5, 0.3, 0.35, 0.2))


def panelled(measured=MEASURED):
    plain = small_ensemble([1, 1, 1])
    ladder = make_ladder(plain, [(0, 1, 2)])
    return replace(plain, panels=ladder, policy="panels", measured=measured)


def promise_of(ensemble, **more):
    state = machine.start(ensemble, **({"budget": None} | more))
    return machine.next_question(ensemble, state).promise


@pytest.mark.parametrize(
    ("budget", "error"), [(0, 0.5), (1, 0.3), (2, 0.35), (3, 0.35), (None, 0.2)]
)
def test_rate_is_that_of_the_largest_budget_not_above(budget, error):
    assert MEASURED.rate_at(budget) == error


def test_promise_of_the_end_stays_the_same_and_errors_descend():
    ensemble = panelled()
    state, promises = machine.start(ensemble, None), []
    while question := machine.next_question(ensemble, state):
        promises.append(question.promise)
        state = observe(ensemble, state, question.feature_idx, "value", 1.0)

    assert {promise.error_at_end for promise in promises} == {0.2}
    assert all(
        promise.error_at_end <= promise.error_after <= promise.error_now
        for promise in promises
    )
    left = [promise.questions_left for promise in promises]
    assert left == [(n, n) for n in range(len(left), 0, -1)]
    assert promises[-1].error_after == 0.2


KNEES = (Knee(0, 0), Knee(1, 1), Knee(2, 1), Knee(None, 1))


def nested():
    """Panels of one, two and three features, of which the first is worth it."""
    plain = small_ensemble([1, 1, 1])
    ladder = make_ladder(plain, [(0, 1, 2)])
    return replace(
        plain, panels=ladder, policy="panels", measured=MEASURED, knees=KNEES
    )


@pytest.mark.parametrize(
    ("spend", "end", "left", "cost"),
    [("worthwhile", 0.3, (1, 1), 1), ("all", 0.2, (3, 3), 3)],
)
def test_promised_end_is_that_of_what_is_spent(spend, end, left, cost):
    stop = replace(NEVER, spend=spend)

    promise = promise_of(nested(), stop=stop)

    assert (promise.error_now, promise.error_at_end) == (0.5, end)
    assert (promise.questions_left, promise.spend_left) == (left, cost)


def test_question_beyond_what_is_worth_it_promises_the_whole_budget():
    ensemble = nested()
    state = machine.start(ensemble, None, stop=NEVER)

    ended = observe(ensemble, state, state.next_feature_idx, "value", 1.0)

    assert ended.stop_reason == "not_worth_it"
    promise = machine.next_question(ensemble, ended).promise
    assert (promise.error_now, promise.error_at_end) == (0.3, 0.2)
    assert (promise.questions_left, promise.spend_left) == ((2, 2), 2)


def test_voting_policies_promise_the_same_end():
    ensemble = replace(small_ensemble([1, 1, 1]), measured=MEASURED)

    promise = promise_of(ensemble)

    assert (promise.error_now, promise.error_at_end) == (0.5, 0.2)
    assert promise.questions_left == (1, 3)
    assert promise.spend_left == 3


def test_session_that_may_ask_anything_promises_what_its_budget_can_buy():
    ensemble = replace(small_ensemble([2, 2, 2]), measured=MEASURED)
    state, left = machine.start(ensemble, 5, stop=NEVER), []
    while question := machine.next_question(ensemble, state):
        left.append((question.promise.questions_left, question.promise.spend_left))
        state = observe(ensemble, state, question.feature_idx, "value", 1.0)

    assert left == [((1, 2), 4), ((1, 1), 2)]


def test_known_values_count_as_if_they_were_bought():
    ensemble = panelled()
    first = machine.next_question(ensemble, machine.start(ensemble, 1)).feature_idx
    name = ensemble.catalogue.features[first].name
    assert name

    state = machine.start(ensemble, 1, known={first: 1.0})
    question = machine.next_question(ensemble, state)

    assert question.promise.error_at_end <= question.promise.error_now


@pytest.mark.parametrize(
    ("known", "error"), [((1,), 0.5), ((0,), 0.3), ((0, 1), 0.35), ((1, 2), 0.5)]
)
def test_a_known_value_counts_with_a_set_that_is_known_whole(known, error):
    plain = small_ensemble([1, 1, 1])
    ladder = make_ladder(plain, [(0, 1, 2), (0,)], can_hide=True)
    ensemble = replace(plain, panels=ladder, policy="panels", measured=MEASURED)
    promise = promise_of(ensemble, known=dict.fromkeys(known, 1.0))
    assert promise.error_now == error


def test_nothing_is_promised_where_nothing_was_measured():
    ensemble = panelled()
    dearer = ensemble.at_prices(PriceList({"f0": 5, "f1": 1, "f2": 1}), "prices")

    assert promise_of(panelled(None)) is None
    assert promise_of(ensemble, policy="ordered") is None
    assert dearer.measured is None


def test_curve_binds_its_errors_and_a_model_without_one_has_none():
    ensemble = panelled(None)
    curve = Curve((0, None), (0.5, 0.2), (0.4, 0.1), (0.0, 3.0), (0, 3), 10)
    costs = ((0.0, 1.0), (2.0, 0.0))
    late = replace(curve, budgets=(1, None))

    assert bind_errors(Model("m", ensemble)).ensemble.measured is None
    bound = bind_errors(Model("m", ensemble, curve=curve))
    assert bound.ensemble.measured == MeasuredErrors((0, None), (0.4, 0.1))
    assert bind_errors(replace(bound, curve=None)).ensemble.measured is None
    assert bind_errors(replace(bound, curve=late)).ensemble.measured is None
    priced = replace(ensemble, error_costs=costs)
    assert bind_errors(Model("m", priced, curve=curve)).ensemble.measured is None


def asking(policy):
    """An ensemble that asks by any policy; its last feature is too dear for 2."""
    plain = small_ensemble([1, 1, 5])
    tables = make_tables(plain, 0, 0)
    ladder = make_ladder(plain, [(0, 1, 2)], can_hide=True)
    ladder = replace(
        ladder,
        stopping=adaptive().panels.stopping,
        tables=tables,
        worth=Worth((AskingTerms(0, 1.0),), (0, 1, 2)),
    )
    return replace(plain, panels=ladder, policy=policy, measured=MEASURED)


@pytest.mark.parametrize("outcome", ["refused", "unknown", "unavailable"])
@pytest.mark.parametrize("policy", ["panels", "worth", "adaptive", "ordered"])
def test_nothing_is_promised_once_the_plan_lacks_an_answer(policy, outcome):
    ensemble = asking(policy)
    state = machine.start(ensemble, 2, stop=NEVER)
    assert machine.next_question(ensemble, state).promise is not None

    state = observe(ensemble, state, state.next_feature_idx, outcome)

    assert machine.next_question(ensemble, state).promise is None


@pytest.mark.parametrize("policy", ["panels", "worth", "adaptive", "ordered"])
def test_promise_stays_where_what_lacks_could_never_be_paid(policy):
    ensemble = asking(policy)
    state = machine.start(ensemble, 2, stop=NEVER)
    before = machine.next_question(ensemble, state)

    state = observe(ensemble, state, 2, "refused")

    after = machine.next_question(ensemble, state)
    assert after.feature_idx == before.feature_idx
    assert after.promise.error_at_end == before.promise.error_at_end


def test_aims_have_no_curve():
    ensemble = panelled()
    state = replace(machine.start(ensemble, None), aim=Aim(mean_budget=1))

    assert machine.next_question(ensemble, state).promise is None


def adaptive():
    """A ladder whose rule goes on from each panel to the next, at any price."""
    plain = small_ensemble([1, 1, 1])
    ladder = make_ladder(plain, [(0, 1, 2)], can_hide=True)
    stopping = make_stopping(len(ladder.panels), n_rules=1)
    rule = replace(
        stopping.rules[0],
        rate=0.0,
        targets=np.array([0, 0, 1, 2]),
        thresholds=np.full(4, -1.0),
    )
    ladder = replace(ladder, stopping=replace(stopping, rules=(rule,)))
    return replace(plain, panels=ladder, policy="adaptive", measured=MEASURED)


@pytest.mark.parametrize(("budget", "spend"), [(None, 3), (2, 2)])
def test_case_that_goes_on_by_a_rule_spends_no_more_than_it_has(budget, spend):
    promise = promise_of(adaptive(), budget=budget, policy="adaptive")

    assert promise.spend_left == spend
    assert promise.questions_left[0] <= promise.questions_left[1] <= 3


@pytest.mark.parametrize(("budget", "left"), [(6, (2, 2)), (7, (3, 7))])
def test_case_that_cannot_pay_all_of_its_rule_promises_what_it_can(budget, left):
    promise = promise_of(asking("adaptive"), budget=budget, policy="adaptive")

    assert (promise.questions_left[1], promise.spend_left) == left


def test_rule_says_nothing_of_a_case_with_a_refused_answer():
    ensemble = adaptive()
    state = machine.start(ensemble, None, policy="adaptive", stop=NEVER)
    state = observe(ensemble, state, state.next_feature_idx, "refused")

    assert list_reachable_features(Position.of(ensemble, state)) == []
