"""Group rows by their values in a subset of features, and measure distances."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.selection.table import SelectionTable


@dataclass(frozen=True)
class Subset:
    """Some features, and the descriptions they give to the rows.

    `cells` (n_samples,) numbers the rows' descriptions; rows of one description
    agree in every feature. `rows` (n_descriptions,) is a row of each. `parent` lacks
    the last feature; the empty subset has none.
    """

    table: SelectionTable
    feature_idxs: tuple[int, ...]
    cells: IntArray
    rows: IntArray
    parent: "Subset | None" = None

    @cached_property
    def distances(self) -> FloatArray:
        """Squared distances between descriptions.

        Notes
        -----
        Sum over features of (a - b)^2 for numbers scaled to [0, 1], and of a != b for
        booleans and categories. A missing cell is a value of its own: 0 from another
        missing one, 1 from any other. So the distance is 0 exactly where descriptions
        are the same.
        """
        if self.parent is None:
            return np.zeros((1, 1))
        feature_idx = self.feature_idxs[-1]
        values = self.table.scaled[self.rows, feature_idx]
        if self.table.is_number[feature_idx]:
            added = np.square(values[:, None] - values)
            is_missing = np.isnan(values)
            added = np.where(np.isnan(added), is_missing[:, None] != is_missing, added)
        else:
            added = (values[:, None] != values).astype(np.float64)
        parents = self.parent.cells[self.rows]
        distances: FloatArray = self.parent.distances[np.ix_(parents, parents)] + added
        return distances

    def settle(self) -> None:
        """Cache the distances and free those of all parents, n_descriptions^2 each."""
        assert self.distances is not None, "cached from now on"
        ancestor = self.parent
        while ancestor is not None:
            vars(ancestor).pop("distances", None)
            ancestor = ancestor.parent


@dataclass(frozen=True)
class Groups:
    """Groups of rows with the same description, class and weight.

    Boosting gives the rows of a group the same weight in every round, so it computes
    once per group. Groups are sorted by description; `starts` says where each begins.
    """

    of_row: IntArray
    rows: IntArray
    counts: FloatArray
    cells: IntArray
    starts: IntArray


def make_subset(table: SelectionTable, feature_idxs: Iterable[int] = ()) -> Subset:
    """Return the subset of some features; without any all rows have one description."""
    cells = np.zeros(table.dataset.n_samples, np.int64)
    subset = Subset(table, (), cells, np.zeros(1, np.int64))
    for feature_idx in feature_idxs:
        subset = extend_subset(subset, feature_idx)
    return subset


def extend_subset(subset: Subset, feature_idx: int) -> Subset:
    """Return a subset with one feature more."""
    codes = subset.table.codes[:, feature_idx]
    # One number for each pair of description and code.
    joint = subset.cells * (int(codes.max()) + 1) + codes
    _, rows, cells = np.unique(joint, return_index=True, return_inverse=True)
    return Subset(
        subset.table, (*subset.feature_idxs, feature_idx), cells, rows, subset
    )


def make_groups(subset: Subset) -> Groups:
    """Return the groups of rows with the same description, class and weight."""
    kinds = subset.table.kinds
    joint = subset.cells * (int(kinds.max()) + 1) + kinds
    _, rows, of_row, counts = np.unique(
        joint, return_index=True, return_inverse=True, return_counts=True
    )
    cells = subset.cells[rows]
    return Groups(
        of_row=of_row,
        rows=rows,
        counts=counts.astype(np.float64),
        cells=cells,
        starts=np.flatnonzero(np.diff(cells, prepend=-1)),
    )
