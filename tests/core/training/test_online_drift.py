"""Streams that change: truths that turn, ranges that move, cuts that follow."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core.codes.binning import bin_values
from askless.core.kernels.online.online_cuts import adapt_cuts
from askless.core.kernels.online.online_records import LEAST, MOST, MOST_ALPHA
from askless.core.training.online.online import OnlineBooster
from askless.core.training.online.online_state import check_state
from tests.online import PARAMS, both_of, learnt, line, share_wrong, signed_of


@pytest.mark.slow
@pytest.mark.parametrize("half_life", [100, 20_000])
def test_rows_that_say_the_opposite_are_learnt(half_life):
    first, then = line(3000, (1, 1)), line(300, (1, 1), seed=1, turn=-1.0)
    fresh = line(400, (1, 1), seed=2, turn=-1.0)

    booster = learnt(both_of(first, then), replace(PARAMS, half_life=half_life))

    assert share_wrong(booster, fresh) < 0.1


@pytest.mark.slow
def test_learner_whose_edge_is_gone_gives_its_place_to_another():
    """The first feature tells the class, then the second alone."""
    first, then = (line(1500, (1, 1), seed=seed, spread=0.2) for seed in (0, 1))
    draws = np.random.default_rng(4)
    first.values[:, 1], then.values[:, 0] = draws.normal(size=(2, 1500))
    params = replace(PARAMS, rounds=4)

    before, after = learnt(first, params), learnt(both_of(first, then), params)

    assert {stump.feature_idx for stump, _ in before.stumps()} == {0}
    alphas = [0.0, 0.0]
    for stump, alpha in after.stumps():
        alphas[stump.feature_idx] += alpha
    assert alphas[1] > 3 * alphas[0]


@pytest.mark.parametrize("has_table", [True, False])
def test_values_beyond_the_first_range_are_told_apart(has_table):
    """All rows move by 50, so that the first cuts tell none of them."""
    first, then = line(400, (1,)), line(3000, (1,), seed=1)
    then.values[:] += 50.0
    fresh = line(400, (1,), seed=2)
    fresh.values[:] += 50.0
    table = first if has_table else both_of(first, then)
    cuts = bin_values(table).cuts if has_table else None
    booster = OnlineBooster.start(first.catalogue, 2, PARAMS, cuts)
    n_slots = booster.state.cuts.shape[1]

    booster.learn(first.values, signed_of(first))
    assert share_wrong(booster, fresh) > 0.4
    booster.learn(then.values, signed_of(then))

    assert share_wrong(booster, fresh) < 0.15
    assert booster.state.n_codes.max() <= n_slots
    n_codes = int(booster.state.n_codes[0])
    assert (np.diff(booster.state.cuts[0, : n_codes - 1]) > 0).all()


def test_cuts_that_adapt_keep_all_weights():
    dataset = line(256, (1, 1))
    booster = learnt(dataset, PARAMS, has_table=False)
    state = booster.state
    before = state.sums.sum(axis=1), state.bins[:, :, 0].sum(axis=1)
    # As if nearly all rows had fallen into one bin.
    state.bins[:, 3, 0] += 3_000 * state.facts[1]
    before[1][:] += 3_000 * state.facts[1]
    cuts = state.cuts.copy()

    adapt_cuts(booster.is_category, state)

    for old, new in zip(cuts, state.cuts, strict=True):
        assert ((new > old[2]) & (new < old[3])).sum() > 3
    np.testing.assert_allclose(state.sums.sum(axis=1), before[0], atol=1e-9)
    np.testing.assert_allclose(state.bins[:, :, 0].sum(axis=1), before[1])
    for cuts, size in zip(state.cuts, state.n_codes.tolist(), strict=True):
        assert (np.diff(cuts[: size - 1]) > 0).all()
        assert np.isinf(cuts[size - 1 :]).all()


@pytest.mark.parametrize("cuts", [[0.5], [*range(31)]])
def test_cuts_that_fit_no_row_are_replaced(cuts):
    """Two codes leave room for more. Most of 32 codes are empty, and are merged."""
    dataset = line(1000, (1,))
    dataset.values[:] += 50.0
    firsts = [np.array(cuts, np.float64)]
    booster = OnlineBooster.start(dataset.catalogue, 2, PARAMS, firsts)

    booster.learn(dataset.values, signed_of(dataset))

    found = booster.state.cuts[0]
    assert ((found > 47) & (found < 53)).sum() > 5
    assert share_wrong(booster, dataset) < 0.15


@pytest.mark.slow
def test_value_that_comes_again_and_again_gets_a_bin_of_its_own():
    """Its bin is split towards it, and then no more: cuts stay apart."""
    draws = np.random.default_rng(5)
    dataset = line(8_000, (1,))
    dataset.values[draws.random(8_000) < 0.45] = 0.25

    booster = learnt(dataset, PARAMS, has_table=False)

    state = booster.state
    assert not [*check_state(state._asdict(), dataset.catalogue)]
    assert ((state.bins[0, :, LEAST] == 0.25) & (state.bins[0, :, MOST] == 0.25)).any()


@pytest.mark.slow
def test_alphas_are_bounded_so_that_a_change_is_found():
    """All rows are learnt for long, and then they say the opposite."""
    first, then = line(5_000, (1,), spread=0.0), line(200, (1,), seed=1, turn=-1.0)
    fresh = line(400, (1,), seed=2, turn=-1.0)
    params = replace(PARAMS, half_life=10)

    before, after = learnt(first, params), learnt(both_of(first, then), params)

    assert np.abs(before.state.alphas).max() == MOST_ALPHA
    assert share_wrong(after, fresh) < 0.1
