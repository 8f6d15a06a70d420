"""Ridge regressions through rows and through inputs, with folds left out."""

import numpy as np
import pytest

from askless.core.panels.predictors import solving
from askless.core.panels.predictors.solving import DualRidge, PrimalRidge

HOLDS = (0.06, 0.3, 1.5)

each_way = pytest.mark.parametrize("way", [DualRidge, PrimalRidge])


def solve(inputs, outputs, hold):
    """Coefficients of a ridge regression."""
    squares = inputs.T @ inputs + hold * np.eye(inputs.shape[1])
    return np.linalg.solve(squares, inputs.T @ outputs)


@each_way
@pytest.mark.parametrize("n_inputs", [5, 40])
@pytest.mark.parametrize("n_folds", [1, 3])
def test_folds_left_out_are_those_of_fitting_again_without_them(
    n_folds, n_inputs, way, monkeypatch
):
    monkeypatch.setattr(solving, "BLOCK", 8)
    random = np.random.default_rng(0)
    inputs, outputs = random.normal(size=(20, n_inputs)), random.normal(size=(20, 2))
    folds = np.array_split(random.permutation(20), 3)[:n_folds]

    ridge = way(inputs.__getitem__, outputs, folds)

    for hold in HOLDS:
        expected = solve(inputs, outputs, hold)
        np.testing.assert_allclose(ridge.coefficients(hold), expected)
        by_fold = ridge.fold_coefficients(hold)
        for fold, found in zip(folds, by_fold, strict=True):
            kept = np.setdiff1d(np.arange(20), fold)
            np.testing.assert_allclose(
                found, solve(inputs[kept], outputs[kept], hold), atol=1e-12
            )


@each_way
def test_votes_of_a_fold_are_by_its_own_coefficients_and_others_0(way, monkeypatch):
    monkeypatch.setattr(solving, "BLOCK", 8)
    random = np.random.default_rng(0)
    inputs, by_fold = random.normal(size=(20, 5)), random.normal(size=(2, 5, 3))
    folds = [np.array([7, 3, 12]), np.array([19, 18, 17, 16])]

    votes = way(inputs.__getitem__, np.ones((20, 1)), folds).compute_votes([*by_fold])

    expected = np.zeros((20, 3))
    expected[folds[0]] = inputs[folds[0]] @ by_fold[0]
    expected[folds[1]] = inputs[folds[1]] @ by_fold[1]
    np.testing.assert_allclose(votes, expected)


def test_many_rows_are_laid_in_blocks():
    sizes = []

    def compute_inputs(row_idxs):
        sizes.append(row_idxs.size)
        return np.ones((row_idxs.size, 2), np.float32)

    PrimalRidge(compute_inputs, np.ones((2500, 1)), [np.arange(1200)])

    assert sizes == [1000, 200, 1000, 300]
