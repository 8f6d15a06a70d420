"""Class-conditional tables: against their twin, and what a blend makes of them."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core import kernels
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.kernels.tables import compute_entropy, write_expected_falls
from askless.core.model.ladder.tables import (
    ROOT,
    TableMember,
    make_cells,
    measure_spreads,
)
from askless.core.panels.gates import fit_held_out_tables, fit_tables
from askless.core.panels.tables import CountedRows
from askless.core.table.dataset import ClassLabel, Dataset
from askless.core.table.gaps import restore_silent_cells
from askless.core.table.silent import SILENT
from tests import naive_tables as naive
from tests.small import random_dataset

SEEDS = st.integers(0, 2**32 - 1)


def make_rows(seed: int, n_classes: int, n_rows: int = 80) -> CountedRows:
    """Six features; missing values of every other one are information."""
    dataset = random_dataset(seed, n_classes, n_rows, n_values=9)
    return CountedRows(dataset, np.arange(6) % 2 == 0)


def list_tables(rows: CountedRows, counts: np.ndarray) -> list[list[list[float]]]:
    starts = rows.cells.starts
    return [counts[a:b].tolist() for a, b in itertools.pairwise(starts)]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("has_parent", [False, True])
def test_interpolated_tables_are_those_of_the_twin(
    n_classes: int, has_parent: bool
) -> None:
    rows = make_rows(1, n_classes)
    counts = rows.count(np.arange(40))
    parent = rows.mix(rows.count(np.arange(80)), n_steps=4)
    given = parent if has_parent else np.empty((0, 0))
    expected = []
    for idx, table in enumerate(list_tables(rows, counts)):
        n_bins = len(table) - int(rows.has_missing[idx])
        expected += naive.mix(
            table[:n_bins],
            table[n_bins:],
            list_tables(rows, parent)[idx] if has_parent else None,
            4,
            is_number=not rows.is_category[idx],
        )
    actual = rows.mix(counts, given, n_steps=4)
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


@given(seed=SEEDS)
def test_cells_of_values_are_those_of_the_twin(seed: int) -> None:
    rows = make_rows(seed, 2, n_rows=20)
    for row, values in enumerate(rows.dataset.values.tolist()):
        for idx, value in enumerate(values):
            first, last = rows.cells.starts[idx : idx + 2]
            if math.isnan(value):
                expected = last - 1 if rows.has_missing[idx] else -1
            else:
                expected = first + naive.find_cell(
                    value, rows.cuts[idx].tolist(), is_category=rows.is_category[idx]
                )
            assert rows.coded[row, idx] == expected


@given(seed=SEEDS, n_classes=st.integers(2, 4))
def test_posterior_and_falls_are_those_of_the_twin(seed: int, n_classes: int) -> None:
    rows = make_rows(seed, n_classes, n_rows=40)
    tables = fit_tables(rows, 0)
    is_known = np.random.default_rng(seed).random(6) < 0.5
    values = rows.dataset.values[:1]
    scores = tables.score(values, is_known)[0]
    posterior = np.exp(scores - scores.max())
    posterior /= posterior.sum()
    cells = tables.find_cells(values, is_known)[0]
    known = [
        np.exp(tables.parts[ROOT].log_chances)[cell].tolist()
        for cell in cells
        if cell >= 0
    ]
    shares = np.exp(tables.parts[ROOT].log_shares).tolist()
    np.testing.assert_allclose(posterior, naive.find_posterior(shares, known))
    # Tables are kept rounded; here the chances of a feature's cells sum to 1.
    falls, chances = np.empty(6), np.exp(tables.parts[ROOT].log_chances)
    starts = tables.cells.starts
    chances /= np.repeat(np.add.reduceat(chances, starts[:-1]), np.diff(starts), axis=0)
    spreads = measure_spreads(chances, tables.cells)
    write_expected_falls(posterior, chances, spreads, tables.cells, ~is_known, falls)
    by_feature = list_tables(rows, chances)
    expected = [
        0.0 if is_known[idx] else naive.expect_fall(posterior.tolist(), table)
        for idx, table in enumerate(by_feature)
    ]
    np.testing.assert_allclose(falls, expected, atol=1e-9)


def test_unknown_features_leave_their_factors_out() -> None:
    rows = make_rows(3, 3)
    tables, values = fit_tables(rows, 0), rows.dataset.values[:5]
    nobody = np.zeros(6, np.bool_)
    shares = np.tile(tables.parts[ROOT].log_shares, (5, 1))
    assert np.array_equal(tables.score(values, nobody), shares)
    lost = np.full_like(values, np.nan)
    # Without a cell a missing value says nothing; with one it does.
    silent = np.where(rows.has_missing, values, lost)
    member = TableMember(tables, (0, 1, 2, 3))
    hidden = ~rows.has_missing
    assert np.allclose(member.logits(silent), member.logits(values, hidden))


def test_marked_cells_count_nowhere() -> None:
    dataset = random_dataset(0, 2, 30)
    values = dataset.values.copy()
    values[:, 0] = SILENT
    marked = Dataset(
        dataset.catalogue, dataset.classes, values, dataset.targets, dataset.weights
    )
    rows = CountedRows(marked, np.ones(6, np.bool_))
    assert (rows.coded[:, 0] == -1).all()


def test_rows_of_one_group_are_one_case() -> None:
    dataset = random_dataset(0, 2, 40)
    twice = np.repeat(np.arange(40), 2)
    grouped = Dataset(
        dataset.catalogue,
        dataset.classes,
        dataset.values[twice],
        dataset.targets[twice],
        np.full(80, 1 / 80),
        twice,
    )
    nothing = np.zeros(6, np.bool_)
    plain = Dataset(
        dataset.catalogue,
        dataset.classes,
        dataset.values,
        dataset.targets,
        np.full(40, 1 / 40),
    )
    once = CountedRows(plain, nothing)
    everyone = np.arange(40)
    doubled = CountedRows(grouped, nothing)
    np.testing.assert_allclose(
        doubled.count_classes(np.arange(80)), once.count_classes(everyone)
    )


def test_idle_features_say_almost_nothing() -> None:
    """On shuffled labels interpolation comes to the pooled table."""
    random = np.random.default_rng(0)
    values, targets = random.normal(size=(1000, 5)), random.integers(0, 8, 1000)
    labels = tuple(ClassLabel(str(label), str(label)) for label in range(8))
    features = tuple(Feature(f"x{idx}") for idx in range(5))
    weights = np.full(1000, 1e-3)
    dataset = Dataset(Catalogue(features), labels, values, targets, weights)
    tables = fit_tables(CountedRows(dataset, np.zeros(5, np.bool_)), 0)
    falls = np.empty(5)
    root, every = tables.served, np.ones(5, np.bool_)
    shares = np.exp(root.log_shares[ROOT])
    chances, spreads = root.chances[ROOT], root.spreads[ROOT]
    write_expected_falls(shares, chances, spreads, tables.cells, every, falls)
    assert falls.max() < 0.02


def test_held_out_tables_never_saw_their_fold() -> None:
    rows = make_rows(5, 2)
    folds = [np.arange(0, 80, 2), np.arange(1, 80, 2)]
    held_out = fit_held_out_tables(rows, folds, 0)
    without = fit_tables(rows, 0, folds[1])
    assert held_out.by_fold[0] == without
    member = TableMember(without, (1, 2))
    expected = member.logits(rows.dataset.values[folds[0]])
    assert np.allclose(held_out.predict((1, 2))[folds[0]], expected)


def test_categories_without_a_cell_of_their_own_share_one() -> None:
    cells = make_cells((np.array([0.0, 2.0]),), np.array([True]), np.array([False]))
    values, coded = np.array([[0.0], [1.0], [2.0], [9.0]]), np.empty((4, 1), np.int64)
    kernels.code_cells(values, np.array([True]), cells, coded)
    assert coded[:, 0].tolist() == [0, 2, 1, 2]


def test_class_without_a_chance_and_cell_without_rows_tell_nothing() -> None:
    cells = make_cells((np.array([0.5]),), np.array([False]), np.array([False]))
    posterior, falls = np.array([1.0, 0.0]), np.empty(1)
    chances = np.array([[0.0, 0.5], [1.0, 0.5]])
    spreads = measure_spreads(chances, cells)
    write_expected_falls(posterior, chances, spreads, cells, np.array([True]), falls)
    assert falls.tolist() == [0.0]
    assert compute_entropy(posterior) == 0.0


def test_cells_that_nobody_answered_are_missing_again() -> None:
    dataset = random_dataset(0, 2, 20, n_values=4)
    filled = replace(dataset, values=np.nan_to_num(dataset.values))
    silent = dataset.values.copy()
    silent[3, 1] = SILENT[0]
    kept = restore_silent_cells(filled, replace(dataset, values=silent))
    assert np.isnan(kept.values).nonzero() == ([3], [1])
    assert restore_silent_cells(filled, dataset) is filled
