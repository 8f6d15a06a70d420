"""Classify by nearest neighbours on a subset: votes and leave-one-out accuracy."""

from dataclasses import dataclass

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.selection.subset import Groups, Subset
from askless.core.selection.table import MIN_EDGE, TIE, SelectionTable


@dataclass(frozen=True)
class Neighbours:
    """k nearest neighbours: each votes for its class with its weight D.

    Notes
    -----
    h(x_i) = sum_j D(j) y_j / sum_j D(j) over the neighbours j of i, without i itself;
    0 where none has any weight. The vote is this share, not its sign: in a description
    in balance the sign of the others' votes is always against the row voted on.
    """

    groups: Groups
    signs: FloatArray
    neighbours: IntArray
    starts: IntArray

    def vote(self, D: FloatArray) -> FloatArray:
        """Return the vote on each group; (n_groups, n_outputs), as D."""
        groups = self.groups
        masses = groups.counts[:, None] * D
        votes = np.hstack((masses * self.signs, masses))
        by_cell = np.add.reduceat(votes, groups.starts, axis=0)
        sums = np.add.reduceat(by_cell[self.neighbours], self.starts, axis=0)
        leads, totals = np.hsplit(sums[groups.cells], 2)
        others = totals - D
        is_heard = others > MIN_EDGE * totals
        shares: FloatArray = np.divide(
            leads - D * self.signs, others, out=np.zeros(D.shape), where=is_heard
        )
        return np.clip(shares, -1.0, 1.0)


def find_neighbours(subset: Subset, n_neighbours: int) -> tuple[IntArray, IntArray]:
    """Return the descriptions that vote on each description, its own included.

    Every row as near as the k-th nearest *other* row votes, so ties need no order.
    Rows of one description have the same neighbours, except themselves.

    The first array lists the voting descriptions of the first description, then of the
    second, and so on; the second, (n_descriptions,), says where each list begins.
    """
    cells, distances = subset.cells, subset.distances
    counts = np.bincount(cells)
    k = min(n_neighbours, cells.size - 1)
    radii = np.zeros(counts.size)
    # If each description has k other rows, the k-th nearest is at distance 0.
    if counts.min() <= k:
        between_rows = distances[np.ix_(cells, cells)]
        # Imported here, since importing it doubles the start time of every command.
        from sklearn.neighbors import NearestNeighbors

        nearest = NearestNeighbors(n_neighbors=k, metric="precomputed")
        # `kneighbors()` without an argument leaves out each row itself; [0] are the
        # distances, the last column that to the k-th.
        radii[cells] = nearest.fit(between_rows).kneighbors()[0][:, -1]
    is_near = distances <= radii[:, None] + TIE
    sizes = is_near.sum(axis=1)
    return np.nonzero(is_near)[1], np.cumsum(sizes) - sizes


def compute_empty_accuracy(table: SelectionTable) -> float:
    """Return the accuracy of no feature at all: the weight of the largest class."""
    return float(np.bincount(table.dataset.targets, table.weights).max())


def compute_neighbour_accuracy(subset: Subset, n_neighbours: int) -> float:
    """Return the leave-one-out accuracy of k nearest neighbours on a subset.

    It is the measure in Sebban and Nock's (1999) table 1. Neighbours vote with their
    weights in the dataset. Without a feature every row is predicted as the largest
    class.
    """
    return float(subset.table.weights @ compute_neighbour_credits(subset, n_neighbours))


def compute_neighbour_credits(subset: Subset, n_neighbours: int) -> FloatArray:
    """Return 1 where neighbours predict a row's class, 1/q if q tie, else 0."""
    table = subset.table
    n_classes = len(table.dataset.classes)
    own = (table.dataset.targets[:, None] == np.arange(n_classes)).astype(np.float64)
    own *= table.weights[:, None]
    if not subset.feature_idxs:
        return compute_row_credits(table, np.tile(own.sum(axis=0), (len(own), 1)))
    neighbours, starts = find_neighbours(subset, n_neighbours)
    by_cell = np.zeros((subset.distances.shape[0], n_classes))
    np.add.at(by_cell, subset.cells, own)
    votes = np.add.reduceat(by_cell[neighbours], starts, axis=0)
    return compute_row_credits(table, votes[subset.cells] - own)


def compute_row_credits(table: SelectionTable, scores: FloatArray) -> FloatArray:
    """Return 1 where a row's class has the highest score, 1/q if q tie, else 0."""
    tops = scores.max(axis=1, keepdims=True)
    is_top = scores >= tops - TIE * np.abs(tops)
    targets = table.dataset.targets
    is_right = is_top[np.arange(targets.size), targets]
    shares: FloatArray = is_right / is_top.sum(axis=1)
    return shares
