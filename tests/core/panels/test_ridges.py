"""Ridges: what folds left out say in closed form, random features, the logistic one."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from askless.core.model.ladder.blends import draw_waves, to_chances, wave_features
from askless.core.panels.predictors.chances import fit_link, mean_log_loss
from askless.core.panels.predictors.ridges import (
    LOGISTIC_PENALTIES,
    Basis,
    compute_median_distance,
    compute_squared_distances,
    fit_kernel,
    fit_logistic,
    signed_targets,
    solve_logistic,
)
from tests.panels import random_rows

EVERY = tuple(range(6))
HOLDS = (0.06, 0.3, 1.5)

each_n_classes = pytest.mark.parametrize("n_classes", [2, 3])


def laid_rows(n_classes: int = 2, n_samples: int = 24):
    """Rows, and all their features as columns."""
    rows = random_rows(0, n_classes, n_samples)
    return rows, rows.columns.take(EVERY).standardise(rows.dataset.values)


def solve(inputs, outputs, hold):
    """Coefficients of a ridge regression."""
    squares = inputs.T @ inputs + hold * np.eye(inputs.shape[1])
    return np.linalg.solve(squares, inputs.T @ outputs)


@each_n_classes
@pytest.mark.parametrize(("n_samples", "n_judges"), [(24, 24), (24, 9), (120, 50)])
def test_kernel_ridge_is_that_of_the_hold_whose_held_out_rows_lose_least(
    n_classes, n_samples, n_judges
):
    rows, laid = laid_rows(n_classes, n_samples)
    stretches = np.linspace(0.5, 1.5, laid.shape[1])
    held_out, basis = rows.hold_out(4, n_judges), Basis(stretches, 50, HOLDS)

    logits, without, _ = fit_kernel(rows, laid, basis, held_out)
    ridge = without(None)

    inputs, wanted = wave_features(laid, ridge.waves), signed_targets(rows)
    roots = np.sqrt(rows.weights)[:, None]
    means = rows.weights @ wanted / rows.weights.sum()
    told = []
    for hold in HOLDS:
        whole = solve(inputs * roots, (wanted - means) * roots, hold)
        votes = np.empty_like(wanted)
        for fold in held_out.folds:
            kept = np.setdiff1d(np.arange(rows.n_rows), fold)
            part = inputs[kept] * roots[kept], (wanted - means)[kept] * roots[kept]
            votes[fold] = means + inputs[fold] @ solve(*part, hold)
        judged = votes[held_out.row_idxs]
        slope, offsets = fit_link(judged, held_out.targets, held_out.weights)
        judged = slope * judged + offsets
        loss = mean_log_loss(judged, held_out.targets, held_out.weights)
        told.append((loss, judged, slope * (means + inputs @ whole) + offsets))
    _, judged, of_all = min(told, key=lambda one: one[0])
    # Waves are laid in single precision.
    np.testing.assert_allclose(logits, judged, atol=2e-3)
    np.testing.assert_allclose(ridge.logits(laid), of_all, atol=2e-3)


@each_n_classes
def test_held_out_kernel_ridge_knows_more_than_the_class_shares(n_classes):
    rows, laid = laid_rows(n_classes, 60)
    basis = Basis(np.ones(laid.shape[1]), 200, HOLDS)

    logits = fit_kernel(rows, laid, basis, rows.hold_out(5, rows.n_rows)).logits

    starts = np.tile(rows.starts, (rows.n_rows, 1))
    losses = [
        mean_log_loss(odds, rows.targets, rows.weights) for odds in (logits, starts)
    ]
    assert losses[0] < losses[1]


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", [1, 3])
def test_mean_cosine_of_many_waves_is_the_kernel(n_columns):
    distances = np.array([0.0, 0.3, 1.0, 2.5])
    points = np.zeros((4, n_columns))
    points[:, 0] = distances
    waves = draw_waves(n_columns, 5_000, seed=3)

    laid = wave_features(points, waves)

    # Four standard deviations of a mean of 5,000 cosines.
    expected = np.exp(-distances)
    np.testing.assert_allclose(laid @ laid[0], expected, atol=4 / np.sqrt(10_000))


def test_waves_are_those_of_their_seed():
    one, two, other = (draw_waves(3, 7, seed) for seed in (1, 1, 2))

    np.testing.assert_array_equal(one, two)
    assert one.shape == (3, 7)
    assert not np.array_equal(one, other)


def test_waves_that_several_kernels_share_cannot_be_changed():
    waves = draw_waves(3, 7, seed=1)

    assert draw_waves(3, 7, seed=1) is waves
    with pytest.raises(ValueError, match="read-only"):
        waves[0] = 0.0


def test_squares_are_those_of_distances():
    columns = np.random.default_rng(0).normal(size=(6, 3))
    others = columns[:4]

    found = compute_squared_distances(columns, others)

    expected = ((columns[:, None] - others) ** 2).sum(axis=2)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_equal_rows_have_no_distance_by_rounding():
    kinds = np.random.default_rng(0).normal(0.0, 20.0, (18, 27))
    numbers = np.random.default_rng(1).integers(0, 18, 300)

    squares = compute_squared_distances(kinds[numbers], kinds[numbers])

    is_equal = numbers[:, None] == numbers
    assert (squares[is_equal] == 0.0).all()
    assert (squares[~is_equal] > 1.0).all()


@pytest.mark.parametrize(
    ("places", "expected"),
    [([0, 3, 3], 3.0), ([0, 1, 3, 3], 2.0), ([2, 2], 1.0), ([5], 1.0)],
)
def test_median_distance_is_of_rows_that_differ_and_1_where_none_do(places, expected):
    columns = np.array(places, np.float64)[:, None]

    squares = compute_squared_distances(columns[::2], columns[1::2])

    assert compute_median_distance(squares) == pytest.approx(expected)


@each_n_classes
@pytest.mark.parametrize("hold", LOGISTIC_PENALTIES)
def test_logistic_ridge_is_that_of_scikit_learn(n_classes, hold):
    rows, laid = laid_rows(n_classes)
    peer = LogisticRegression(C=1 / hold, tol=1e-8, max_iter=1000)
    peer.fit(laid, rows.targets, sample_weight=rows.weights)

    found = solve_logistic(rows, laid, hold)

    chances = to_chances(found.logits(laid))
    np.testing.assert_allclose(chances, peer.predict_proba(laid), atol=2e-3)


@each_n_classes
def test_held_out_logistic_ridge_is_that_of_scikit_learn_without_the_fold(n_classes):
    rows, laid = laid_rows(n_classes)
    held_out = rows.hold_out(3, rows.n_rows)
    told = []
    for hold in LOGISTIC_PENALTIES:
        chances = np.empty((rows.n_rows, n_classes))
        for fold in held_out.folds:
            kept = np.setdiff1d(np.arange(rows.n_rows), fold)
            peer = LogisticRegression(C=1 / hold, tol=1e-8, max_iter=1000)
            peer.fit(laid[kept], rows.targets[kept], sample_weight=rows.weights[kept])
            chances[fold] = peer.predict_proba(laid[fold])
        told.append(chances)

    logits, without, _ = fit_logistic(rows, laid, held_out)

    # The hold by which the fold of most weight loses least.
    judge = max(held_out.folds, key=lambda fold: rows.weights[fold].sum())
    own = [chances[judge, rows.targets[judge]] for chances in told]
    best = int(np.argmax([rows.weights[judge] @ np.log(shares) for shares in own]))
    np.testing.assert_allclose(to_chances(logits), told[best], atol=2e-3)
    whole = solve_logistic(rows, laid, LOGISTIC_PENALTIES[best])
    coefficients = without(None).coefficients
    np.testing.assert_allclose(coefficients, whole.coefficients, atol=1e-3)


def test_fold_may_leave_no_row_of_a_class():
    rows, laid = laid_rows()
    fold = np.flatnonzero(rows.targets == 1)

    found = solve_logistic(rows, laid, 3.0, fold)

    assert np.isfinite(found.logits(laid)).all()
