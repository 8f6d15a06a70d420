"""Online boosting: one row at a time, in a state of fixed size, at prices."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from core.arrays import FloatArray
from core.kernels import OnlineState
from core.kernels.online_cuts import adapt_cuts
from core.model.hypotheses import Stump
from core.model.votes import full_votes, hypothesis_votes, raw_votes
from core.table.binned_table import code_table
from core.table.binning import bin_values
from core.table.catalogue import UNSEEN, Catalogue, Feature
from core.table.dataset import Dataset
from core.table.prices import MICROS_PER_UNIT
from core.training.algorithms import grow_ensemble, make_ensemble
from core.training.boosting import sign_rows
from core.training.online import (
    KEPT_ROWS,
    LOSS_ROWS,
    RATE,
    SPEEDS,
    OnlineBooster,
    learn_table,
)
from core.training.online_search import FIRST_SLOPE, make_place
from core.training.params import BoostParams
from core.training.rounds import Round
from tests.baselines import mixed
from tests.small import make_dataset

PARAMS = BoostParams("online", rounds=12, half_life=500)


def learnt(
    dataset: Dataset, params: BoostParams, *spans: int, has_table: bool = True
) -> OnlineBooster:
    """Learn rows in their order, in several calls of so many rows; all in one else."""
    cuts = bin_values(dataset).cuts if has_table else None
    n_classes = len(dataset.classes)
    booster = OnlineBooster.start(dataset.catalogue, n_classes, params, cuts)
    signed = signed_of(dataset)
    start = 0
    for n_rows in spans or (dataset.n_samples,):
        rows = slice(start, start + n_rows)
        booster.learn(dataset.values[rows], signed[rows])
        start += n_rows
    return booster


def signed_of(dataset: Dataset) -> FloatArray:
    return sign_rows(dataset.targets, len(dataset.classes))


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


@pytest.mark.parametrize("has_table", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_row_at_a_time_is_learnt_as_all_at_once(n_classes, has_table):
    dataset = mixed(5, n_classes, n_samples=320, share_missing=0.1)

    alone, parted, whole = (
        learnt(dataset, PARAMS, *spans, has_table=has_table)
        for spans in ([1] * 320, (7, 100, 1, 240), ())
    )

    assert len(alone.stumps()) > 2
    assert bytes_of(alone) == bytes_of(parted) == bytes_of(whole)


def test_state_stopped_and_taken_up_at_every_row_of_500_has_equal_bytes():
    """A state that went through JSON as lists of numbers, after each row."""
    dataset = mixed(11, n_samples=500, share_missing=0.1)
    signed = signed_of(dataset)
    whole = OnlineBooster.start(dataset.catalogue, 2, PARAMS)
    stopped = OnlineBooster.start(dataset.catalogue, 2, PARAMS)

    for row in range(500):
        one = slice(row, row + 1)
        whole.learn(dataset.values[one], signed[one])
        stopped.learn(dataset.values[one], signed[one])
        state = map(from_json, stopped.state)
        stopped = OnlineBooster(stopped.catalogue, PARAMS, OnlineState(*state))

        assert bytes_of(stopped) == bytes_of(whole)
    assert len(whole.stumps()) > 2


def from_json(array):
    text = json.dumps(array.ravel().tolist())
    return np.array(json.loads(text), array.dtype).reshape(array.shape)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_state_is_what_the_rows_say(n_classes):
    """Against a plain loop: the scores, the weights, the sums and the alphas."""
    dataset = mixed(6, n_classes, n_samples=500, share_missing=0.1)
    signed = signed_of(dataset)
    before, after = learnt(dataset, PARAMS, 300), learnt(dataset, PARAMS, 300)
    # So few rows that no stump is looked for.
    n_rows = int(before.state.counts[3] - before.state.counts[2]) - 1
    assert n_rows
    assert before.state.counts[0]

    told = after.learn(dataset.values[300:][:n_rows], signed[300:][:n_rows])

    naive = NaiveOnline(before.state, PARAMS, before.is_category)
    for values, signs, score, share in zip(
        dataset.values[300:], signed[300:], *told, strict=False
    ):
        expected = naive.learn(values.tolist(), signs.tolist())
        np.testing.assert_allclose((*score, share), expected, atol=1e-9)
    n_learners = len(naive.thresholds)
    state = after.state
    scale = state.facts[2]
    np.testing.assert_allclose(state.alphas[:, :n_learners], naive.alphas, atol=1e-9)
    np.testing.assert_allclose(state.slopes[:, :n_learners], naive.slopes, atol=1e-9)
    np.testing.assert_allclose(state.losses, naive.losses, atol=1e-9)
    np.testing.assert_allclose(state.sums / scale, naive.sums, atol=1e-9)
    assert state.facts[0] / scale == pytest.approx(naive.weight)
    assert state.facts[1] / scale**2 == pytest.approx(naive.squares)
    for feature, code in np.argwhere(np.isfinite(state.bins[:, :, 2])):
        bins = state.bins[feature, code] / (scale, 1, 1, 1)
        np.testing.assert_allclose(bins, naive.bins[feature][code], atol=1e-9)


class NaiveOnline:
    """One row after the other in plain Python, without a look for stumps."""

    def __init__(self, state, params, is_category):
        n_learners, scale = int(state.counts[0]), float(state.facts[2])
        self.is_category = is_category.tolist()
        self.cuts = [
            row[:n].tolist()
            for row, n in zip(state.cuts, state.n_codes.tolist(), strict=True)
        ]
        self.bins = (state.bins / (scale, 1, 1, 1)).tolist()
        self.sums = (state.sums / scale).tolist()
        self.weight, self.squares = state.facts[0] / scale, state.facts[1] / scale**2
        self.features, self.tests_value = state.stumps[:n_learners].T.tolist()
        self.thresholds = state.thresholds[:n_learners].tolist()
        self.votes = state.votes[:n_learners].tolist()
        self.alphas = state.alphas[:, :n_learners].tolist()
        self.slopes = state.slopes[:, :n_learners].tolist()
        self.losses = state.losses.tolist()
        half_lives = (*(min(one, params.half_life) for one in SPEEDS), params.half_life)
        self.fades = [0.5 ** (1 / one) for one in half_lives]
        self.fade = 0.5 ** (1 / min(KEPT_ROWS, params.half_life))

    def side(self, place, values):
        value, cut = values[self.features[place]], self.thresholds[place]
        if math.isnan(value):
            return 0
        return 1 if (value == cut if self.tests_value[place] else value > cut) else -1

    def learn(self, values, signed):
        places, outputs = range(len(self.thresholds)), range(len(signed))
        shares = [math.exp(-one) for one in self.losses]
        shares = [one / sum(shares) for one in shares]
        sides = [self.side(place, values) for place in places]
        mixed = [
            sum(
                one * alphas[place]
                for one, alphas in zip(shares, self.alphas, strict=True)
            )
            for place in places
        ]
        scores = self.score(mixed, sides, outputs)
        total = sum(map(abs, mixed))
        known = sum(abs(mixed[place]) for place in places if sides[place])
        for speed, fade in enumerate(self.fades):
            self.move(speed, fade, sides, signed)
        self.add(
            values,
            signed,
            [pull(one, y) for one, y in zip(scores, signed, strict=True)],
        )
        return (*scores, known / total if total else 0.0)

    def score(self, alphas, sides, outputs):
        return [
            sum(a * s * v[k] for a, s, v in zip(alphas, sides, self.votes, strict=True))
            for k in outputs
        ]

    def move(self, speed, fade, sides, signed):
        outputs = range(len(signed))
        alphas, slopes = self.alphas[speed], self.slopes[speed]
        scores = self.score(alphas, sides, outputs)
        pulls = [pull(scores[k], signed[k]) for k in outputs]
        loss = sum(
            abs(signed[k])
            * math.log1p(math.exp(-math.copysign(1, signed[k]) * scores[k]))
            for k in outputs
        )
        self.losses[speed] = self.losses[speed] * 0.5 ** (1 / LOSS_ROWS) + loss
        for place, side in enumerate(sides):
            slope = side * sum(pulls[k] * self.votes[place][k] for k in outputs)
            slopes[place] = slopes[place] * fade + slope**2
            if slope:
                alphas[place] += RATE * slope / math.sqrt(slopes[place])

    def add(self, values, signed, pulls):
        self.weight = self.weight * self.fade + sum(map(abs, pulls))
        self.squares = self.squares * self.fade**2 + sum(map(abs, pulls)) ** 2
        for feature, value in enumerate(values):
            for code in range(len(self.bins[feature])):
                self.bins[feature][code][0] *= self.fade
                self.sums[feature][code] = [
                    one * self.fade for one in self.sums[feature][code]
                ]
            if math.isnan(value):
                continue
            code = sum(value > cut for cut in self.cuts[feature])
            if self.is_category[feature] and value not in self.cuts[feature]:
                continue
            one, own = self.bins[feature][code], sum(map(abs, signed))
            one[0] += own
            one[1] += (value - one[1]) * own / one[0]
            one[2], one[3] = min(one[2], value), max(one[3], value)
            self.sums[feature][code] = [
                a + b for a, b in zip(self.sums[feature][code], pulls, strict=True)
            ]


def pull(score, signed):
    return signed / (1 + math.exp(score if signed > 0 else -score))


def test_size_of_the_state_is_that_of_its_beginning():
    dataset = mixed(7, n_samples=300)

    few, many = learnt(dataset, PARAMS, 256), learnt(dataset, PARAMS)

    assert [array.shape for array in few.state] == [one.shape for one in many.state]


def test_scale_of_the_sums_stays_finite():
    dataset = mixed(8, n_samples=500)
    brief = replace(PARAMS, half_life=1)

    booster = learnt(dataset, brief)
    assert booster.state.facts[2] < 2.0**500

    # Empty bins and the last cuts are infinite.
    numbers = [one for one in booster.state if one is not booster.state.cuts]
    assert not any(np.isnan(one).any() for one in numbers)
    assert np.isfinite(booster.state.sums).all()
    assert np.isfinite(booster.state.alphas).all()
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


def both_of(first: Dataset, then: Dataset) -> Dataset:
    """One table after another."""
    values = np.concatenate([first.values, then.values])
    targets = np.concatenate([first.targets, then.targets])
    weights = np.full(targets.size, 1 / targets.size)
    return make_dataset(values, targets, 2, weights, first.catalogue)


def share_wrong(booster: OnlineBooster, dataset: Dataset) -> float:
    """Share of rows that the learners put on the wrong side."""
    votes = np.zeros(dataset.n_samples)
    for stump, alpha in booster.stumps():
        above = dataset.values[:, stump.feature_idx] > stump.cut
        votes += alpha * np.where(above, 1, -1) * stump.votes[0]
    return float(((votes > 0) != (dataset.targets == 1)).mean())


@pytest.mark.parametrize("half_life", [100, 20_000])
def test_rows_that_say_the_opposite_are_learnt(half_life):
    first, then = line(3000, (1, 1)), line(300, (1, 1), seed=1, turn=-1.0)
    fresh = line(400, (1, 1), seed=2, turn=-1.0)

    booster = learnt(both_of(first, then), replace(PARAMS, half_life=half_life))

    assert share_wrong(booster, fresh) < 0.1


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
    state.bins[:, 3, 0] += 3_000 * state.facts[2]
    before[1][:] += 3_000 * state.facts[2]
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
    """Of two codes there is room for more; of 32 most are empty, and are merged."""
    dataset = line(1000, (1,))
    dataset.values[:] += 50.0
    firsts = [np.array(cuts, np.float64)]
    booster = OnlineBooster.start(dataset.catalogue, 2, PARAMS, firsts)

    booster.learn(dataset.values, signed_of(dataset))

    found = booster.state.cuts[0]
    assert ((found > 47) & (found < 53)).sum() > 5
    assert share_wrong(booster, dataset) < 0.15


def test_missing_value_abstains_and_is_no_information():
    dataset = line(400, (1, 1))
    booster = learnt(dataset, PARAMS)
    before = OnlineState(*(array.copy() for array in booster.state))

    scores, shares = booster.learn(np.full((5, 2), math.nan), np.ones((5, 1)))

    assert scores.tolist() == [[0.0]] * 5
    assert shares.tolist() == [0.0] * 5
    scale = booster.state.facts[2] / before.facts[2]
    for name in ("alphas", "sums", "bins"):
        np.testing.assert_array_equal(
            getattr(booster.state, name), getattr(before, name)
        )
    assert scale > 1


def test_row_of_weight_two_is_two_rows():
    """But for what the learners move by in between; the row's class is turned."""
    dataset = line(400, (1, 1))
    heavy, light, twice = (learnt(dataset, PARAMS, 300) for _ in range(3))
    row, signed = dataset.values[300:301], -signed_of(dataset)[300:301]

    heavy.learn(row, 2 * signed)
    light.learn(row, signed)
    twice.learn(np.repeat(row, 2, axis=0), np.repeat(signed, 2, axis=0))

    sums = [one.state.sums / one.state.facts[2] for one in (heavy, light, twice)]
    np.testing.assert_allclose(sums[0], sums[2], atol=0.1)
    assert np.abs(sums[0] - sums[1]).max() > 0.5


def test_scores_are_those_of_the_learners_before_the_row():
    dataset = mixed(12, n_samples=330, share_missing=0.1)
    booster = learnt(dataset, PARAMS, 320)
    stumps = booster.stumps()

    (score,), _ = booster.learn(dataset.values[320:321], signed_of(dataset)[320:321])

    votes = [
        alpha * hypothesis_votes(stump, dataset.values[320:321], 1)[0, 0]
        for stump, alpha in stumps
    ]
    assert score == pytest.approx(sum(votes))


@pytest.mark.parametrize("n_rows", [40, 256, 300])
def test_state_holds_no_row_of_a_table_however_small(n_rows):
    booster = learn_table(line(n_rows, (1, 1)), PARAMS)

    assert booster.state.first_values.shape == (0, 2)
    assert booster.state.first_signed.shape == (0, 1)
    assert booster.n_rows == n_rows
    assert booster.stumps()


def test_category_that_is_not_known_is_missing():
    catalogue = Catalogue((Feature("f", "category", categories=("a", "b")),))
    booster = OnlineBooster.start(catalogue, 2, PARAMS)
    draws = np.random.default_rng(0)
    targets = draws.integers(0, 2, 300)
    booster.learn(targets[:, None].astype(float), sign_rows(targets, 2))
    assert booster.stumps()

    for code in (UNSEEN, 2.0):
        before = booster.state.bins.copy()
        booster.learn(np.array([[code]]), np.ones((1, 1)))

        np.testing.assert_array_equal(booster.state.bins, before)


def test_first_rows_are_let_go():
    dataset = line(300, (1, 1))

    few, many = (
        learnt(dataset, PARAMS, n_rows, has_table=False) for n_rows in (255, 256)
    )

    np.testing.assert_array_equal(few.state.first_values[:255], dataset.values[:255])
    assert many.state.first_values.shape == (0, 2)
    assert many.state.first_signed.shape == (0, 1)
    assert (few.n_rows, many.n_rows) == (255, 256)


def test_strong_stump_takes_the_place_of_the_weakest():
    booster = learnt(line(400, (1, 1)), replace(PARAMS, rounds=3))
    state = booster.state
    assert state.counts[0] == 3
    state.alphas[:] = 0.5, -0.1, 0.3
    kept = state.thresholds[[0, 2]].copy()

    assert make_place(state, 0.14) is None
    assert make_place(state, 0.16) == 2

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
    assert set(booster.state.slopes[:, 0]) == {FIRST_SLOPE}
    assert 0 < booster.state.alphas[0, 0] < math.atanh(0.9) + 1e-9
