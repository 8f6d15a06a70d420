"""Cases are replayed from their answers, and only from these."""

import math
from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.catalogue import UNSEEN, Catalogue, Feature, Group
from askless.core.model.hypotheses import Stump
from askless.core.session import machine
from askless.core.session.policies import POLICIES
from askless.core.session.state import Answer, StopRule
from askless.core.simulation.silent_play import (
    AnswerLog,
    ReplayTerms,
    log_case,
    match_case,
    replay_case,
)
from askless.core.simulation.simulate import simulate
from tests.sessions import bill_by_call
from tests.small import MICROS, ensemble_of, random_catalogue

NO_STOP = StopRule(certain=False)


def stumps(order):
    return [Stump(idx, 0.5, (1,)) for idx in order]


def case_of(values, outcomes=None):
    """Return a case that knows all of a row."""
    answers = {}
    for idx, value in enumerate(values):
        there = "unavailable" if math.isnan(value) else "value"
        outcome = (outcomes or {}).get(idx, there)
        given = value if outcome == "value" else None
        answers[idx] = Answer(idx, outcome, given)
    return AnswerLog({}, answers)


def play(ensemble, row, budget, **terms):
    """Return the end of a session that a row answers."""
    state = machine.start(ensemble, budget, stop=NO_STOP, **terms)
    while state.next_feature_idx is not None and state.stop_reason is None:
        for idx in machine.next_question(ensemble, state).feature_idxs:
            state = machine.observe(ensemble, state, [Answer(idx, "value", row[idx])])
    return state


def test_a_session_replayed_from_its_own_log_is_that_session():
    ensemble = ensemble_of(stumps([2, 0, 1]))
    state = play(ensemble, [0.0, 1.0, 1.0], 2 * MICROS)

    again = replay_case(
        ensemble, log_case(state), ReplayTerms(2 * MICROS, stop=NO_STOP)
    )

    assert again.is_supported
    assert again.asked == (2, 0)
    assert again.spent == state.spent == 2 * MICROS
    assert again.forecast == machine.forecast(ensemble, state)


def test_a_question_that_the_log_does_not_answer_ends_the_replay():
    ensemble, other = ensemble_of(stumps([2, 0, 1])), ensemble_of(stumps([2, 1, 0]))
    logged = log_case(play(ensemble, [0.0, 1.0, 1.0], 2 * MICROS))

    again = replay_case(other, logged, ReplayTerms(2 * MICROS, stop=NO_STOP))

    assert not again.is_supported
    assert (again.asked, again.lacking) == ((2,), 1)
    assert again.spent == MICROS


@pytest.mark.parametrize("outcome", ["unavailable", "refused", "unknown"])
def test_what_brought_no_value_brings_none_again_and_is_free(outcome):
    ensemble = ensemble_of(stumps([0, 1]))
    logged = case_of([0.0, 1.0], {0: outcome})

    again = replay_case(ensemble, logged, ReplayTerms(None, stop=NO_STOP))

    assert again.states[-1].outcomes == (outcome, "value")
    assert again.spent == MICROS


def test_an_order_whose_result_never_came_is_charged_and_stays_pending():
    ensemble = ensemble_of(stumps([0, 1]))
    state = machine.start(ensemble, None, stop=NO_STOP)
    state = machine.observe(ensemble, state, [Answer(0, "ordered")])
    state = machine.observe(ensemble, state, [Answer(1, "value", 1.0)])

    again = replay_case(ensemble, log_case(state), ReplayTerms(None, stop=NO_STOP))

    assert again.states[-1].pending == (0,)
    assert again.spent == 2 * MICROS


def test_values_known_at_the_start_are_free_again():
    ensemble = ensemble_of(stumps([0, 1]))
    state = machine.start(ensemble, None, known={0: 1.0}, stop=NO_STOP)
    state = machine.observe(ensemble, state, [Answer(1, "value", 1.0)])

    again = replay_case(ensemble, log_case(state), ReplayTerms(None, stop=NO_STOP))

    assert (again.asked, again.spent) == ((1,), MICROS)
    assert again.states[-1].known == (0,)


def test_a_bundle_is_answered_whole_or_not_at_all():
    features = (Feature("a", cost=0, group="g"), Feature("b", cost=0, group="g"))
    catalogue = Catalogue(features, (Group("g", price=3 * MICROS),))
    ensemble = ensemble_of(stumps([0, 1]), catalogue)
    whole = case_of([0.0, 1.0], {0: "unavailable"})
    half = AnswerLog({}, {0: Answer(0, "value", 0.0)})

    again = replay_case(ensemble, whole, ReplayTerms(None, stop=NO_STOP))
    broken = replay_case(ensemble, half, ReplayTerms(None, stop=NO_STOP))

    assert again.spent == 3 * MICROS
    assert again.states[-1].outcomes == ("unavailable", "value")
    assert (broken.asked, broken.lacking) == ((), 1)


def test_a_replay_ends_where_the_session_advises_to_stop():
    ensemble = ensemble_of(stumps([0, 0, 0, 1]))

    again = replay_case(ensemble, case_of([1.0, 0.0]), ReplayTerms(None))

    assert again.asked == (0,)
    assert again.states[-1].stop_reason == "certain"


def test_a_smaller_budget_than_the_case_had_is_kept():
    ensemble = ensemble_of(stumps([0, 1, 2]))

    again = replay_case(ensemble, case_of([1.0] * 3), ReplayTerms(MICROS, stop=NO_STOP))

    assert again.is_supported
    assert again.spent == MICROS


@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_replays_of_whole_rows_are_what_many_rows_at_once_are(policy):
    random = np.random.default_rng(3)
    catalogue = random_catalogue(random, 6)
    order = [0, 1, 3, 4, 0, 3]
    ensemble = bill_by_call(ensemble_of(stumps(order), catalogue), (0, 3))
    rows = random.integers(0, 2, (20, 6)).astype(np.float64)
    rows[random.random(rows.shape) < 0.2] = np.nan
    budget = 4 * MICROS

    walks = simulate(ensemble, rows, [budget], policy, seed=5)
    replays = [
        replay_case(
            ensemble, case_of(row), ReplayTerms(budget, policy, 5, stream, stop=NO_STOP)
        )
        for stream, row in enumerate(rows.tolist())
    ]

    assert [replay.spent for replay in replays] == walks.spent[:, 0].tolist()
    chances = [
        float(POLICIES[policy].chances(ensemble, replace(walks.take([0])))[row, 0, 0])
        for row in range(20)
    ]
    assert [replay.forecast.probabilities[0] for replay in replays] == pytest.approx(
        chances
    )


SOURCE = Catalogue(
    (
        Feature("sex", "category", categories=("f", "m")),
        Feature("age"),
        Feature("city", "category", categories=("a", "b")),
        Feature("mixed", "boolean"),
    )
)
TARGET = Catalogue(
    (
        Feature("mixed"),
        Feature("city", "category", categories=("b", "c")),
        Feature("age"),
    )
)


def test_another_catalogue_gets_the_features_that_it_has_too():
    case = AnswerLog(
        {1: 63.0, 0: 1.0}, {2: Answer(2, "value", 1.0), 3: Answer(3, "refused")}
    )

    matched = match_case(case, SOURCE, TARGET)

    assert matched == AnswerLog({2: 63.0}, {1: Answer(1, "value", 0.0)})


@pytest.mark.parametrize(
    ("code", "texts", "expected"),
    [(0.0, {}, UNSEEN), (UNSEEN, {}, UNSEEN), (UNSEEN, {"city": "c"}, 1.0)],
)
def test_a_category_keeps_its_text_between_catalogues(code, texts, expected):
    case = AnswerLog({}, {2: Answer(2, "value", code)})

    matched = match_case(case, SOURCE, TARGET, texts)

    assert matched.answers[1].value == expected


def test_outcomes_without_a_value_stay_so_between_catalogues():
    case = AnswerLog({}, {1: Answer(1, "unavailable"), 2: Answer(2, "ordered")})

    matched = match_case(case, SOURCE, TARGET)

    assert matched.answers == {2: Answer(2, "unavailable"), 1: Answer(1, "ordered")}
    assert not any(
        math.isnan(answer.value or 0.0) for answer in matched.answers.values()
    )
