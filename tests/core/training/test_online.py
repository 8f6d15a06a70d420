"""Online boosting: one row at a time, in a state of fixed size, at prices."""

import math
from dataclasses import replace

import numpy as np
import pytest

from core.model.hypotheses import Stump
from core.model.votes import full_votes, raw_votes
from core.table.binned_table import code_table
from core.table.binning import bin_values
from core.table.catalogue import Catalogue, Feature
from core.table.dataset import Dataset
from core.table.prices import MICROS_PER_UNIT
from core.training.algorithms import grow_ensemble, make_ensemble
from core.training.boosting import initial_weights
from core.training.online import FIRST_SLOPE, RATE, OnlineBooster
from core.training.params import BoostParams
from core.training.rounds import Round
from tests.baselines import mixed
from tests.small import make_dataset

PARAMS = BoostParams("online", rounds=12, half_life=500)


def learnt(dataset: Dataset, params: BoostParams, *spans: int) -> OnlineBooster:
    """Learn rows in their order, in several calls of so many rows; all in one else."""
    binned = bin_values(dataset)
    signed = initial_weights(dataset, params.label_weights) * dataset.n_samples
    booster = OnlineBooster.start(
        dataset.catalogue, binned.without_rows(), signed.shape[1], params
    )
    start = 0
    for n_rows in spans or (dataset.n_samples,):
        order = np.arange(start, min(start + n_rows, dataset.n_samples))
        booster.learn(binned.codes, signed, order)
        start += n_rows
    return booster


def bytes_of(booster: OnlineBooster) -> list[bytes]:
    return [array.tobytes() for array in booster.state]


def rounds_of(dataset: Dataset, params: BoostParams, done=()) -> list[Round]:
    return list(grow_ensemble(code_table(dataset), params, done, is_strict=False))


def error_of(dataset: Dataset, fresh: Dataset, params: BoostParams) -> float:
    ensemble = make_ensemble(dataset, params, rounds_of(dataset, params))
    votes, _ = full_votes(ensemble, fresh.values)
    return float((raw_votes(ensemble, votes) != fresh.targets).mean())


def line(
    n_rows: int,
    costs: tuple[int, ...],
    *,
    seed: int = 0,
    turn: float = 1.0,
    spread: float = 0.1,
) -> Dataset:
    """A table of two classes by the sign of a number that all features repeat."""
    draws = np.random.default_rng(seed)
    first = draws.normal(size=n_rows)
    values = np.column_stack(
        [first + draws.normal(size=n_rows) * spread for _ in costs]
    )
    features = [
        Feature(f"f{idx}", cost=cost * MICROS_PER_UNIT)
        for idx, cost in enumerate(costs)
    ]
    targets = (first * turn > 0).astype(np.int64)
    weights = np.full(n_rows, 1 / n_rows)
    return make_dataset(values, targets, 2, weights, Catalogue(tuple(features)))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_row_at_a_time_is_learnt_as_all_at_once(n_classes):
    dataset = mixed(5, n_classes, n_samples=240, share_missing=0.1)

    alone = learnt(dataset, PARAMS, *[1] * 240)
    parted = learnt(dataset, PARAMS, 7, 100, 1, 240)

    assert len(alone.stumps()) > 2
    assert bytes_of(alone) == bytes_of(parted) == bytes_of(learnt(dataset, PARAMS))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_state_is_what_the_rows_say(n_classes):
    """Against a plain loop: the scores, the weights, the sums and the alphas."""
    dataset = mixed(6, n_classes, n_samples=160, share_missing=0.1)
    signed = initial_weights(dataset) * dataset.n_samples
    fade = 0.5 ** (1 / PARAMS.half_life)
    before = learnt(dataset, PARAMS, 120)
    after = learnt(dataset, PARAMS, 120)
    binned = bin_values(dataset)
    state = before.state
    n_learners = int(state.counts[0])
    assert n_learners

    # So few rows that no stump is looked for.
    n_rows = int(state.counts[3] - state.counts[2]) - 1
    assert n_rows
    after.learn(binned.codes, signed, np.arange(120, 120 + n_rows))

    alphas, slopes = state.alphas[:n_learners].copy(), state.slopes[:n_learners].copy()
    sums = state.sums / state.facts[2]
    weight, squares = state.facts[0] / state.facts[2], state.facts[1]
    squares /= state.facts[2] ** 2
    for row in range(120, 120 + n_rows):
        sides = np.array(
            [side_of(before, place, row, binned) for place in range(n_learners)]
        )
        votes = sides[:, None] * state.votes[:n_learners]
        signs = np.sign(signed[row])
        pulls = signed[row] / (1 + np.exp(signs * (alphas @ votes)))
        slope = votes @ pulls
        slopes = slopes * fade + slope**2
        alphas += np.where(slope != 0, RATE * slope / np.sqrt(slopes), 0.0)
        sums, weight, squares = sums * fade, weight * fade, squares * fade**2
        weight, squares = weight + abs(pulls).sum(), squares + abs(pulls).sum() ** 2
        for idx, code in enumerate(binned.codes[:, row]):
            if code != 255:
                sums[idx, code] += pulls

    scale = after.state.facts[2]
    np.testing.assert_allclose(after.state.alphas[:n_learners], alphas, atol=1e-9)
    np.testing.assert_allclose(after.state.sums / scale, sums, atol=1e-9)
    assert after.state.facts[0] / scale == pytest.approx(weight)
    assert after.state.facts[1] / scale**2 == pytest.approx(squares)


def side_of(booster, place, row, binned):
    feature, code, is_category = booster.state.stumps[place].tolist()
    found = int(binned.codes[feature, row])
    if found == 255:
        return 0
    return 1 if (found == code if is_category else found > code) else -1


def test_size_of_the_state_is_that_of_its_beginning():
    dataset = mixed(7, n_samples=300)

    few, many = learnt(dataset, PARAMS, 10), learnt(dataset, PARAMS)

    assert [array.shape for array in few.state] == [one.shape for one in many.state]


def test_scale_of_the_sums_stays_finite():
    dataset = mixed(8, n_samples=500)
    brief = replace(PARAMS, half_life=1)

    booster = learnt(dataset, brief)

    assert all(np.isfinite(array).all() for array in booster.state)
    # Only the last rows count, each half as much as the next.
    assert 0 < booster.state.facts[0] / booster.state.facts[2] < 2


def test_cheap_feature_is_read_where_two_say_the_same():
    for costs, cheap in (((9, 1), 1), ((1, 9), 0)):
        rounds = rounds_of(line(400, costs, spread=0.0), PARAMS)

        assert {one.hypothesis.feature_idx for one in rounds} == {cheap}
        assert {one.spent for one in rounds} == {MICROS_PER_UNIT}


def test_what_is_learnt_tells_fresh_rows():
    dataset, fresh = line(600, (1, 1, 1)), line(400, (1, 1, 1), seed=1)

    assert error_of(dataset, fresh, replace(PARAMS, rounds=40)) < 0.08


def test_rows_that_say_the_opposite_are_learnt_where_old_ones_fade():
    first, then = line(4000, (1, 1)), line(60, (1, 1), seed=1, turn=-1.0)
    both = make_dataset(
        np.concatenate([first.values, then.values]),
        np.concatenate([first.targets, then.targets]),
        2,
        np.full(4060, 1 / 4060),
        first.catalogue,
    )
    fresh = line(400, (1, 1), seed=2, turn=-1.0)

    errors = []
    for half_life in (100, 10**9):
        booster = learnt(both, replace(PARAMS, half_life=half_life))
        votes = np.zeros(fresh.n_samples)
        for stump, alpha in booster.stumps():
            above = fresh.values[:, stump.feature_idx] > stump.cut
            votes += alpha * np.where(above, 1, -1) * stump.votes[0]
        errors.append(float(((votes > 0) != (fresh.targets == 1)).mean()))

    fading, lasting = errors
    assert fading < 0.1
    assert lasting > 0.5


def test_strong_stump_takes_the_place_of_the_weakest():
    booster = learnt(line(400, (1, 1)), replace(PARAMS, rounds=3))
    state = booster.state
    assert state.counts[0] == 3
    state.alphas[:] = 0.5, -0.1, 0.3
    kept = state.stumps[[0, 2]].copy()

    assert booster.make_place(0.14) is None
    assert booster.make_place(0.16) == 2

    np.testing.assert_array_equal(state.stumps[:2], kept)
    assert state.alphas[:2].tolist() == [0.5, 0.3]


def test_alpha_below_zero_turns_the_votes():
    booster = learnt(line(400, (1, 1)), replace(PARAMS, rounds=2))
    (stump, _), *_ = booster.stumps()
    booster.state.alphas[:] = -0.25, 0.0

    ((turned, alpha),) = booster.stumps()

    assert turned == replace(stump, votes=tuple(-vote for vote in stump.votes))
    assert alpha == 0.25


def test_table_without_a_pattern_or_with_few_rows_gets_hardly_a_stump():
    draws = np.random.default_rng(3)
    values, targets = draws.normal(size=(300, 2)), draws.integers(0, 2, 300)
    noise = make_dataset(
        values, targets, 2, np.full(300, 1 / 300), line(3, (1, 1)).catalogue
    )

    assert len(rounds_of(noise, PARAMS)) <= 6
    assert rounds_of(line(7, (1, 1)), PARAMS) == []


def test_feature_that_is_always_missing_is_never_read():
    dataset = line(400, (1, 1))
    values = dataset.values.copy()
    values[:, 0] = math.nan

    rounds = rounds_of(replace(dataset, values=values), PARAMS)

    assert {one.hypothesis.feature_idx for one in rounds} == {1}


def test_rounds_follow_those_that_are_done_and_the_seed():
    dataset = mixed(9, n_samples=300)
    rounds = rounds_of(dataset, PARAMS)

    assert len(rounds) > 3
    assert rounds_of(dataset, PARAMS, rounds[:2]) == rounds[2:]
    assert rounds_of(dataset, replace(PARAMS, seed=1)) != rounds
    assert all(isinstance(one.hypothesis, Stump) for one in rounds)
    assert all(one.alpha > 0 and 0 < one.edge <= 1 for one in rounds)


def test_new_stump_begins_with_its_edge():
    dataset = line(60, (1,))
    booster = learnt(dataset, PARAMS, 8)

    assert booster.state.counts[0] == 1
    assert booster.state.slopes[0] == FIRST_SLOPE
    assert 0 < booster.state.alphas[0] < math.atanh(0.9) + 1e-9
