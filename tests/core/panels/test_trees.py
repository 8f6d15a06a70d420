"""Trees grown on codes and served from values say the same."""

import math
from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.catalogue import UNSEEN
from askless.core.panels.predictors import trees
from askless.core.panels.predictors.trees import (
    choose_leaf_limits,
    fit_trees,
    make_growth_settings,
    merge_ensembles,
    score_held_out,
)
from askless.core.panels.rows import FINE, PLAIN, PanelRows
from tests.panels import random_rows
from tests.small import table_of

IDXS = (4, 2, 0, 5)

# Steps are served with six digits.
ROUNDED = 1e-5


def assert_close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=ROUNDED)


def growth_of(rows, rounds=3, leaves=4, row_share=1.0, column_share=1.0):
    return make_growth_settings(rows, rounds, leaves, 0.3, row_share, column_share)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_served_trees_score_rows_as_growing_did(n_classes):
    rows = random_rows(1, n_classes)

    grown = fit_trees(rows, IDXS, growth_of(rows))

    served = merge_ensembles(rows, IDXS, [grown])
    assert_close(served.logits(rows.dataset.values), grown.scores.T)
    assert served.served.nodes.shape[0] > 0


def test_rare_category_is_scored_as_growing_did():
    codes = np.append(np.arange(70.0), math.nan)
    rows = PanelRows(table_of([codes], codes % 7 == 0, types=["category"]), 0)

    grown = fit_trees(rows, (0,), growth_of(rows)._replace(least_rows=1))

    served = merge_ensembles(rows, (0,), [grown])
    assert_close(served.logits(rows.dataset.values), grown.scores.T)
    np.testing.assert_array_equal(
        served.logits(np.array([[UNSEEN]])), served.logits(np.array([[69.0]]))
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_several_ensembles_are_served_as_their_mean(n_classes):
    rows = random_rows(2, n_classes)
    growths = [growth_of(rows), growth_of(rows, 2, 3, 0.7, 0.5)]

    grown = [fit_trees(rows, IDXS, growth) for growth in growths]

    served = merge_ensembles(rows, IDXS, grown)
    expected = np.mean([tree.scores.T for tree in grown], axis=0)
    assert_close(served.logits(rows.dataset.values), expected)


def test_trees_without_a_useful_column_are_served_as_the_class_shares():
    rows = PanelRows(table_of([[1.0] * 6], [0, 0, 0, 0, 1, 1]), 0)

    served = merge_ensembles(rows, (0,), [fit_trees(rows, (0,), growth_of(rows))])

    logits = served.logits(np.array([[math.nan], [7.0]]))
    assert logits == pytest.approx(-math.log(2))


def test_gains_are_of_the_features_read_alone():
    rows = random_rows(3)

    gains = fit_trees(rows, (4, 0), growth_of(rows)).gains

    assert set(np.flatnonzero(gains)) <= {0, 4}
    assert gains.sum() > 0
    assert gains.size == 6


def test_held_out_scores_of_a_fold_do_not_depend_on_its_classes():
    rows = random_rows(4)
    held_out = rows.hold_out(3, rows.n_rows)
    folds = held_out.folds
    other = random_rows(4)
    other.targets[folds[0]] = 1 - other.targets[folds[0]]
    # The scores begin with the class shares of all rows.
    other.__dict__["starts"] = rows.starts

    one, two = (score_held_out(x, IDXS, growth_of(x), held_out) for x in (rows, other))

    np.testing.assert_array_equal(one[folds[0]], two[folds[0]])
    assert not np.array_equal(one[folds[1]], two[folds[1]])


@pytest.mark.parametrize(("n_rows", "expected"), [(20, 2), (250, 5), (5000, 20)])
def test_leaves_have_2_to_20_rows_at_least(n_rows, expected):
    rows = PanelRows(table_of([np.zeros(n_rows)]), 0)

    assert make_growth_settings(rows, 1).least_rows == expected


@pytest.mark.parametrize(
    ("n_rows", "expected"), [(4000, (60, 4)), (16_000, (120, 6)), (400_000, (240, 8))]
)
def test_many_rows_get_more_and_larger_trees_up_to_a_bound(n_rows, expected):
    rows = PanelRows(table_of([np.zeros(n_rows)]), 0)

    growth = make_growth_settings(rows, 60)

    assert (growth.rounds, growth.leaves) == expected


@pytest.mark.parametrize(
    ("n_classes", "expected"), [(2, (60, 0.1)), (6, (30, 0.2)), (12, (20, 0.3))]
)
def test_trees_of_many_classes_are_fewer_and_of_longer_steps(n_classes, expected):
    rows = PanelRows(table_of([np.zeros(24)], n_classes=n_classes), 0)

    growth = make_growth_settings(rows, 60)

    assert (growth.rounds, growth.rate) == pytest.approx(expected)


def told_by_few(n_rare: int, is_noisy: bool) -> PanelRows:
    """A feature of which single values tell the class, and do not beside noise."""
    random = np.random.default_rng(1)
    column = np.arange(600) % 60
    targets = (column < n_rare).astype(np.int64)
    if is_noisy:
        targets = np.where(random.random(600) < 0.4, 1 - targets, targets)
    return PanelRows(table_of([column, random.normal(size=600)], targets), 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_rare", "is_noisy", "expected"),
    [(30, True, PLAIN), (30, False, FINE), (2, False, FINE)],
)
def test_limits_of_leaves_are_those_by_which_held_out_rows_lose_less(
    n_rare, is_noisy, expected
):
    rows = told_by_few(n_rare, is_noisy)

    assert choose_leaf_limits(rows, rows.hold_out(4, 300)) == expected


@pytest.mark.parametrize(("n_rare", "expected"), [(50, PLAIN), (2, FINE)])
def test_leaves_are_plain_where_they_are_the_same_but_where_a_class_is_rare(
    n_rare, expected, monkeypatch
):
    def say_nothing(*given):
        return np.zeros((given[-1].row_idxs.size, 1))

    monkeypatch.setattr(trees, "score_held_out", say_nothing)
    targets = (np.arange(100) < n_rare).astype(np.int64)
    rows = PanelRows(table_of([np.arange(100)], targets), 0)

    assert choose_leaf_limits(rows, rows.hold_out(4, 100)) == expected


@pytest.mark.slow
def test_rare_class_does_not_make_leaves_fine_that_lose_more():
    random = np.random.default_rng(0)
    columns = random.normal(size=(20, 600))
    rows = PanelRows(table_of(columns, np.arange(600) < 50), 0)

    assert choose_leaf_limits(rows, rows.hold_out(4, 600)) == PLAIN


def test_leaves_are_plain_where_nothing_is_useful():
    rows = PanelRows(table_of([np.zeros(6)], [0, 0, 0, 0, 0, 1]), 0)

    assert choose_leaf_limits(rows, rows.hold_out(2, 6)) == PLAIN


def test_limits_of_a_table_are_those_of_its_trees():
    rows = replace(random_rows(0, 2, 600), limits=FINE)

    growth = make_growth_settings(rows, 3)

    assert (growth.least_rows, growth.l2) == FINE
