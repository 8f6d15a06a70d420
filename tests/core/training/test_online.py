"""Online boosting as an algorithm: which features it buys, in what order, at prices."""

import math
from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.codes.binned_table import code_table
from askless.core.model.hypotheses import Stump
from askless.core.model.votes import full_votes, raw_classes
from askless.core.table.dataset import Dataset
from askless.core.training.algorithms import grow_ensemble, make_ensemble
from askless.core.training.online.online import learn_table
from askless.core.training.online.online_search import FIRST_SLOPE, free_learner_place
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round
from tests.baselines import mixed
from tests.online import PARAMS, learnt, line
from tests.small import make_dataset


def rounds_of(dataset: Dataset, params: BoostParams, done=()) -> list[Round]:
    return list(grow_ensemble(code_table(dataset), params, done, is_strict=False))


def error_of(dataset: Dataset, fresh: Dataset, params: BoostParams) -> float:
    ensemble = make_ensemble(dataset, params, rounds_of(dataset, params))
    votes, _ = full_votes(ensemble, fresh.values)
    return float((raw_classes(ensemble, votes) != fresh.targets).mean())


def test_cheap_feature_is_read_where_two_say_the_same():
    for costs, cheap in (((9, 1), 1), ((1, 9), 0)):
        rounds = rounds_of(line(400, costs, spread=0.0), PARAMS)

        assert {round.hypothesis.feature_idx for round in rounds} == {cheap}
        assert {round.spent for round in rounds} == {MICROS_PER_UNIT}


def test_what_is_learnt_tells_fresh_rows():
    dataset, fresh = line(600, (1, 1, 1)), line(400, (1, 1, 1), seed=1)

    assert error_of(dataset, fresh, replace(PARAMS, rounds=40)) < 0.08


@pytest.mark.parametrize("n_rows", [40, 256, 300])
def test_state_holds_no_row_of_a_table_however_small(n_rows):
    booster = learn_table(line(n_rows, (1, 1)), PARAMS)

    assert booster.state.first_values.shape == (0, 2)
    assert booster.state.first_signed.shape == (0, 1)
    assert booster.n_rows == n_rows
    assert booster.stumps()


def test_strong_stump_takes_the_place_of_the_weakest():
    booster = learnt(line(400, (1, 1)), replace(PARAMS, rounds=3))
    state = booster.state
    assert state.counts[0] == 3
    state.alphas[:] = 0.5, -0.1, 0.3
    kept = state.thresholds[[0, 2]].copy()

    assert free_learner_place(state, 0.14) is None
    assert free_learner_place(state, 0.16) == 2

    np.testing.assert_array_equal(state.thresholds[:2], kept)
    assert state.alphas[:, :2].tolist() == [[0.5, 0.3]] * 3


def test_alpha_below_zero_turns_the_votes():
    booster = learnt(line(400, (1, 1)), replace(PARAMS, rounds=2))
    (stump, _), *_ = booster.stumps()
    booster.state.alphas[:] = [[-0.25, 0.0]]

    ((turned, alpha),) = booster.stumps()

    assert turned == replace(stump, votes=tuple(-vote for vote in stump.votes))
    assert alpha == 0.25


def test_features_come_by_their_alphas_per_price():
    booster = learnt(line(400, (4, 1, 2), spread=1.0), replace(PARAMS, rounds=30))
    worth = [0.0, 0.0, 0.0]
    order = []
    for stump, alpha in booster.stumps():
        worth[stump.feature_idx] += alpha / (4, 1, 2)[stump.feature_idx]
        order.append(stump.feature_idx)

    ranked = sorted(range(3), key=lambda feature: -worth[feature])

    assert list(dict.fromkeys(order)) == ranked
    assert len(order) > len(ranked)
    assert order == sorted(order, key=ranked.index)


def test_table_without_a_pattern_or_with_few_rows_gets_hardly_a_stump():
    draws = np.random.default_rng(3)
    values, targets = draws.normal(size=(300, 2)), draws.integers(0, 2, 300)
    noise = make_dataset(
        values, targets, 2, np.full(300, 1 / 300), line(3, (1, 1)).catalogue
    )

    assert len(rounds_of(noise, PARAMS)) <= 6
    assert rounds_of(line(7, (1, 1)), PARAMS) == []


@pytest.mark.slow
def test_feature_known_in_few_rows_is_bought_by_what_these_rows_say():
    """Rows without a value are no evidence against a feature."""
    dataset = line(4_000, (1, 1), spread=0.0)
    draws = np.random.default_rng(6)
    dataset.values[:, 1] = draws.normal(size=4_000)
    dataset.values[draws.random(4_000) > 0.04, 0] = math.nan

    read = {round_.hypothesis.feature_idx for round_ in rounds_of(dataset, PARAMS)}

    assert 0 in read


@pytest.mark.slow
def test_many_features_without_an_edge_are_hardly_bought():
    """The luckiest of 60 is no evidence, although each alone would be now and then."""
    draws = np.random.default_rng(7)
    dataset = line(256, (1,) * 60)
    dataset.values[:] = draws.normal(size=(256, 60))

    rounds = rounds_of(dataset, replace(PARAMS, rounds=100))

    assert len({round.hypothesis.feature_idx for round in rounds}) < 15


def test_feature_that_is_always_missing_is_never_read():
    dataset = line(400, (1, 1))
    values = dataset.values.copy()
    values[:, 0] = math.nan

    rounds = rounds_of(replace(dataset, values=values), PARAMS)

    assert {round.hypothesis.feature_idx for round in rounds} == {1}


def test_rounds_follow_those_that_are_done_and_the_seed():
    dataset = mixed(9, n_samples=100)
    rounds = rounds_of(dataset, PARAMS)

    assert len(rounds) > 3
    assert rounds_of(dataset, PARAMS, rounds[:2]) == rounds[2:]
    assert rounds_of(dataset, replace(PARAMS, seed=1)) != rounds
    assert all(isinstance(round.hypothesis, Stump) for round in rounds)
    assert all(round.alpha > 0 and 0 < round.edge <= 1 for round in rounds)


def test_new_stump_begins_with_its_edge():
    dataset = line(60, (1,))
    booster = learnt(dataset, PARAMS, 8)

    assert booster.state.counts[0] == 1
    assert set(booster.state.slopes[:, 0]) == {FIRST_SLOPE}
    assert 0 < booster.state.alphas[0, 0] < math.atanh(0.9) + 1e-9
