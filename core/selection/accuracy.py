"""How often nearest neighbours on a subset are right, the row itself left out."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from core.selection.neighbours import find_neighbours
from core.selection.params import N_NEIGHBOURS
from core.selection.subset import Subset, extend, make_empty
from core.selection.table import Table, make_table
from core.selection.tolerances import TIE
from core.types import Dataset, FloatArray


def empty_accuracy(table: Table) -> float:
    """Give the accuracy of no feature at all: the weight of the largest class."""
    return float(np.bincount(table.dataset.targets, table.weights).max())


def neighbour_accuracy(subset: Subset, n_neighbours: int) -> float:
    """Give the leave-one-out accuracy of k nearest neighbours on a subset.

    Notes
    -----
    Neighbours vote with their weights in the dataset. A tie among q classes counts
    as 1/q where the right one is among them.
    """
    table = subset.table
    if not subset.feature_idxs:
        return empty_accuracy(table)
    n_classes = len(table.dataset.classes)
    own = (table.dataset.targets[:, None] == np.arange(n_classes)).astype(np.float64)
    own *= table.weights[:, None]
    neighbours, starts = find_neighbours(subset, n_neighbours)
    by_cell = np.zeros((subset.distances.shape[0], n_classes))
    np.add.at(by_cell, subset.cells, own)
    votes = np.add.reduceat(by_cell[neighbours], starts, axis=0)
    return share_right(table, votes[subset.cells] - own)


def share_right(table: Table, scores: FloatArray) -> float:
    """Give the weight of the rows whose class has the highest score, ties shared."""
    tops = scores.max(axis=1, keepdims=True)
    is_top = scores >= tops - TIE * np.abs(tops)
    targets = table.dataset.targets
    is_right = is_top[np.arange(targets.size), targets]
    return float(table.weights @ (is_right / is_top.sum(axis=1)))


def loo_accuracy(
    dataset: Dataset, feature_idxs: Iterable[int], n_neighbours: int = N_NEIGHBOURS
) -> float:
    """Give the leave-one-out accuracy of k nearest neighbours on some features.

    Parameters
    ----------
    dataset : Dataset
        One class per row.
    feature_idxs : iterable of int
    n_neighbours : int

    Returns
    -------
    float
        Weighted by the rows' weights; without a feature the largest class's weight.

    Notes
    -----
    The yardstick of Sebban and Nock's table 1 (`neighbour_accuracy`). O(n^2).
    """
    table = make_table(dataset)
    subset = make_empty(table)
    for idx in feature_idxs:
        subset = extend(subset, idx)
    return neighbour_accuracy(subset, n_neighbours)
