"""Fewer rows stand for all: classes keep their weight, small ones their rows."""

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.codes.thinning import sample_classes, thin_classes
from askless.core.table.dataset import ClassLabel, Dataset


def rows_of(*counts: int, weights=None) -> Dataset:
    """So many rows of each class, mixed; the value of a row is its position."""
    targets = np.repeat(np.arange(len(counts)), counts)
    targets = np.random.default_rng(0).permutation(targets)
    weights = np.ones(targets.size) if weights is None else weights
    return Dataset(
        Catalogue((Feature("x"),)),
        tuple(ClassLabel(str(idx), str(idx)) for idx in range(len(counts))),
        np.arange(targets.size, dtype=float)[:, None],
        targets,
        weights / weights.sum(),
        np.arange(targets.size) // 2,
    )


def shares(dataset: Dataset) -> np.ndarray:
    return np.bincount(dataset.targets, dataset.weights, len(dataset.classes))


@pytest.mark.parametrize("counts", [(50, 50), (90, 10), (99, 1), (60, 30, 10)])
@pytest.mark.parametrize("most", [20, 37, 99])
def test_thinned_rows_are_no_more_than_asked_and_classes_keep_their_weight(
    counts, most
):
    dataset = rows_of(*counts)

    few = thin_classes(dataset, most)

    assert most - len(counts) <= few.n_samples <= most
    np.testing.assert_allclose(shares(few), shares(dataset))
    assert few.weights.sum() == pytest.approx(1.0)


def test_small_class_keeps_all_its_rows():
    few = thin_classes(rows_of(95, 5), 20)

    assert np.bincount(few.targets).tolist() == [15, 5]


def test_rows_keep_their_order_values_and_row_groups():
    dataset = rows_of(30, 10)

    few = thin_classes(dataset, 20)

    positions = few.values[:, 0].astype(int)
    assert (np.diff(positions) > 0).all()
    np.testing.assert_array_equal(few.targets, dataset.targets[positions])
    np.testing.assert_array_equal(few.row_groups, positions // 2)


def test_rows_of_one_class_keep_the_proportions_of_their_weights():
    weights = np.random.default_rng(1).random(40)
    dataset = rows_of(30, 10, weights=weights)

    few = thin_classes(dataset, 20)

    kept = few.targets == 0
    ratio = few.weights[kept] / weights[few.values[kept, 0].astype(int)]
    np.testing.assert_allclose(ratio, ratio[0])


def test_few_rows_are_left_alone():
    dataset = rows_of(5, 5)

    assert thin_classes(dataset, 10) is dataset


def test_class_without_rows_stays_without():
    few = thin_classes(rows_of(20, 0, 20), 12)

    assert np.bincount(few.targets, minlength=3)[1] == 0
    assert few.n_samples == 12


@pytest.mark.parametrize("most", [12, 20, 40])
def test_sample_says_which_rows_it_has(most):
    dataset = rows_of(30, 10)

    few, row_idxs = sample_classes(dataset, most)

    assert row_idxs.tolist() == few.values[:, 0].astype(int).tolist()
    np.testing.assert_array_equal(few.weights, thin_classes(dataset, most).weights)
