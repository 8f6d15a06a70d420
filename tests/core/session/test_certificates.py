"""Certificates: when a session may stop early, and what its label set holds."""

import math
from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.price_lists import PriceList
from askless.core.errors import RefusedError
from askless.core.model.certificates import Certification, EarlyRule, Level
from askless.core.session import machine
from askless.core.session.certificates import (
    binomial_tail,
    choose_rule,
    compute_p_value,
    make_certificate,
)
from askless.core.session.state import Answer, StopRule
from tests.sessions import BUNDLE, observe, small_ensemble

ALL = (True, True, True)
LAST = (False, False, True)
RULES = (EarlyRule(0.6, ALL), EarlyRule(0.9, ALL), EarlyRule(0.9, LAST))
WISH = StopRule(certain=False, disagreement=0.1)
GOOD, BAD = (40, 40, 40, 0, 0, 0), (40, 40, 40, 20, 20, 20)


def level_of(counts, guide=None, budget=None, policy="ordered", **fields) -> Level:
    """Sessions under a budget; the spends of rules are as they stand."""
    made = {
        "bounds": (10, 20),
        "guide_spends": (5, 10, 20),
        "mean_spends": (5, 10, 20),
        "mean_spend": 30,
        "n_covered": (120, 114, 60, 30),
    }
    return Level(
        budget=budget,
        policy=policy,
        guide=tuple(guide or counts),
        counts=tuple(counts),
        **(made | fields),
    )


def certification_of(*levels: Level, **fields) -> Certification:
    made = {"n_samples": 120, "n_guide": 120, "rules": RULES}
    return Certification(
        **(made | fields), chances=(0.0, 0.05, 0.2, 0.7), levels=levels
    )


# Two hypotheses of each sign: 0.88, 0.98 and so on without a calibration.
def certified(*levels: Level, costs=(10, 10, 10), members=None, **fields):
    certification = certification_of(*(levels or [level_of([GOOD] * 3)]), **fields)
    return small_ensemble(costs, members=members, certification=certification)


@pytest.mark.parametrize(("n_hits", "n_trials"), [(0, 5), (2, 9), (7, 40), (8, 8)])
def test_tail_is_the_sum_of_its_chances(n_hits, n_trials):
    expected = sum(
        math.comb(n_trials, k) * 0.1**k * 0.9 ** (n_trials - k)
        for k in range(n_hits + 1)
    )

    assert binomial_tail(n_hits, n_trials, 0.1) == pytest.approx(expected)


def test_stratum_that_nobody_comes_to_shows_nothing():
    assert binomial_tail(0, 0, 0.1) == 1.0


def test_p_value_is_the_largest_of_the_open_strata():
    counts = (10, 20, 50, 9, 0, 1)

    values = [compute_p_value(counts, opens, 0.1) for opens in (ALL, LAST)]

    assert values == [binomial_tail(9, 10, 0.1), binomial_tail(1, 50, 0.1)]


def test_rule_of_least_spend_is_taken_among_those_that_pass():
    level = level_of([GOOD, GOOD, GOOD])

    assert choose_rule(certification_of(level), level, 0.1, 0.1) == 0


def test_rules_are_tested_in_the_order_of_the_guide_up_to_the_first_that_fails():
    sure, likely = (0, 0, 120, 0, 0, 0), (40, 40, 40, 2, 0, 0)
    # The guide holds the first rule for the worst, so the others come before it.
    first = level_of([GOOD, BAD, GOOD], [BAD, likely, sure])
    second = level_of([GOOD, GOOD, GOOD], [BAD, likely, sure])
    third = level_of([GOOD, BAD, (0, 0, 120, 0, 0, 40)], [BAD, likely, sure])

    found = [
        choose_rule(certification_of(level), level, 0.1, 0.1)
        for level in (first, second)
    ]
    nothing = choose_rule(certification_of(third), third, 0.1, 0.1)

    assert found == [2, 0]
    assert nothing is None


def test_rule_that_seems_to_save_no_more_than_a_likelier_one_is_not_tested():
    likely = (40, 40, 40, 2, 0, 0)
    level = level_of([GOOD, BAD, GOOD], [likely, GOOD, GOOD], guide_spends=(5, 20, 20))

    # Of the two that are equally likely the first fails, and ends the search.
    assert choose_rule(certification_of(level), level, 0.1, 0.1) is None
    passed = replace(level, guide_spends=(5, 20, 19))
    assert choose_rule(certification_of(passed), passed, 0.1, 0.1) == 0


def test_without_a_guide_no_rule_is_tested():
    level = level_of([GOOD] * 3)

    assert choose_rule(certification_of(level, n_guide=0), level, 0.1, 0.1) is None


def test_certificates_hold_in_their_share_of_draws():
    # Three strata with their own shares of stops and of labels that differ, by rule.
    alpha, delta, n_rows, random = 0.1, 0.1, 120, np.random.default_rng(0)
    stops = np.array([[0.5, 0.3, 0.2], [0.3, 0.3, 0.4], [0.0, 0.0, 1.0]])
    differs = np.array([[0.3, 0.11, 0.0], [0.105, 0.05, 0.0], [0.0, 0.0, 0.02]])
    guide = np.hstack((stops, stops * differs))
    guide = tuple(map(tuple, (1000 * guide).round().astype(int).tolist()))
    n_wrong = n_found = 0
    for _ in range(1000):
        sizes = random.multinomial(n_rows, stops)
        wrong = random.binomial(sizes, differs)
        level = level_of(list(map(tuple, np.hstack((sizes, wrong)).tolist())), guide)
        made = certification_of(level, n_samples=n_rows, n_guide=1000)
        place = choose_rule.__wrapped__(made, level, alpha, delta)
        n_found += place is not None
        if place is not None:
            n_wrong += bool((differs[place] > alpha).any())

    assert n_found > 900
    assert n_wrong / 1000 <= delta


def test_session_stops_once_its_label_is_probable_enough():
    ensemble = certified()

    state = machine.start(ensemble, None, stop=WISH)
    after = observe(ensemble, state, 0, "value", 1.0)

    assert state.stop_reason is None
    assert machine.forecast(ensemble, after).probabilities[1] == pytest.approx(
        0.88, 0.01
    )
    assert (after.stop_reason, after.next_feature_idx) == ("certified", 1)


def test_session_goes_on_through_strata_that_are_closed():
    closed = level_of([BAD, BAD, GOOD])
    ensemble = certified(closed)
    state = machine.start(ensemble, None, stop=WISH)

    reasons = []
    for feature_idx in (0, 1):
        state = observe(ensemble, state, feature_idx, "value", 1.0)
        reasons.append(state.stop_reason)

    assert reasons == [None, "certified"]


def test_certificate_tells_what_it_rests_on():
    ensemble = certified()

    found = make_certificate(ensemble, machine.start(ensemble, None, stop=WISH))

    assert (found.lack, found.threshold, found.n_samples) == (None, 0.6, 120)
    assert (found.mean_spend, found.mean_spend_whole) == (5, 30)
    assert [stratum.least_spend for stratum in found.strata] == [0, 10, 20]
    assert [stratum.n_samples for stratum in found.strata] == [40, 40, 40]
    assert not found.allows(0.59, 10)


@pytest.mark.parametrize(
    ("alpha", "counts", "lack"), [(0.01, GOOD, "too_few_rows"), (0.1, BAD, "not_shown")]
)
def test_session_without_a_rule_says_why_and_never_stops_early(alpha, counts, lack):
    ensemble = certified(level_of([counts] * 3))
    state = machine.start(ensemble, None, stop=replace(WISH, disagreement=alpha))

    after = observe(ensemble, state, 0, "value", 1.0)

    assert make_certificate(ensemble, state).lack == lack
    assert after.stop_reason is None


def test_level_is_the_largest_that_the_budget_reaches():
    few, many = level_of([GOOD] * 3, budget=10), level_of([BAD] * 3, budget=25)
    ensemble = certified(few, many, level_of([GOOD] * 3))

    found = [
        make_certificate(ensemble, machine.start(ensemble, budget, stop=WISH))
        for budget in (9, 10, 24, 25, 99, None)
    ]

    lacks = ["small_budget", None, None, "not_shown", "not_shown", None]
    assert [one.lack for one in found] == lacks
    assert [rule.budget for rule in found] == [None, 10, 10, 25, 25, None]


def lack_of(ensemble, **options):
    state = machine.start(ensemble, None, stop=WISH, **options)
    return make_certificate(ensemble, state).lack


def test_session_unlike_those_set_aside_has_no_certificate():
    ensemble = certified()
    costs = {feature.name: 20 for feature in ensemble.catalogue.features}
    dearer = ensemble.at_prices(PriceList(costs), "prices")

    assert lack_of(ensemble, known={2: 1.0}) == "known_values"
    assert lack_of(ensemble, policy="sample") == "other_policy"
    assert lack_of(dearer) == "no_rows"


@pytest.mark.parametrize(
    ("outcome", "lack"),
    [
        ("refused", "hidden_answers"),
        ("unknown", "hidden_answers"),
        ("unavailable", None),
    ],
)
def test_refused_or_unknown_answer_takes_the_certificate_away(outcome, lack):
    """Rows set aside have missing cells: `unavailable` is one of these."""
    ensemble = certified()
    state = observe(ensemble, machine.start(ensemble, None, stop=WISH), 0, outcome)

    after = observe(ensemble, state, 1, "value", 1.0)

    assert make_certificate(ensemble, after).lack == lack
    assert (after.stop_reason == "certified") == (lack is None)


@pytest.mark.parametrize(
    ("outcome", "has_set"), [("refused", False), ("unavailable", True)]
)
def test_label_set_is_of_sessions_without_refusals(outcome, has_set):
    ensemble = certified(costs=(10,))
    state = machine.start(ensemble, None, coverage=0.9)

    end = observe(ensemble, state, 0, outcome)

    assert (machine.forecast(ensemble, end).label_set is not None) == has_set


def test_prices_of_training_keep_the_certificate():
    ensemble = certified()
    costs = {feature.name: feature.cost for feature in ensemble.catalogue.features}

    assert lack_of(ensemble.at_prices(PriceList(costs), "prices")) is None


@pytest.mark.parametrize(
    ("answers", "is_led"),
    [
        ([[(0, 1.0)]], True),
        ([[(0, None)]], True),
        ([[(1, 1.0)]], False),
        ([[(0, 1.0), (1, 1.0)]], False),
        ([[(0, 1.0)], [(0, 0.0)]], False),
    ],
)
def test_session_is_led_as_long_as_it_answers_what_is_asked(answers, is_led):
    ensemble = certified()
    state = machine.start(ensemble, None, stop=WISH)

    for given in answers:
        state = machine.observe(
            ensemble,
            state,
            [
                Answer(idx, "unavailable" if value is None else "value", value)
                for idx, value in given
            ],
        )

    assert state.is_led == is_led
    assert (state.stop_reason == "certified") <= is_led


def test_session_with_a_result_to_come_does_not_stop_until_it_is_there():
    ensemble = certified(costs=(0, 0, 10), members={0: BUNDLE, 1: BUNDLE})
    state = machine.start(ensemble, None, stop=WISH)

    halfway = observe(ensemble, state, 0, "value", 1.0)
    whole = observe(ensemble, halfway, 1, "value", 1.0)

    assert (halfway.pending, halfway.stop_reason) == ((1,), None)
    assert whole.stop_reason == "certified"


@pytest.mark.parametrize(
    ("given", "is_led"),
    [
        ({0: 1.0}, True),
        ({0: None, 1: None}, True),
        ({0: None, 1: 1.0}, True),
        ({0: None}, False),
        ({0: 1.0, 2: 1.0}, False),
    ],
)
def test_bundle_is_answered_whole_or_to_come(given, is_led):
    ensemble = certified(costs=(0, 0, 10), members={0: BUNDLE, 1: BUNDLE})
    state = machine.start(ensemble, None, stop=WISH)
    answers = [
        Answer(idx, "unavailable" if value is None else "value", value)
        for idx, value in given.items()
    ]

    assert machine.observe(ensemble, state, answers).is_led == is_led


def test_answer_past_the_end_is_none_that_was_asked():
    ensemble = certified(costs=(10, 10))
    state = machine.start(ensemble, 5, stop=WISH)

    after = observe(ensemble, state, 0, "unavailable")

    assert state.next_feature_idx is None
    assert not after.is_led


def test_other_question_is_not_to_be_answered_before_a_result_comes():
    ensemble = certified()
    state = machine.start(ensemble, None, stop=WISH)

    ordered = observe(ensemble, state, 0, "ordered")
    later = observe(ensemble, ordered, 1, "value", 1.0)

    assert ordered.is_led
    assert not later.is_led


def test_budget_changes_only_before_the_first_answer():
    ensemble = certified()
    state = machine.start(ensemble, 20, stop=WISH)
    after = observe(ensemble, state, 0, "unavailable")

    led = [machine.change_budget(ensemble, one, 30).is_led for one in (state, after)]

    assert led == [True, False]


def test_stop_by_two_certainties_is_refused():
    wish = replace(WISH, confidence=0.9)

    with pytest.raises(RefusedError, match=r"stop\.disagreement"):
        machine.start(certified(), None, stop=wish)


# Label sets: of 120 rows 114 had a true class of at least 0.05, 60 of at least 0.2.


@pytest.mark.parametrize(
    ("coverage", "expected"),
    [(0.9, (0, 1)), (0.49, (1,)), (0.24, (1,)), (0.999, (0, 1))],
)
def test_label_set_has_the_classes_as_probable_as_enough_true_ones(coverage, expected):
    ensemble = certified(costs=(10,))
    state = machine.start(ensemble, None, coverage=coverage)

    end = observe(ensemble, state, 0, "value", 1.0)

    assert machine.forecast(ensemble, state).label_set is None
    assert machine.forecast(ensemble, end).label_set == expected


def test_label_set_always_has_the_label():
    level = level_of([GOOD] * 3, budget=5, n_covered=(120, 120, 120, 120))
    ensemble = certified(level, costs=(10,))

    state = machine.start(ensemble, 5, coverage=0.9)
    forecast = machine.forecast(ensemble, state)

    assert max(forecast.probabilities) < 0.7
    assert forecast.label_set == (forecast.label,)


def test_label_set_waits_for_results_and_needs_a_session_like_those_set_aside():
    ensemble = certified(costs=(10,))
    state = machine.start(ensemble, None, coverage=0.9)

    ordered = observe(ensemble, state, 0, "ordered")
    come = observe(ensemble, ordered, 0, "value", 1.0)
    corrected = observe(ensemble, come, 0, "value", 0.0)

    sets = [
        machine.forecast(ensemble, one).label_set for one in (ordered, come, corrected)
    ]
    assert sets == [None, (0, 1), None]
