"""How often nearest neighbours on a subset are right, the row itself left out."""

from collections.abc import Iterable

import numpy as np

from core.arrays import FloatArray
from core.selection.neighbours import find_neighbours
from core.selection.params import N_NEIGHBOURS
from core.selection.subset import Subset, extend, make_empty
from core.selection.table import SelectionTable, make_table
from core.selection.tolerances import TIE
from core.table.dataset import Dataset


def empty_accuracy(table: SelectionTable) -> float:
    """Give the accuracy of no feature at all: the weight of the largest class."""
    return float(np.bincount(table.dataset.targets, table.weights).max())


def neighbour_accuracy(subset: Subset, n_neighbours: int) -> float:
    """Give the leave-one-out accuracy of k nearest neighbours on a subset.

    Notes
    -----
    Neighbours vote with their weights in the dataset. A tie among q classes counts
    as 1/q where the right one is among them. Without a feature the largest class.
    """
    return float(subset.table.weights @ neighbour_rights(subset, n_neighbours))


def neighbour_rights(subset: Subset, n_neighbours: int) -> FloatArray:
    """Give for each row 1 if its neighbours name its class, 1/q on a tie, else 0."""
    table = subset.table
    n_classes = len(table.dataset.classes)
    own = (table.dataset.targets[:, None] == np.arange(n_classes)).astype(np.float64)
    own *= table.weights[:, None]
    if not subset.feature_idxs:
        return find_rights(table, np.tile(own.sum(axis=0), (len(own), 1)))
    neighbours, starts = find_neighbours(subset, n_neighbours)
    by_cell = np.zeros((subset.distances.shape[0], n_classes))
    np.add.at(by_cell, subset.cells, own)
    votes = np.add.reduceat(by_cell[neighbours], starts, axis=0)
    return find_rights(table, votes[subset.cells] - own)


def share_right(table: SelectionTable, scores: FloatArray) -> float:
    """Give the weight of the rows whose class has the highest score, ties shared."""
    return float(table.weights @ find_rights(table, scores))


def find_rights(table: SelectionTable, scores: FloatArray) -> FloatArray:
    """Give for each row 1 if its class has the highest score, 1/q on a tie, else 0."""
    tops = scores.max(axis=1, keepdims=True)
    is_top = scores >= tops - TIE * np.abs(tops)
    targets = table.dataset.targets
    is_right = is_top[np.arange(targets.size), targets]
    rights: FloatArray = is_right / is_top.sum(axis=1)
    return rights


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
    The yardstick of Sebban and Nock's (1999) table 1 (`neighbour_accuracy`). O(n^2).
    """
    return float(dataset.weights @ loo_rights(dataset, feature_idxs, n_neighbours))


def loo_rights(
    dataset: Dataset, feature_idxs: Iterable[int], n_neighbours: int = N_NEIGHBOURS
) -> FloatArray:
    """Give `loo_accuracy` row by row: 1 right, 0 wrong, 1/q a tie of q classes."""
    subset = make_empty(make_table(dataset))
    for idx in feature_idxs:
        subset = extend(subset, idx)
    return neighbour_rights(subset, n_neighbours)
