"""Rows that are learnt one by one: the state they leave, to the byte."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.catalogue import UNSEEN, Catalogue, Feature
from askless.core.kernels import OnlineState
from askless.core.model.votes import hypothesis_votes
from askless.core.training.boosting import sign_weights
from askless.core.training.online.online import OnlineBooster
from tests.baselines import mixed
from tests.naive_online import NaiveOnline
from tests.online import PARAMS, bytes_of, learnt, line, signed_of


@pytest.mark.slow
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


def test_state_stopped_and_taken_up_at_every_row_has_equal_bytes():
    """A state that went through JSON as lists of numbers, after each row."""
    dataset = mixed(11, n_samples=200, share_missing=0.1)
    signed = signed_of(dataset)
    whole = OnlineBooster.start(dataset.catalogue, 2, PARAMS)
    stopped = OnlineBooster.start(dataset.catalogue, 2, PARAMS)

    for row in range(200):
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
    scale = state.facts[1]
    np.testing.assert_allclose(state.alphas[:, :n_learners], naive.alphas, atol=1e-9)
    np.testing.assert_allclose(state.slopes[:, :n_learners], naive.slopes, atol=1e-9)
    np.testing.assert_allclose(state.losses, naive.losses, atol=1e-9)
    np.testing.assert_allclose(state.sums / scale, naive.sums, atol=1e-9)
    assert state.facts[0] / scale == pytest.approx(naive.weight)
    assert state.squares / scale**2 == pytest.approx(naive.squares)
    for feature, code in np.argwhere(np.isfinite(state.bins[:, :, 2])):
        bins = state.bins[feature, code] / (scale, 1, 1, 1)
        np.testing.assert_allclose(bins, naive.bins[feature][code], atol=1e-9)


@pytest.mark.slow
def test_size_of_the_state_is_that_of_its_beginning():
    dataset = mixed(7, n_samples=300)

    few, many = learnt(dataset, PARAMS, 256), learnt(dataset, PARAMS)

    assert [array.shape for array in few.state] == [array.shape for array in many.state]


def test_scale_of_the_sums_stays_finite():
    dataset = mixed(8, n_samples=500)
    brief = replace(PARAMS, half_life=1)

    booster = learnt(dataset, brief)
    assert booster.state.facts[1] < 2.0**500

    # Empty bins and the last cuts are infinite.
    numbers = [one for one in booster.state if one is not booster.state.cuts]
    assert not any(np.isnan(number).any() for number in numbers)
    assert np.isfinite(booster.state.sums).all()
    assert np.isfinite(booster.state.alphas).all()
    # Only the last rows count, each half as much as the next.
    assert 0 < booster.state.facts[0] / booster.state.facts[1] < 2


def test_missing_value_abstains_and_is_no_information():
    dataset = line(400, (1, 1))
    booster = learnt(dataset, PARAMS)
    before = OnlineState(*(array.copy() for array in booster.state))

    scores, shares = booster.learn(np.full((5, 2), math.nan), np.ones((5, 1)))

    assert scores.tolist() == [[0.0]] * 5
    assert shares.tolist() == [0.0] * 5
    scale = booster.state.facts[1] / before.facts[1]
    for name in ("alphas", "sums", "bins"):
        np.testing.assert_array_equal(
            getattr(booster.state, name), getattr(before, name)
        )
    assert scale > 1


@pytest.mark.slow
def test_row_of_weight_two_is_two_rows():
    """But for what the learners move by in between; the row's class is turned."""
    dataset = line(400, (1, 1))
    heavy, light, twice = (learnt(dataset, PARAMS, 300) for _ in range(3))
    row, signed = dataset.values[300:301], -signed_of(dataset)[300:301]

    heavy.learn(row, 2 * signed)
    light.learn(row, signed)
    twice.learn(np.repeat(row, 2, axis=0), np.repeat(signed, 2, axis=0))

    sums = [one.state.sums / one.state.facts[1] for one in (heavy, light, twice)]
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


def test_category_that_is_not_known_is_missing():
    catalogue = Catalogue((Feature("f", "category", categories=("a", "b")),))
    booster = OnlineBooster.start(catalogue, 2, PARAMS)
    draws = np.random.default_rng(0)
    targets = draws.integers(0, 2, 300)
    booster.learn(targets[:, None].astype(float), sign_weights(targets, 2))
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
