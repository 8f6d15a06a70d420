"""Roots: features that say where to look, though they tell nothing themselves."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.panels.purchases import Shop
from askless.core.panels.roots import (
    LEAST_PART,
    count_looks,
    find_root,
    group_rows_by_part,
    make_looks,
    make_split,
)
from askless.core.panels.rows import PanelRows
from askless.core.table.dataset import Dataset
from tests.routes import indicator
from tests.small import MICROS, random_dataset, table_of


def root_of(dataset: Dataset, most: int = 10 * MICROS):
    rows = PanelRows(dataset, 0)
    return find_root(rows, Shop(dataset.catalogue, rows.is_useful), most)


def retyped(dataset: Dataset, *kinds: str, **fields) -> Dataset:
    """The table with features of other types."""
    features = tuple(
        replace(one, type=kind, categories=("a", "b", "c"))
        for one, kind in zip(dataset.catalogue.features, kinds, strict=True)
    )
    return replace(dataset, catalogue=Catalogue(features, **fields))


@pytest.mark.parametrize("n_parts", [2, 5])
def test_feature_that_names_another_is_the_root(n_parts):
    split = root_of(indicator(80 * n_parts, n_parts))

    assert split.feature_idxs == (0,)
    assert split.n_parts == n_parts


def test_category_is_a_root_by_its_codes():
    dataset = retyped(indicator(), "category", "boolean", "boolean")

    split = root_of(dataset)

    assert (split.kind, split.points.tolist()) == ("codes", [0.0, 1.0])


def test_bundle_is_a_root_by_its_largest_column():
    plain = indicator()
    hot = np.eye(2)[plain.values[:, 0].astype(int)]
    noise = np.random.default_rng(1).normal(0.0, 0.1, hot.shape)
    features = (
        *(Feature(f"c{idx}", cost=0, group="context") for idx in range(2)),
        *plain.catalogue.features[1:],
    )
    catalogue = Catalogue(features, (Group("context", price=MICROS),))
    values = np.hstack((hot + noise, plain.values[:, 1:]))

    split = root_of(replace(plain, catalogue=catalogue, values=values))

    assert (split.feature_idxs, split.kind) == ((0, 1), "largest")
    np.testing.assert_array_equal(split.assign_parts(values), plain.values[:, 0])


def test_number_of_many_values_is_cut_at_its_median():
    plain = indicator()
    shifts = np.random.default_rng(2).uniform(0.0, 0.4, plain.n_samples)
    plain.values[:, 0] += shifts

    split = root_of(plain)

    assert split.points.size == 1
    is_above = split.assign_parts(plain.values) == 1
    assert is_above.mean() == pytest.approx(0.5, abs=0.01)


def test_root_that_costs_too_much_is_none():
    assert root_of(indicator(root_cost=5 * MICROS), 4 * MICROS) is None


def test_random_tables_have_no_root():
    roots = [root_of(random_dataset(seed, 2, 200)) for seed in range(5)]

    assert roots == [None] * 5


def test_part_of_few_rows_is_none():
    dataset = indicator(3 * LEAST_PART - 3, 3)
    dataset.values[0, 0] = 1.0
    rows = PanelRows(dataset, 0)

    kept = group_rows_by_part(rows, make_split(rows, (0,)))

    assert list(kept) == [1]
    assert root_of(dataset) is None


def test_too_few_rows_for_two_halves_have_no_root():
    assert root_of(table_of([[0.0, 1.0, 2.0]], [0, 0, 1])) is None


def test_offers_of_categories_and_of_many_values_part_no_rows():
    features = (
        Feature("c", "category", categories=tuple("abcdefghijklmn")),
        *(
            Feature(f"m{i}", "category", 0, group="g", categories=("a", "b"))
            for i in (0, 1)
        ),
    )
    catalogue = Catalogue(features, (Group("g", price=1),))
    columns = [np.arange(28) % 14, np.arange(28) % 2, np.arange(28) // 14]
    rows = PanelRows(table_of(columns, catalogue=catalogue), 0)

    assert make_split(rows, (0,)) is None
    assert make_split(rows, (1, 2)) is None


def test_every_row_is_in_one_bin_of_each_feature_and_of_each_pair():
    dataset = random_dataset(3, 2, 40, 6)

    looks = make_looks(PanelRows(dataset, 0))

    assert looks.bins.shape == (40, count_looks(6))
    is_in = looks.is_in.reshape(40, count_looks(6), -1)
    np.testing.assert_array_equal(is_in.sum(axis=2), 1.0)
    np.testing.assert_array_equal(is_in.argmax(axis=2), looks.bins)


def test_many_features_have_no_pairs():
    dataset = random_dataset(3, 2, 12, 33)

    looks = make_looks(PanelRows(dataset, 0))

    assert looks.bins.shape[1] == count_looks(33) == 33
