"""Panels compared with ending early: where it pays, and one switch at most."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.model.ensemble import BudgetRange
from askless.core.pipeline.comparison import (
    PlayedRows,
    average_differences,
    choose_thrifty_ranges,
    compare_two_policies,
    compute_mean_saving,
    merge_ranges,
    simulate_policy,
)
from tests.panels import make_ladder, make_stopping
from tests.sessions import small_ensemble
from tests.small import finish, table_of

N_ROWS = 100
BOTH = "panels", "adaptive"


def play(costs=(0.2, 0.2), log_losses=(0.5, 0.5), spends=(10.0, 5.0)):
    """Rows of which the first so many err, and that all lose and spend the same."""
    is_wrong = [np.arange(N_ROWS) < round(share * N_ROWS) for share in costs]
    same = np.ones(N_ROWS)
    return PlayedRows(
        np.array(is_wrong, float),
        np.array([loss * same for loss in log_losses]),
        np.array([spend * same for spend in spends]),
    )


def save(played, row_groups=None):
    groups = np.arange(N_ROWS) if row_groups is None else row_groups
    return compute_mean_saving(played, np.full(N_ROWS, 1 / N_ROWS), groups)


def naive_pair(gaps, weights, row_groups):
    """Mean and standard error of weighted differences, group by group."""
    mean = sum(w * g for w, g in zip(weights, gaps, strict=True))
    squares = 0.0
    for group in set(row_groups):
        its = [i for i, one in enumerate(row_groups) if one == group]
        squares += sum(weights[i] * (gaps[i] - mean) for i in its) ** 2
    return mean, math.sqrt(squares)


def naive_switch(savings):
    """The best of all assignments without a forbidden range or a second switch."""
    best, most = (False,) * len(savings), 0.0
    for one in itertools.product((False, True), repeat=len(savings)):
        n_switches = sum(a != b for a, b in itertools.pairwise(one))
        its = [saved for saved, is_its in zip(savings, one, strict=True) if is_its]
        if n_switches < 2 and all(saved > 0 for saved in its) and sum(its) > most:
            best, most = one, sum(its)
    return best


def test_same_errors_for_half_the_spend_pay():
    assert save(play()) == pytest.approx(5.0)


@pytest.mark.parametrize("spends", [(10.0, 9.5), (10.0, 10.0), (10.0, 12.0), (0, 0)])
def test_little_saved_does_not_pay(spends):
    assert save(play(spends=spends)) == 0


def test_fewer_errors_pay_and_more_do_not():
    # One row of 100 more is one standard error.
    assert save(play(costs=(0.2, 0.1))) > 0
    assert save(play(costs=(0.2, 0.21))) == 0


def test_errors_within_a_quarter_of_a_standard_error_pay():
    costs = np.zeros((2, N_ROWS))
    costs[0, :20], costs[1, 19:40] = 1.0, 1.0

    # 21 for 20, by a paired standard error of some 6 rows.
    assert save(play()._replace(costs=costs)) > 0


def test_surely_higher_log_loss_does_not_pay():
    random = np.random.default_rng(0)
    noise = random.normal(size=N_ROWS)
    noise -= noise.mean()
    # A standard error of .1 each.
    above = [np.array([0 * noise, noise + gap * noise.std()]) for gap in (0.19, 0.21)]

    saved = [save(play()._replace(log_losses=one)) for one in above]

    assert saved[0] > 0
    assert saved[1] == 0


def test_losses_of_a_range_are_halfway_to_those_of_all_budgets():
    costs = np.zeros((2, N_ROWS, 4))
    costs[1, :8, 0] = 1.0
    played = PlayedRows(costs, np.ones(costs.shape), np.arange(8.0).reshape(2, 1, 4))

    first = played.lean(np.array([0]))

    # 8 of 100 there and 2 on average.
    assert first.costs[1].mean() == pytest.approx(0.05)
    assert first.spends.ravel().tolist() == [0.0, 4.0]


def test_more_errors_are_those_under_the_last_budget():
    costs = np.zeros((2, N_ROWS, 2))
    costs[0, :30, 0], costs[1, :7, 1] = 1.0, 1.0
    played = PlayedRows(costs, costs, costs)

    assert played.count_more_errors(np.full(N_ROWS, 1 / N_ROWS)) == pytest.approx(0.07)


def test_row_group_counts_as_one():
    costs = np.zeros((2, N_ROWS))
    costs[0, :10], costs[1, 10:23] = 1.0, 1.0
    played = play()._replace(costs=costs)
    groups = np.repeat([0, 1, 2], [10, 13, 77])

    # 13 for 10 is .6 standard errors of rows on their own, .2 of the three groups.
    assert save(played) == 0
    assert save(played, groups) > 0


@given(
    st.lists(
        st.tuples(st.floats(-2, 2), st.floats(0.1, 3), st.integers(0, 3)),
        min_size=1,
        max_size=12,
    )
)
def test_paired_difference_is_the_naive_one(rows):
    gaps, weights, groups = zip(*rows, strict=True)
    shares = np.array(weights) / sum(weights)

    found = average_differences(np.array(gaps), shares, np.array(groups))

    assert found == pytest.approx(naive_pair(gaps, shares, groups), abs=1e-12)


@given(st.lists(st.sampled_from([0.0, 1.0, 2.5, 4.25]), min_size=1, max_size=5))
def test_policy_switches_once_at_most_where_it_saves_most(savings):
    found, expected = choose_thrifty_ranges(savings), naive_switch(savings)

    assert sum(one != other for one, other in itertools.pairwise(found)) <= 1
    assert all(saved > 0 for saved, its in zip(savings, found, strict=True) if its)
    assert sum(itertools.compress(savings, found)) == sum(
        itertools.compress(savings, expected)
    )


@pytest.mark.parametrize(
    ("savings", "kept"),
    [
        ([0, 0, 0], "panels"),
        ([1, 1, 1], "adaptive"),
        ([0, 5, 0], "panels"),  # two switches
        ([1, 0, 2], "panels panels adaptive"),
        ([2, 0, 1], "adaptive panels panels"),
    ],
)
def test_ranges_follow_the_switch(savings, kept):
    ends = (10, 20, None)
    names = kept.split() if " " in kept else [kept] * 3

    ranges = merge_ranges(
        BudgetRange(end, BOTH[int(is_second)])
        for end, is_second in zip(ends, choose_thrifty_ranges(savings), strict=True)
    )

    asked = []
    for end in ends:
        within = [
            one.policy
            for one in ranges
            if one.up_to is None or (end is not None and end <= one.up_to)
        ]
        asked.append(within[0])
    assert asked == names
    assert ranges[-1].up_to is None


def test_neighbouring_ranges_of_one_policy_are_one():
    ranges = [
        BudgetRange(1, "panels"),
        BudgetRange(2, "adaptive"),
        BudgetRange(None, "adaptive"),
    ]

    merged = merge_ranges(ranges)

    assert merged == (BudgetRange(1, "panels"), BudgetRange(None, "adaptive"))


def stopped(**changes):
    """Panels of two features, with rules that let the sure ones end; rows for them."""
    ensemble = small_ensemble((1, 2))
    ladder = make_ladder(ensemble, ((0, 1),))
    stopping = make_stopping(len(ladder.panels))
    panels = replace(ladder, stopping=stopping)
    columns = np.random.default_rng(0).normal(size=(2, 30))
    rows = table_of(columns, np.arange(30) % 2, ensemble.catalogue)
    return replace(ensemble, panels=panels, **changes), rows


def compare(pairs):
    """Compare both policies under no budget and without a limit."""
    budgets = 0, None
    listed = [simulate_policy(*pair, budgets, BOTH[0], 0) for pair in pairs]
    return finish(compare_two_policies(pairs, BOTH, budgets, 0, listed))


def test_comparison_tells_what_each_policy_comes_to():
    found = compare([stopped()])

    spends = dict(found.spends)
    assert found.budgets == (0, None)
    assert spends["panels"][0] == 0
    assert spends["panels"][1] == pytest.approx(3)
    assert spends["adaptive"][1] <= spends["panels"][1]
    assert found.ranges[-1].up_to is None


def test_error_costs_count_in_place_of_errors():
    plain, rows = stopped()
    costly, _ = stopped(error_costs=((0.0, 3.0), (3.0, 0.0)))

    found = [
        dict(compare([(ensemble, rows)]).losses)["panels"]
        for ensemble in (plain, costly)
    ]

    assert found[1] == pytest.approx([3 * one for one in found[0]])
