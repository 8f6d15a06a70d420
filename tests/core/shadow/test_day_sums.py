"""Means over cases, and intervals by drawing whole days."""

import numpy as np
import pytest

from askless.core.shadow.day_sums import LEAST_DAYS, DaySums


def sums_of(days, **figures):
    sums = DaySums()
    sums.add(np.array(days), {"cases": np.ones(len(days)), **figures})
    return sums.draw(np.random.default_rng(0))


def test_means_are_of_cases_not_of_days():
    drawn = sums_of([1, 1, 1, 2], spend=[1.0, 1.0, 1.0, 5.0])

    assert drawn.mean("spend").value == 2.0
    assert drawn.total("spend") == 8.0
    assert drawn.n_days == 2


def test_blocks_change_nothing():
    random = np.random.default_rng(3)
    days, spend = np.arange(60) // 6, random.random(60)
    parts = DaySums()
    for rows in (slice(0, 25), slice(25, 60)):
        parts.add(days[rows], {"cases": np.ones(60)[rows], "spend": spend[rows]})

    estimate = parts.draw(np.random.default_rng(0)).mean("spend")

    whole = sums_of(days, spend=spend).mean("spend")
    assert estimate.value == pytest.approx(whole.value)
    assert estimate.interval == pytest.approx(whole.interval)


def test_few_days_have_no_interval():
    few = sums_of(range(LEAST_DAYS - 1), spend=np.arange(LEAST_DAYS - 1.0))
    enough = sums_of(range(LEAST_DAYS), spend=np.arange(float(LEAST_DAYS)))

    assert few.mean("spend").interval is None
    assert enough.mean("spend").interval is not None


def test_cases_of_a_day_that_go_together_widen_the_interval():
    random = np.random.default_rng(0)
    by_day = np.repeat(random.normal(size=40), 25)
    alone = random.permutation(by_day)
    days = np.arange(1000) // 25

    together = sums_of(days, spend=by_day).mean("spend").interval
    apart = sums_of(days, spend=alone).mean("spend").interval

    assert together[1] - together[0] > 2 * (apart[1] - apart[0])


def test_intervals_hold_the_true_mean_about_as_often_as_they_say():
    random, n_held = np.random.default_rng(5), 0
    for _ in range(100):
        level = np.repeat(random.normal(size=60), 5)
        spend = 1.0 + level + random.normal(size=300)
        low, high = sums_of(np.arange(300) // 5, spend=spend).mean("spend").interval
        n_held += low <= 1.0 <= high

    # 95 of 100 on the mean; 88 or fewer come once in 500 times.
    assert 89 <= n_held <= 100


def test_a_difference_is_paired():
    random = np.random.default_rng(0)
    spend, days = 100 * random.random(200), np.arange(200) // 10
    drawn = sums_of(days, spend=spend + 1.0, other=spend)

    gap = drawn.mean("spend", less="other")

    assert gap.value == pytest.approx(1.0)
    assert gap.interval == pytest.approx((1.0, 1.0))


def test_nothing_below_is_a_mean_of_nothing():
    drawn = sums_of([1, 2, 3, 4, 5], loss=np.zeros(5), judged=np.zeros(5))

    assert drawn.mean("loss", "judged").value == 0.0
    assert drawn.mean("loss", "judged").interval is None


def test_bounds_reach_from_the_low_end_of_the_least_to_the_high_end_of_the_most():
    random = np.random.default_rng(0)
    least, days = random.random(100), np.arange(100) // 10
    drawn = sums_of(days, spend=least + 1, spend_least=least, spend_most=least + 3)

    bounded = drawn.bounded("spend")

    assert bounded.most == pytest.approx(bounded.least + 3)
    assert bounded.interval[0] == drawn.mean("spend_least").interval[0]
    assert bounded.interval[1] == drawn.mean("spend_most").interval[1]
    few = sums_of([1, 2], spend=[1, 1], spend_least=[0, 0], spend_most=[2, 2])
    assert few.bounded("spend").interval is None
