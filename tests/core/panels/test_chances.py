"""Log odds as chances, and what is fitted to have the least log-loss."""

import math

import numpy as np
import pytest

from askless.core.model.ladder.blends import to_chances
from askless.core.panels.predictors.chances import (
    LEAST_CHANCE,
    fit_link,
    fit_weights,
    losses_and_gradients,
    mean_log_loss,
    to_logits,
)

each_n_outputs = pytest.mark.parametrize("n_outputs", [1, 3])


def random_votes(n_outputs: int, n_rows: int = 25, seed: int = 0):
    """Log odds of rows, classes that follow from them, and weights."""
    random = np.random.default_rng(seed)
    votes = random.normal(size=(n_rows, n_outputs))
    noisy = votes + random.normal(size=votes.shape)
    targets = noisy.argmax(axis=1) if n_outputs > 1 else (noisy[:, 0] > 0).astype(int)
    return votes, targets, random.uniform(0.5, 2.0, n_rows)


@pytest.mark.parametrize("chances", [[0.2, 0.8], [0.2, 0.5, 0.3]])
def test_log_odds_of_chances_tell_these_chances(chances):
    again = to_chances(to_logits(np.array([chances])))

    assert again[0] == pytest.approx(chances)


@pytest.mark.parametrize("chances", [[0.0, 1.0], [1.0, 0.0, 0.0]])
def test_no_chance_is_taken_for_quite_sure(chances):
    again = to_chances(to_logits(np.array([chances])))

    assert again.min() == pytest.approx(LEAST_CHANCE, rel=1e-3)


@pytest.mark.parametrize("logits", [[800.0], [-800.0], [800.0, -800.0, 0.0]])
def test_chances_of_any_log_odds_add_up_to_1(logits):
    chances = to_chances(np.array(logits))

    assert chances.sum() == pytest.approx(1.0)
    assert np.isfinite(chances).all()


@each_n_outputs
def test_loss_is_the_mean_log_of_the_chance_of_the_class(n_outputs):
    votes, targets, weights = random_votes(n_outputs)

    told = [
        -math.log(chances[target])
        for chances, target in zip(to_chances(votes), targets, strict=True)
    ]

    expected = np.average(told, weights=weights)
    assert mean_log_loss(votes, targets, weights) == pytest.approx(expected)


@each_n_outputs
def test_pulls_are_how_losses_change(n_outputs):
    votes, targets, _ = random_votes(n_outputs)
    step = np.zeros(n_outputs)
    step[-1] = 1e-6

    _, pulls = losses_and_gradients(votes, targets)

    before, after = (
        losses_and_gradients(votes + side * step, targets)[0] for side in (-1, 1)
    )
    np.testing.assert_allclose(pulls[:, -1], (after - before) / 2e-6, atol=1e-6)


@each_n_outputs
def test_link_never_turns_votes_around(n_outputs):
    votes, targets, weights = random_votes(n_outputs)

    slope, offsets = fit_link(-votes, targets, weights)

    assert slope == 0.0
    assert offsets.shape == (n_outputs,)


@each_n_outputs
def test_link_loses_no_more_than_others_near_it(n_outputs):
    votes, targets, weights = random_votes(n_outputs, 200)

    slope, offsets = fit_link(votes, targets, weights)

    found = mean_log_loss(slope * votes + offsets, targets, weights)
    for steeper, shift in [(1.1, 0.0), (0.9, 0.0), (1.0, 0.1), (1.0, -0.1)]:
        moved = offsets + shift * np.eye(n_outputs)[0]
        other = mean_log_loss(steeper * slope * votes + moved, targets, weights)
        assert found < other
    assert slope > 0


@each_n_outputs
@pytest.mark.parametrize("hold", [0.0, 10.0])
def test_weights_are_never_negative_and_no_worse_than_their_start(n_outputs, hold):
    votes, targets, weights = random_votes(n_outputs)
    random = np.random.default_rng(1)
    every = np.array([votes, -votes, random.normal(size=votes.shape)])
    start = np.full(3, 1 / 3)

    found = fit_weights(every, targets, weights, start, hold)

    before, after = (
        mean_log_loss(np.einsum("p,pnk->nk", one, every), targets, weights)
        for one in (start, found)
    )
    assert found.min() >= 0
    assert after < before
    assert found[0] > found[1]


def test_weights_are_held_to_their_start():
    votes, targets, weights = random_votes(1)
    start = np.array([0.7])

    apart = [
        abs(fit_weights(votes[None], targets, weights, start, hold)[0] - 0.7)
        for hold in (0.0, 10.0, 1e6)
    ]

    assert apart == sorted(apart, reverse=True)
    assert apart[-1] < 1e-3
