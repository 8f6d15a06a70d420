"""Promotions of many challengers: few by luck, and most of those that are better."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.promotions.repetitions import Pair, judge_daily, repeat

ALPHA = 0.05
DAYS = {"n_days": 40, "cases_per_day": 20}


def test_gaps_have_their_stated_mean() -> None:
    gaps = Pair(0.2, 0.1, n_days=100, cases_per_day=100).draw(np.random.default_rng(0))

    assert gaps.mean() == pytest.approx(0.1, abs=0.02)
    assert (gaps != 0).mean() == pytest.approx(0.2, abs=0.02)


def test_equal_challengers_are_promoted_by_daily_tests_but_not_by_the_sequence() -> (
    None
):
    found = repeat(Pair(0.2, 0.0, **DAYS), ALPHA, 300, (1,))

    assert found.by_sequence.value <= ALPHA
    assert found.by_daily_t.low > 2 * ALPHA
    assert found.by_last_t.low < ALPHA < found.by_last_t.high
    assert found.median_day is None


def test_a_better_challenger_is_promoted_by_all() -> None:
    found = repeat(Pair(0.2, 0.1, **DAYS), ALPHA, 50, (2,))

    assert min(one.value for one in found[:3]) > 0.9
    assert 1 <= found.median_day <= 40


def test_daily_tests_are_those_of_scipy() -> None:
    gaps = Pair(0.3, 0.1, **DAYS).draw(np.random.default_rng(4))

    found = judge_daily(gaps, 20, ALPHA)

    days = [
        stats.ttest_1samp(gaps[:seen], 0.0, alternative="greater").pvalue < ALPHA
        for seen in range(20, gaps.size + 1, 20)
    ]
    assert found.tolist() == days
