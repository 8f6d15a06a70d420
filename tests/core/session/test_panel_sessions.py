"""Sessions by the policy `panels`; walks against them: `test_simulate`."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.catalogue.catalogue import Group
from askless.core.model.ensemble import Ensemble
from askless.core.model.ladder.blends import to_chances
from askless.core.session import machine
from askless.core.session.policies import POLICIES, list_serving_policies
from askless.core.session.position import Position
from askless.core.session.rows.logits import LogitCache
from askless.core.session.rows.walks import Standing
from askless.core.session.state import State
from tests import naive_panels as naive
from tests import strategies
from tests.panel_twin import naive_choice, naive_known, naive_panels
from tests.panels import make_ladder, with_panels
from tests.sessions import (
    BUNDLE,
    FEE,
    NEVER,
    answer_from_row,
    is_certain,
    observe,
    small_ensemble,
)
from tests.small import classes_of

OUTCOMES = ("value", "value", "ordered", "unavailable", "refused", "unknown")


def ensemble_of(costs, *orders, may_lack=(), members=None, **fields) -> Ensemble:
    """Panels of the beginnings of some orders; these may lack some features."""
    ensemble = small_ensemble(costs, members=members, policy="panels", **fields)
    ladder = make_ladder(ensemble, orders)
    panels = [
        replace(panel, may_lack=frozenset(may_lack).intersection(panel.feature_idxs))
        for panel in ladder.panels
    ]
    return replace(ensemble, panels=replace(ladder, panels=tuple(panels)))


def begin(ensemble: Ensemble, budget: int | None = None, **options) -> State:
    return machine.start(ensemble, budget, stop=NEVER, **options)


def asked_by(ensemble: Ensemble, budget: int | None, **options) -> list[int]:
    """Features asked where every answer is 1."""
    state = begin(ensemble, budget, **options)
    return answer_from_row(ensemble, state, [1.0] * len(state.values))[1]


@st.composite
def sessions(draw):
    """An ensemble with panels and a session of it, answered in any way."""
    ensemble = draw(with_panels(strategies.ensembles(max_hypotheses=1)))
    n_features = len(ensemble.catalogue.features)
    known = draw(st.sets(st.integers(0, n_features - 1), max_size=2))
    state = begin(ensemble, draw(strategies.budgets()), known=dict.fromkeys(known, 1.0))
    for _ in range(draw(st.integers(0, n_features))):
        if state.next_feature_idx is None:
            break
        outcome = draw(st.sampled_from(OUTCOMES))
        value = 1.0 if outcome == "value" else None
        state = observe(ensemble, state, state.next_feature_idx, outcome, value)
    return ensemble, state


@given(sessions())
def test_next_feature_is_that_of_the_naive_twin(session):
    ensemble, state = session

    expected = naive_choice(ensemble, state)

    assert state.next_feature_idx == (expected[0] if expected else None)


@given(sessions())
def test_spent_never_exceeds_the_budget_to_the_end_of_the_panel_asked_for(session):
    ensemble, state = session

    left = naive_choice(ensemble, state)
    for idx in left:
        if state.outcomes[idx] is None:
            state = observe(ensemble, state, idx, "value", 1.0)

    assert state.budget is None or state.spent <= state.budget


@given(sessions())
def test_question_tells_what_else_is_asked_for_the_same_panel(session):
    ensemble, state = session

    question = machine.next_question(ensemble, state)

    if question is not None:
        told = [question.feature_idx, *(idx for idx, _ in question.alternatives)]
        assert told == naive_choice(ensemble, state)
        assert question.n_hypotheses is None


@given(sessions())
def test_forecast_is_that_of_the_panel_that_the_naive_twin_predicts_by(session):
    ensemble, state = session
    ladder, known = ensemble.panels, naive_known(*session)

    panels = naive_panels(ensemble)
    number = panels.index(naive.predictor(panels, known))

    panel, hiding = ladder.panels[number], None
    if panel.blend is not None and not known.issuperset(panel.feature_idxs):
        is_hidden = [idx not in known for idx in range(len(state.values))]
        hiding = panel.blend.hide(np.array(is_hidden))
    logits = panel.logits(np.array([state.values]), ladder.starts, hiding)
    told = machine.forecast(ensemble, state).probabilities
    assert told == pytest.approx(to_chances(logits)[0].tolist())


def test_preferred_panel_that_fits_is_asked_in_its_order():
    ensemble = ensemble_of([10, 20, 40], [2, 0, 1], [1, 0])

    assert asked_by(ensemble, 70) == [2, 0, 1]
    assert asked_by(ensemble, 49) == [1, 0]
    assert asked_by(ensemble, 29) == [1]


@pytest.mark.parametrize("outcome", ["refused", "unavailable", "unknown"])
def test_feature_without_a_value_is_planned_around(outcome):
    ensemble = ensemble_of([10, 20, 40], [0, 1, 2], [1, 2])
    state = begin(ensemble, 70)

    state = observe(ensemble, state, 0, outcome)

    assert state.next_feature_idx == 1
    state = observe(ensemble, state, 1, "value", 1.0)
    state = observe(ensemble, state, 2, "value", 1.0)
    number = POLICIES["panels"].standing(Position.of(ensemble, state)).marks
    assert ensemble.panels.panels[int(number)].feature_idxs == (1, 2)


def test_feature_that_training_saw_lacking_may_lack():
    ensemble = ensemble_of([10, 20, 40], [0, 1, 2], may_lack=[0])
    state = begin(ensemble, 70)

    for idx, value in ((0, None), (1, 1.0), (2, 1.0)):
        outcome = "unavailable" if value is None else "value"
        state = observe(ensemble, state, idx, outcome, value)

    forecast = machine.forecast(ensemble, state)
    values = np.array([[math.nan, 1.0, 1.0]])
    logits = ensemble.panels.panels[0].logits(values, ensemble.panels.starts)
    assert forecast.probabilities == pytest.approx(to_chances(logits)[0].tolist())
    assert forecast.known_share == 1.0


def test_ordered_feature_counts_as_coming():
    ensemble = ensemble_of([40, 10], [0, 1])
    state = begin(ensemble, 50)

    state = observe(ensemble, state, 0, "ordered")

    assert state.next_feature_idx == 1
    assert POLICIES["panels"].choose_panel(Position.of(ensemble, state)) == 0
    # Without its value only the class shares tell.
    assert machine.forecast(ensemble, state).known_share == 0.0


def test_answer_that_was_volunteered_is_used_and_not_paid_again():
    ensemble = ensemble_of([10, 20, 40], [0, 1, 2], [0])
    state = begin(ensemble, 70, known={2: 1.0})

    state = observe(ensemble, state, 1, "value", 0.0)

    assert state.next_feature_idx == 0
    state = observe(ensemble, state, 0, "value", 1.0)
    assert state.spent == 30
    assert machine.forecast(ensemble, state).known_share == 1.0


def test_what_is_known_makes_a_dear_panel_payable():
    ensemble = ensemble_of([10, 20, 40], [2, 1, 0], [0])

    assert asked_by(ensemble, 30) == [0]
    assert asked_by(ensemble, 30, known={2: 1.0}) == [1, 0]


def test_changed_budget_changes_the_aim():
    ensemble = ensemble_of([10, 20, 40], [2, 1], [0])
    state = begin(ensemble, 10)
    assert state.next_feature_idx == 0

    more = machine.change_budget(ensemble, state, 60)
    less = machine.change_budget(ensemble, more, 5)

    assert more.next_feature_idx == 2
    assert (less.next_feature_idx, less.stop_reason) == (None, "budget_exhausted")


def test_prediction_in_the_middle_is_that_of_the_beginning_known_so_far():
    ensemble = ensemble_of([10, 20, 40], [2, 0, 1])
    ladder, values = ensemble.panels, np.array([[0.5, -1.0, 2.0]])
    by_size = {len(panel.feature_idxs): panel for panel in ladder.panels}
    state = begin(ensemble)

    for size in range(4):
        told = machine.forecast(ensemble, state).probabilities
        logits = by_size[size].logits(values, ladder.starts)
        assert told == pytest.approx(to_chances(logits)[0].tolist())
        idx = state.next_feature_idx
        if idx is not None:
            state = observe(ensemble, state, idx, "value", float(values[0, idx]))


def test_with_nothing_affordable_the_class_shares_are_predicted():
    ensemble = ensemble_of([10, 20], [0, 1])

    state = begin(ensemble, 9)

    shares = to_chances(ensemble.panels.starts)
    forecast = machine.forecast(ensemble, state)
    assert (state.next_feature_idx, state.stop_reason) == (None, "budget_exhausted")
    assert forecast.probabilities == pytest.approx(shares.tolist())
    assert forecast.known_share == 0.0


def test_session_whose_panel_is_whole_is_complete_where_more_could_be_bought():
    ensemble = ensemble_of([10, 20, 40], [0])

    state = observe(ensemble, begin(ensemble, 70), 0, "value", 1.0)

    assert state.stop_reason == "plan_complete"


def test_session_is_over_where_everything_that_is_read_is_known():
    ensemble = ensemble_of([10, 20], [0, 1])
    state = begin(ensemble)

    for idx in (0, 1):
        state = observe(ensemble, state, idx, "value", 1.0)

    assert (state.stop_reason, state.is_decided) == ("all_known", True)


def test_fee_falls_due_once_and_counts_in_what_a_panel_costs():
    ensemble = ensemble_of([5, 5], [0, 1], members={0: FEE, 1: FEE})

    assert asked_by(ensemble, 30) == [0, 1]
    assert asked_by(ensemble, 29) == [0]
    assert asked_by(ensemble, 24) == []


def test_fee_of_a_group_whose_members_no_panel_reads_is_not_counted():
    other = Group("other", fee=100)
    ensemble = ensemble_of([5, 5], [0], members={0: FEE, 1: other})

    assert asked_by(ensemble, 25) == [0]


def test_bundle_is_bought_whole_at_its_price():
    ensemble = ensemble_of([0, 10, 0], [0, 2], [1], members={0: BUNDLE, 2: BUNDLE})

    assert asked_by(ensemble, 90) == [0, 2]
    assert asked_by(ensemble, 89) == [1]


def test_shares_of_the_questions_of_a_panel_add_up_to_1():
    ensemble = ensemble_of([10, 20, 40], [2, 0, 1])
    state = begin(ensemble)
    shares = []

    while (question := machine.next_question(ensemble, state)) is not None:
        gained = machine.forecast(ensemble, state).known_share
        shares.append(question.open_share * (1.0 - gained))
        state = observe(ensemble, state, question.feature_idx, "value", 1.0)

    assert shares == pytest.approx([1 / 3] * 3)


def test_features_share_the_gain_of_the_panel_that_needs_them_all():
    ensemble = ensemble_of([10, 20, 40], [2, 0, 1])
    ladder = ensemble.panels
    panels = tuple(
        panel for panel in ladder.panels if len(panel.feature_idxs) in (0, 3)
    )
    ensemble = replace(ensemble, panels=replace(ladder, panels=panels))
    state, shares = begin(ensemble), []

    while (question := machine.next_question(ensemble, state)) is not None:
        shares.append(question.open_share)
        state = observe(ensemble, state, question.feature_idx, "value", 1.0)

    assert shares == pytest.approx([1 / 3] * 3)


def test_feature_that_gains_nothing_has_no_share():
    ensemble = ensemble_of([10], [0])
    ladder = ensemble.panels
    panels = tuple(replace(panel, loss=0.5) for panel in ladder.panels)
    ensemble = replace(ensemble, panels=replace(ladder, panels=panels))

    question = machine.next_question(ensemble, begin(ensemble))

    assert question.open_share == 0.0
    assert machine.forecast(ensemble, begin(ensemble)).known_share == 0.0


def test_session_is_never_certain_while_a_question_or_a_result_is_left():
    ensemble = ensemble_of([10, 20], [0, 1])
    state = begin(ensemble)
    sure = [is_certain(ensemble, state)]

    for idx, outcome, value in (
        (0, "ordered", None),
        (1, "value", 1.0),
        (0, "value", 1.0),
    ):
        state = observe(ensemble, state, idx, outcome, value)
        sure.append(is_certain(ensemble, state))

    assert sure == [False, False, False, True]


@given(sessions())
def test_session_replays_from_its_answers(session):
    ensemble, state = session
    known = dict.fromkeys(state.known, 1.0)

    again = begin(ensemble, state.budget, known=known)
    for answer in state.history:
        again = machine.observe(ensemble, again, [replace(answer, charged=0)])

    assert repr(again) == repr(state)


@pytest.mark.parametrize(
    ("n_classes", "scores", "expected"),
    [(2, [[2.0], [-2.0]], [1, 0]), (3, [[0.0, 1.0, 3.0], [5.0, 1.0, 3.0]], [2, 0])],
)
def test_vote_is_the_most_probable_class(n_classes, scores, expected):
    shares = {"classes": classes_of(n_classes), "priors": (1 / n_classes,) * n_classes}
    ensemble = small_ensemble([10], **shares)
    logits = np.array(scores)
    standing = Standing(logits, np.zeros(2), logits, np.zeros(2, np.int64))

    votes = POLICIES["panels"].votes(ensemble, standing)

    assert votes.tolist() == expected


def test_policy_serves_models_that_have_panels():
    ensemble = ensemble_of([10], [0])

    assert "panels" in list_serving_policies(ensemble)
    assert "panels" not in list_serving_policies(replace(ensemble, panels=None))


def test_models_of_panels_are_asked_by_other_policies_too():
    ensemble = ensemble_of([10, 20], [1, 0])

    assert asked_by(ensemble, 30, policy="ordered") == [0, 1]
    assert asked_by(ensemble, 30) == [1, 0]


def test_remembered_log_odds_are_of_the_rows_as_they_are() -> None:
    ensemble = ensemble_of([1, 2], (0, 1))
    number, everyone = len(ensemble.panels.panels) - 1, np.arange(3)
    values, other = np.zeros((3, 2)), np.ones((3, 2))
    first = LogitCache.share(ensemble, values)
    first.predict_whole(number, everyone)

    assert LogitCache.share(ensemble, values).kept is first.kept
    assert LogitCache.share(ensemble, other).kept == {}
    again = LogitCache.share(ensemble, values)
    again.predict_whole(number, everyone)
    values[:] = 2.0
    assert LogitCache.share(ensemble, values).kept == {}


def test_remembered_log_odds_go_with_their_rows() -> None:
    ensemble = ensemble_of([1, 2], (0, 1))
    values = np.zeros((3, 2))
    cache = LogitCache.share(ensemble, values)
    cache.predict_whole(0, np.arange(3))
    kept = cache.kept
    assert kept

    del cache, values

    assert kept == {}
