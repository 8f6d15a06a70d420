"""How often features are asked."""

import numpy as np
import pytest

from askless.core.model.hypotheses import Stump
from askless.core.simulation.blocks import Block, Conditions
from askless.core.simulation.purchases import (
    measure_purchases,
    merge_lists,
    sum_block_lists,
    summarise_lists,
)
from tests.small import MICROS, ensemble_of, table_of


def test_shares_are_those_of_the_rows_that_ask():
    ensemble = ensemble_of([Stump(0, 0.5, (1,)), Stump(1, 0.5, (1,))])
    dataset = table_of(np.ones((2, 4)), [0, 1, 0, 1], ensemble.catalogue)

    found = measure_purchases(ensemble, dataset, [0, MICROS, None])

    assert [state.shares.tolist() for state in found] == [[0, 0], [1, 0], [1, 1]]


def test_rows_count_by_their_weights():
    """After a missing value the plan goes on to what it then can pay."""
    ensemble = ensemble_of([Stump(0, 0.5, (1,)), Stump(1, 0.5, (1,))])
    columns = [[1.0, np.nan], [1.0, 1.0]]
    weights = [0.7, 0.3]
    dataset = table_of(columns, [0, 1], ensemble.catalogue, weights=weights)

    [found] = measure_purchases(ensemble, dataset, [MICROS])

    assert found.shares == pytest.approx([1.0, 0.3])


@pytest.mark.parametrize("n_rows", [7, 49, 346])
def test_what_every_row_asks_is_asked_by_all(n_rows):
    ensemble = ensemble_of([Stump(0, 0.5, (1,))])
    weights = np.random.default_rng(n_rows).dirichlet(np.ones(n_rows))
    dataset = table_of([np.ones(n_rows)], None, ensemble.catalogue, weights=weights)

    [found] = measure_purchases(ensemble, dataset, [None])

    assert found.shares.tolist() == [1.0]
    assert (found.n_lists, found.commonest, found.ended_after) == (1, 1.0, (0.0, 1.0))


def test_lists_of_blocks_add_up_to_those_of_the_whole():
    """After a missing value the plan goes on to what it then can pay."""
    ensemble = ensemble_of([Stump(0, 0.5, (1,)), Stump(1, 0.5, (1,))])
    values = np.array([[1.0, 1.0], [np.nan, 1.0], [1.0, 1.0], [np.nan, 1.0]])
    weights = np.array([1.0, 2.0, 5.0, 0.0])
    played = Conditions([0, MICROS, None])
    targets = np.zeros(4, np.int64)

    whole = sum_block_lists(ensemble, Block(values, targets, range(4)), weights, played)
    parts = [
        sum_block_lists(
            ensemble,
            Block(values[rows], targets[rows], range(4)[rows], rows.start),
            weights[rows],
            played,
        )
        for rows in (slice(0, 1), slice(1, 4))
    ]

    assert list(map(merge_lists, *parts)) == whole
    assert [summarise_lists(lists) for lists in whole] == [
        (1, 1.0),
        (2, 0.75),
        (1, 1.0),
    ]


def test_a_list_without_weight_is_none():
    assert summarise_lists({}) == (0, 0.0)
