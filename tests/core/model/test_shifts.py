"""Shifts of a provider: named where there is one, not where there is none, by whom."""

import math

import numpy as np
import pytest

from askless.core.model.shifts import (
    HELD,
    LAG,
    LEAST_REFERENCE,
    MISSES_LEVEL,
    MOST_CALLS,
    OTHER_LEVEL,
    WINDOWS,
    Trace,
    count_beyond,
    count_hits,
    divergence,
    list_shifts,
    score_rises,
)

NO_SHARES = np.zeros(0, dtype=bool)
NO_TIMES = np.zeros(0)


def every(step, n_calls):
    """A hit at each so many-th call, so that no chance is left."""
    return np.arange(n_calls) % step == step - 1


def trace_of(is_failed=NO_SHARES, is_empty=NO_SHARES, latencies=NO_TIMES, prices=()):
    return Trace(is_failed, is_empty, latencies, prices)


def kinds_of(trace):
    return [shift.kind for shift in list_shifts(trace)]


def test_a_provider_without_calls_has_no_shift() -> None:
    assert list_shifts(trace_of()) == ()


def test_misses_that_double_are_named_with_both_shares() -> None:
    is_empty = np.concatenate([every(5, 1_200), every(5, 200) | every(5, 201)[1:]])

    (shift,) = list_shifts(trace_of(is_empty=is_empty))

    assert (shift.kind, shift.n_before) == ("misses", 1_200)
    assert (shift.before, shift.after) == pytest.approx((0.2, 0.4), abs=0.01)
    assert shift.n_after in WINDOWS
    assert shift.n_since == 0


def test_misses_that_stay_are_not_named() -> None:
    assert kinds_of(trace_of(is_empty=every(5, MOST_CALLS))) == []


def test_a_fall_of_misses_is_named_and_a_fall_of_failures_is_not() -> None:
    falls = np.concatenate([every(2, 1_000), every(9, 200)])

    shifts = list_shifts(trace_of(is_failed=falls, is_empty=falls))

    assert [(shift.kind, shift.after < shift.before) for shift in shifts] == [
        ("misses", True)
    ]


def test_failures_that_begin_are_named() -> None:
    is_failed = np.concatenate([np.zeros(600, dtype=bool), every(3, 50)])

    (shift,) = list_shifts(trace_of(is_failed=is_failed))

    assert (shift.kind, shift.before) == ("failures", 0.0)


def test_a_short_reference_names_nothing() -> None:
    least = LEAST_REFERENCE + LAG
    is_empty = np.concatenate([every(5, least - 150), np.ones(150, dtype=bool)])

    named = [kinds_of(trace_of(is_empty=is_empty[n:])) for n in (0, 1)]

    assert named == [["misses"], []]


def test_a_shift_is_listed_for_some_calls_and_then_belongs_to_the_reference() -> None:
    change, later = np.ones(25, dtype=bool), every(5, HELD + 300)
    is_empty = np.concatenate([every(5, 1_000), change, later])

    seen = [
        kinds_of(trace_of(is_empty=is_empty[: 1_025 + n]))
        for n in (0, HELD, HELD + 300)
    ]

    assert seen == [["misses"], ["misses"], []]


@pytest.mark.parametrize(
    ("factor", "kinds"), [(1.0, []), (2.0, ["latency"]), (0.5, ["latency"])]
)
def test_latencies_are_named_where_they_change(factor, kinds) -> None:
    times = 300.0 + 10 * (np.arange(1_200) % 7)
    times[-200:] *= factor

    shifts = list_shifts(trace_of(latencies=times))

    assert [shift.kind for shift in shifts] == kinds
    assert [shift.after / shift.before for shift in shifts] == [factor] * len(shifts)


def test_a_latency_of_a_millisecond_more_is_no_shift() -> None:
    times = np.full(1_200, 50.0)
    times[-200:] += 1

    assert kinds_of(trace_of(latencies=times)) == []


def test_a_new_price_is_named_at_its_first_call() -> None:
    (shift,) = list_shifts(trace_of(prices=[50, 50, 60]))

    assert (shift.kind, shift.before, shift.after) == ("price", 50, 60)
    assert (shift.n_before, shift.n_after, shift.n_since) == (2, 1, 0)


@pytest.mark.parametrize(
    "prices",
    [[50], [50, 50], [50, 60, 50, *[60] * HELD], [50, *[60] * (HELD + 1)]],
)
def test_a_price_that_was_there_or_is_no_news_is_not_named(prices) -> None:
    assert kinds_of(trace_of(prices=prices)) == []


def test_scores_are_those_of_the_likelihood_ratio() -> None:
    is_hit = np.concatenate([every(5, 800), every(2, 200)])

    scores = score_rises(count_hits(is_hit, np.array([1_000])))[0]

    share = (160 + 100) / 1_000
    apart = 160 * math.log(0.2) + 640 * math.log(0.8) + 200 * math.log(0.5)
    together = 260 * math.log(share) + 740 * math.log(1 - share)
    assert scores[-1] == pytest.approx(apart - together)


def test_divergence_of_sure_things_is_finite() -> None:
    shares, others = np.array([0.0, 1.0, 0.0]), np.array([0.5, 0.5, 0.0])

    assert divergence(shares, others) == pytest.approx([math.log(2)] * 2 + [0.0])


@pytest.mark.slow
def test_doubled_misses_are_named_in_time_and_seldom_otherwise() -> None:
    rng = np.random.default_rng(5)
    lives = rng.random((400, 1_000 + 2 * LAG)) < 0.2
    lives[:, -LAG:] = rng.random((400, LAG)) < 0.4
    after, before = np.arange(1_201, 1_401), np.arange(500, 20_500)

    named = [
        (score_rises(count_hits(life, after)) >= MISSES_LEVEL).any() for life in lives
    ]
    false = [
        (score_rises(count_hits(rng.random(20_500) < 0.2, before)) >= MISSES_LEVEL)
        .any(axis=1)
        .argmax()
        or before.size
        for _ in range(40)
    ]

    assert np.mean(named) >= 0.98
    assert sum(false) / max(1, sum(np.array(false) < before.size)) > 40_000


@pytest.mark.slow
def test_slower_answers_are_seldom_named_where_nothing_has_changed() -> None:
    rng = np.random.default_rng(6)
    ends = np.arange(500, 10_500)

    n_named = sum(
        (score_rises(count_beyond(rng.lognormal(6, 0.5, 10_500), ends)) >= OTHER_LEVEL)
        .any(axis=1)
        .any()
        for _ in range(4)
    )

    assert n_named <= 2
