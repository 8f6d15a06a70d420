"""Intervals of a curve's errors."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core.model.figures import QUANTILE, wilson_interval
from askless.core.model.model import Curve
from askless.core.pipeline.validation import average_curves
from askless.core.simulation.curves import Endings, make_curve
from tests.small import table_of

CURVE = Curve((0,), (0.5,), (0.2,), (0.0,), (0,), n_samples=50)


@pytest.mark.parametrize(("n_wrong", "n_rows"), [(0, 20), (3, 20), (10, 1000), (7, 7)])
def test_ends_are_the_shares_at_which_the_normal_test_just_rejects(n_wrong, n_rows):
    share = n_wrong / n_rows

    ends = wilson_interval(share, n_rows)

    for end in ends:
        distance = abs(share - end)
        spread = np.sqrt(end * (1.0 - end) / n_rows)
        assert distance == pytest.approx(QUANTILE * spread, abs=1e-12)


def test_interval_of_no_rows_is_everything():
    assert wilson_interval(0.0, 0) == (0.0, 1.0)


def test_interval_covers_the_share_in_about_its_part_of_draws():
    wrong = np.random.default_rng(0).binomial(200, 0.1, size=2000)

    ends = np.array([wilson_interval(one / 200, 200) for one in wrong])

    is_covered = (ends[:, 0] <= 0.1) & (ends[:, 1] >= 0.1)
    assert is_covered.mean() == pytest.approx(0.95, abs=0.02)


def test_fewer_effective_rows_make_a_wider_interval():
    few = replace(CURVE, n_effective=10.0)

    (low, high), (few_low, few_high) = CURVE.intervals[0], few.intervals[0]

    assert few_low < low < 0.2 < high < few_high


def test_folds_that_share_their_rows_make_a_wider_interval():
    folds = replace(CURVE, n_samples=50, n_trained=40)

    assert folds.intervals == replace(CURVE, n_effective=50 / 2.25).intervals
    assert replace(folds, n_effective=20.0).intervals == (
        replace(CURVE, n_effective=20 / 2.25).intervals
    )


@pytest.mark.parametrize(
    ("weights", "row_groups", "expected"),
    [
        ([0.25] * 4, None, None),
        ([0.25] * 4, [0, 0, 1, 1], 2.0),
        ([0.5, 0.5, 0.0, 0.0], None, 2.0),
        ([0.25, 0.25, 0.25, 0.25], [3, 1, 5, 9], 4.0),
    ],
)
def test_rows_count_by_weight_and_by_what_belongs_together(
    weights, row_groups, expected
):
    dataset = table_of([[0.0, 1.0, 0.0, 1.0]], weights=weights)
    groups = None if row_groups is None else np.array(row_groups)
    zeros = np.zeros((4, 1), np.int64)
    ends = Endings(zeros > 0, zeros > 0, zeros, None)

    curve = make_curve(replace(dataset, row_groups=groups), [None], ends)

    assert curve.n_effective == (None if expected is None else pytest.approx(expected))


def test_pooled_folds_count_together():
    fold = replace(CURVE, n_effective=20.0)

    assert average_curves([fold, fold]).n_effective == pytest.approx(40.0)
    assert average_curves([CURVE, CURVE]).n_effective is None
    assert average_curves([CURVE, fold]).n_effective == pytest.approx(
        1 / (0.25 / 50 + 0.25 / 20)
    )


def test_budget_stands_at_the_largest_of_the_curve_within_it():
    curve = Curve((0, 5, None), *[(0.0,) * 3] * 4, n_samples=9)

    assert [curve.place_at(one) for one in (0, 4, 5, 99, None)] == [0, 0, 1, 1, 2]
