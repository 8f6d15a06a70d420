"""Alarms for a refresh: against exact distributions, one by one, and in repetitions."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from scipy import stats

from askless.core.catalogue.catalogue import UNSEEN
from askless.core.model.alarms import (
    LEAST_CASES,
    TOLERATED_GAP,
    Evidence,
    FeatureEvidence,
    OutcomeEvidence,
    chi_square_bound,
    count_trained,
    list_alarms,
    make_feature_evidence,
    outside_chance,
    tail_chance,
)
from askless.core.model.drift import compute_mean_shift
from tests.core.model.test_drift import ensemble as ensemble

NO_OUTCOMES = OutcomeEvidence(0, 0, None, 0.0, 0.0, None)
# Of a model that is right in 80 of 100 cases, as its curve and its chances say.
FIT = OutcomeEvidence(400, 80, 0.22, 320.0, 64.0, 0.03)
FEATURE = FeatureEvidence(0, 500, 400, 0, True, 0.0, 1)


def evidence_of(*features, outcomes=NO_OUTCOMES, n_cases=400, n_new=0):
    return Evidence(500, n_cases, features, outcomes, n_new)


def kinds_of(evidence):
    return [alarm.kind for alarm in list_alarms(evidence)]


@pytest.mark.parametrize(
    ("n_outside", "n_cases", "n_trained"), [(1, 5, 4), (3, 7, 2), (2, 40, 9), (7, 7, 3)]
)
def test_the_chance_outside_a_range_counts_all_orders(n_outside, n_cases, n_trained):
    # Of rows and cases in any order, the range leaves out j below and k - j above.
    both = n_cases + n_trained
    orders = comb(both, n_cases)
    exact = sum(
        (outside + 1) * comb(both - outside - 2, n_trained - 2)
        for outside in range(n_outside, n_cases + 1)
    )

    found = outside_chance(n_outside, n_cases, n_trained)

    assert found == pytest.approx(exact / orders)


def test_one_row_has_no_range():
    assert outside_chance(5, 5, 1) == 1.0


@pytest.mark.parametrize(("share", "expected"), [(0.3, 0.2), (1.0, 0.9), (0.5, 0.1)])
def test_a_tail_is_at_least_the_binomial_one(share, expected):
    exact = stats.binom.sf(share * 50 - 1, 50, expected)

    assert 0.999 * exact <= tail_chance(share, expected, 50) <= 30 * exact


def test_a_share_as_expected_is_no_tail():
    assert tail_chance(0.2, 0.2, 50) == tail_chance(0.1, 0.2, 50) == 1.0


def test_what_is_impossible_has_no_chance():
    assert tail_chance(0.1, 0.0, 50) == 0.0


@pytest.mark.parametrize("n_degrees", [1, 4, 30])
@pytest.mark.parametrize("level", [0.05, 1e-5])
def test_chi_square_is_bounded(n_degrees, level):
    exact = stats.chi2.isf(level, n_degrees)

    assert exact <= chi_square_bound(n_degrees, level) <= 3 * exact


def test_cases_like_the_rows_of_training_raise_no_alarm():
    assert kinds_of(evidence_of(FEATURE, outcomes=FIT)) == []


def test_without_cases_there_is_no_alarm():
    assert kinds_of(evidence_of(n_cases=0)) == []


def test_numbers_outside_the_range_raise_an_alarm_if_they_are_many():
    few, many = replace(FEATURE, n_outside=2), replace(FEATURE, n_outside=30)

    assert kinds_of(evidence_of(few)) == []
    (alarm,) = list_alarms(evidence_of(many))
    assert (alarm.kind, alarm.feature_idx) == ("outside", 0)
    assert (alarm.value, alarm.tolerated) == (30 / 400, 2 / 501)


def test_unseen_categories_raise_an_alarm_beyond_their_tolerance():
    category = replace(FEATURE, is_number=False)

    assert kinds_of(evidence_of(replace(category, n_outside=30))) == []
    assert kinds_of(evidence_of(replace(category, n_outside=80))) == ["outside"]


def test_drift_is_an_alarm_where_its_whole_interval_is_beyond_the_tolerance():
    assert kinds_of(evidence_of(replace(FEATURE, index=0.2))) == []
    (alarm,) = list_alarms(evidence_of(replace(FEATURE, index=0.9)))
    assert (alarm.kind, alarm.value, alarm.tolerated) == ("drift", 0.9, 0.1)


def test_features_that_few_are_asked_for_are_not_compared_with_training():
    asked = replace(FEATURE, n_values=300, index=9.0)

    assert kinds_of(evidence_of(asked)) == []


def test_a_feature_without_figures_or_rows_has_no_drift():
    assert kinds_of(evidence_of(replace(FEATURE, index=None))) == []
    assert kinds_of(evidence_of(replace(FEATURE, index=9.0, n_trained=0))) == []


def test_few_cases_raise_no_alarm():
    few = LEAST_CASES - 1
    feature = replace(FEATURE, n_values=few, n_outside=few, index=99.0)
    outcomes = replace(FIT, n_cases=few, n_wrong=few)

    assert kinds_of(evidence_of(feature, outcomes=outcomes, n_cases=few)) == []


def test_more_errors_than_the_curve_allows_raise_an_alarm():
    a_bit, far = replace(FIT, n_wrong=100), replace(FIT, n_wrong=160)

    assert kinds_of(evidence_of(outcomes=a_bit)) == []
    kinds = kinds_of(evidence_of(outcomes=far))
    assert kinds == ["error", "calibration"]


def test_without_a_curve_no_error_is_too_large_but_chances_may_be_wrong():
    blind = replace(FIT, n_wrong=240, most_error=None, most_gap=None)

    (alarm,) = list_alarms(evidence_of(outcomes=blind))

    assert (alarm.kind, alarm.tolerated) == ("calibration", TOLERATED_GAP)
    assert alarm.value == pytest.approx(0.8 - 0.4)


def test_chances_that_are_too_low_raise_an_alarm_too():
    shy = replace(FIT, sum_chances=220.0, sum_variances=99.0)

    (alarm,) = list_alarms(evidence_of(outcomes=shy))

    assert alarm.kind == "calibration"
    assert alarm.value < 0


@pytest.mark.parametrize(("n_new", "expected"), [(124, []), (125, ["cases"])])
def test_a_quarter_of_the_rows_in_new_cases_is_a_reason(n_new, expected):
    assert kinds_of(evidence_of(n_new=n_new)) == expected


def test_of_a_small_table_fifty_new_cases_are_a_reason():
    small = replace(evidence_of(n_new=50), n_trained=20)

    assert kinds_of(small) == ["cases"]
    assert kinds_of(replace(small, n_new=49)) == []


def test_evidence_of_a_number_is_its_squared_shift(ensemble):
    values = np.array([50.5, 49.5, 51.0, 90.0])

    found = make_feature_evidence(ensemble, 0, values, 100)

    shift = compute_mean_shift(ensemble, 0, values)
    assert found.index == shift**2
    assert (found.n_outside, found.n_values, found.n_degrees) == (1, 4, 1)
    assert found.is_number


def test_a_shift_is_of_clipped_values_in_deviations_of_training(ensemble):
    # Training clipped to 49 and 51; the mean was 50, the deviation 2.
    found = compute_mean_shift(ensemble, 0, np.array([90.0, 50.0]))

    assert found == 0.25


def test_a_number_without_figures_has_no_shift(ensemble):
    found = make_feature_evidence(ensemble, 4, np.array([1.0, 2.0]), 100)

    assert found.index is None
    assert found.n_outside == 0


def test_evidence_of_a_category_is_its_stability_index(ensemble):
    values = np.array([UNSEEN, 0.0, 1.0, 1.0])

    found = make_feature_evidence(ensemble, 1, values, 100)

    assert (found.n_outside, found.n_degrees, found.is_number) == (1, 1, False)
    assert found.index > 0


def test_missing_cells_that_are_not_marked_may_be_of_any_feature(ensemble):
    assert count_trained(ensemble, 100, 30) == [70] * 5
    assert count_trained(ensemble, 100, 300) == [0] * 5


def test_marked_cells_are_of_their_feature(ensemble):
    ladder = ensemble.panels
    columns = ladder.panels[0].blend.columns
    codes, means = columns.codes.copy(), columns.means.copy()
    codes[3], means[3] = -2, 0.2
    blends = [
        replace(
            panel,
            blend=replace(
                panel.blend, columns=replace(columns, codes=codes, means=means)
            ),
        )
        for panel in ladder.panels
    ]
    marked = replace(ensemble, panels=replace(ladder, panels=tuple(blends)))

    assert count_trained(marked, 100, 30) == [90, 90, 90, 80, 90]


def test_stable_cases_raise_few_alarms():
    random = np.random.default_rng(8)
    n_alarms = 0
    for _ in range(300):
        rows, cases = random.normal(size=(200, 4)), random.normal(size=(150, 4))
        low, high = rows.min(axis=0), rows.max(axis=0)
        outside = ((cases < low) | (cases > high)).sum(axis=0)
        shifts = (cases.mean(axis=0) - rows.mean(axis=0)) / rows.std(axis=0)
        features = [
            FeatureEvidence(idx, 200, 150, int(outside[idx]), True, shifts[idx] ** 2, 1)
            for idx in range(4)
        ]
        chances = random.uniform(0.5, 1.0, 150)
        n_wrong = int((random.random(150) > chances).sum())
        outcomes = OutcomeEvidence(
            150, n_wrong, 0.3, chances.sum(), (chances * (1 - chances)).sum(), 0.0
        )
        evidence = Evidence(200, 150, features, outcomes, 0)
        n_alarms += bool(list_alarms(evidence, alpha=0.05))

    assert n_alarms <= 0.05 * 300
