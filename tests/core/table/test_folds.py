"""Which fold each row is in, dealt out by class or drawn."""

import numpy as np
import pytest

from askless.core.codes import folds
from askless.core.codes.folds import deal_folds, deal_strata
from tests.small import make_dataset


def rows_of(n_samples=600, row_groups=None, n_classes=2):
    values = np.arange(float(n_samples))[:, None]
    targets = np.arange(n_samples) // 3 % n_classes
    return make_dataset(values, targets, n_classes, row_groups=row_groups)


def test_dealt_folds_are_those_with_each_class_spread_evenly():
    rows = rows_of()

    fold_of, n_folds = deal_folds(rows, 4, seed=5)

    parts = [np.flatnonzero(fold_of == number).tolist() for number in range(n_folds)]
    assert parts == [part.tolist() for part in deal_strata(rows, 4, seed=5)]


@pytest.mark.parametrize("deal", ["exact", "hashed", None])
def test_less_than_two_folds_are_none(deal):
    fold_of, n_folds = deal_folds(rows_of(), 0, 0, deal)

    assert (n_folds, fold_of.tolist()) == (0, [0] * 600)


def test_drawn_folds_are_about_even_and_decided_by_the_seed():
    drawn = [deal_folds(rows_of(), 3, seed, "hashed")[0].tolist() for seed in (1, 1, 2)]

    assert drawn[0] == drawn[1] != drawn[2]
    assert np.bincount(drawn[0]).min() > 150


def test_fold_of_a_row_says_nothing_of_the_rows_after_it(monkeypatch):
    few, many = (deal_folds(rows_of(n), 5, 7, "hashed")[0] for n in (300, 600))
    monkeypatch.setattr(folds, "CHUNK", 7)
    again, _ = deal_folds(rows_of(600), 5, 7, "hashed")

    assert few.tolist() == many[:300].tolist()
    assert again.tolist() == many.tolist()


def test_rows_of_a_group_are_drawn_together():
    row_groups = np.arange(600) // 6 + 9

    fold_of, n_folds = deal_folds(rows_of(600, row_groups), 3, 0, "hashed")

    assert n_folds == 3
    assert np.ptp(fold_of.reshape(100, 6), axis=1).max() == 0
    assert np.unique(fold_of).size == 3


def test_very_many_rows_are_drawn_unless_asked_otherwise(monkeypatch):
    rows = rows_of()
    drawn = deal_folds(rows, 3, 0, "hashed")[0].tolist()

    assert deal_folds(rows, 3, 0)[0].tolist() != drawn
    monkeypatch.setattr(folds, "EXACT_ROWS", 599)
    assert deal_folds(rows, 3, 0)[0].tolist() == drawn
    assert deal_folds(rows, 3, 0, "exact")[0].tolist() != drawn


@pytest.mark.parametrize(
    ("n_samples", "row_groups"),
    [
        # Some fold has no row; the rows left have one class.
        (4, None),
        (600, np.arange(600) // 300),
    ],
)
def test_folds_that_leave_nothing_to_train_on_are_none(n_samples, row_groups):
    rows = rows_of(n_samples, row_groups)

    assert deal_folds(rows, 5, 0, "hashed")[1] == 0
