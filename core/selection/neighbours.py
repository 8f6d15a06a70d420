"""Nearest neighbours on a subset, and how they vote."""

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from core.arrays import FloatArray, IntArray
from core.selection.subset import Groups, Subset
from core.selection.tolerances import MIN_EDGE, TIE


@dataclass(frozen=True)
class Neighbours:
    """k nearest neighbours: each votes for its class with its weight D.

    Notes
    -----
    h(x_i) = sum_j D(j) y_j / sum_j D(j) over the neighbours j of i, i itself not
    among them; 0 where none has any weight. The share, not its sign: in a description
    in balance the sign of the others' votes is always against the row voted on.
    """

    groups: Groups
    signs: FloatArray
    neighbours: IntArray
    starts: IntArray

    def vote(self, D: FloatArray) -> FloatArray:
        """Vote on each group by its neighbours."""
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
    """Find the descriptions that vote on each description, its own among them.

    Every row as near as the k-th nearest *other* row votes, so ties need no order.
    Rows of one description have the same neighbours but for themselves.

    Returns
    -------
    neighbours : int64 array
        Descriptions, those of the first description first.
    starts : int64 array, shape (n_descriptions,)
        Where those of each description begin.
    """
    cells, distances = subset.cells, subset.distances
    counts = np.bincount(cells)
    k = min(n_neighbours, cells.size - 1)
    radii = np.zeros(counts.size)
    if counts.min() <= k:
        between_rows = distances[np.ix_(cells, cells)]
        nearest = NearestNeighbors(n_neighbors=k, metric="precomputed")
        # Without an argument no row is its own neighbour.
        radii[cells] = nearest.fit(between_rows).kneighbors()[0][:, -1]
    is_near = distances <= radii[:, None] + TIE
    sizes = is_near.sum(axis=1)
    return np.nonzero(is_near)[1], np.cumsum(sizes) - sizes
