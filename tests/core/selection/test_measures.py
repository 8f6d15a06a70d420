"""Neighbours, their distances, and the weights D' of iFS2Boost."""

import math

import numpy as np
import pytest

from askless.core.selection.boosting import boost_subset, weigh_clear_descriptions
from askless.core.selection.neighbours import find_neighbours
from askless.core.selection.params import SelectionParams
from askless.core.selection.subset import make_groups
from tests.selections import LEARNERS, make_dataset, subset_of


def test_all_neighbours_at_the_kth_distance_vote():
    subset = subset_of(make_dataset([[0, 1, 2, 4, 8]], [0, 1, 0, 1, 0]), [0])

    neighbours, starts = find_neighbours(subset, 1)

    found = [part.tolist() for part in np.split(neighbours, starts[1:])]
    assert found == [[0, 1], [0, 1, 2], [1, 2], [2, 3], [3, 4]]


def test_a_missing_cell_is_a_value_of_its_own():
    nan = math.nan
    columns = [[0.0, 10.0, 5.0, nan, nan], [0.0, 0.0, 1.0, nan, 1.0]]
    dataset = make_dataset(columns, [0, 1, 0, 1, 0], ["number", "category"])

    subset = subset_of(dataset, [0, 1])

    between_rows = subset.distances[np.ix_(subset.cells, subset.cells)]
    assert between_rows.tolist() == [
        [0.0, 1.0, 1.25, 2.0, 2.0],
        [1.0, 0.0, 1.25, 2.0, 2.0],
        [1.25, 1.25, 0.0, 2.0, 1.0],
        [2.0, 2.0, 2.0, 0.0, 1.0],
        [2.0, 2.0, 1.0, 1.0, 0.0],
    ]


def test_a_range_that_overflows_is_scaled():
    subset = subset_of(make_dataset([[-1.7e308, 0.0, 1.7e308]], [0, 1, 0]), [0])

    assert subset.distances[0].tolist() == [0.0, 0.25, 1.0]


def test_clear_descriptions_gain_weight_and_balanced_ones_lose_it_all():
    columns = [[0, 0, 1, 1, 1, 1, 2, 2]]
    dataset = make_dataset(columns, [1, 1, 1, 1, 1, 0, 0, 1])
    subset = subset_of(dataset, [0])
    groups = make_groups(subset)
    signs = subset.table.signs[groups.rows]

    D = weigh_clear_descriptions(np.full(signs.shape, 1 / 8), signs, groups)

    by_row = D[groups.of_row, 0]
    np.testing.assert_allclose(by_row, [1 / 4] * 2 + [1 / 8] * 4 + [0.0] * 2)


@pytest.mark.parametrize("learner", LEARNERS)
def test_z_prime_is_z_where_every_description_has_one_class(learner):
    dataset = make_dataset([range(12)], [0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1])
    subset = subset_of(dataset, [0])
    plain = SelectionParams("fs2boost", learner, n_neighbours=2)
    primed = SelectionParams("ifs2boost", learner, n_neighbours=2, criterion="z_prime")

    zs = boost_subset(subset, plain).zs

    np.testing.assert_allclose(boost_subset(subset, primed).zs, zs)


def test_z_prime_is_1_where_no_description_is_clear():
    dataset = make_dataset([[0, 0, 1, 1]], [0, 1, 0, 1])
    params = SelectionParams("ifs2boost", n_neighbours=1, criterion="z_prime")

    fit = boost_subset(subset_of(dataset, [0]), params)

    assert fit.zs.tolist() == [1.0] * params.rounds
