"""Fit class-conditional tables: interpolated between simple ones, without held rows.

The weights of the mixture are fitted by leave-one-out likelihood, which counts alone
give: deleted interpolation (Jelinek and Mercer 1980). No row is kept and no fold made.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, Derived, FloatArray, IntArray
from askless.core.codes.cuts import compute_thresholds
from askless.core.kernels import SHARE_ROWS
from askless.core.model.ladder.tables import (
    PartTable,
    PartTables,
    make_cells,
    to_odds,
)
from askless.core.panels.rows import rank_categories
from askless.core.table.dataset import Dataset
from askless.core.table.silent import mask_of_silent

# Most bins of a number, and most codes of a category with a cell each.
MOST_BINS, MOST_CODES = 16, 60

# Steps of EM: of tables that are kept, and of those that judge a gate.
MANY_STEPS, FEW_STEPS = 25, 4

# Decimals of log chances in a model.
DECIMALS = 4

# The shares of classes of the whole count each class as one more row.
ROOT_ROWS = 1.0

# The parent of the root's tables: no cells.
NO_PARENT = np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class CountedRows(Derived):
    """Rows that tables are fitted to; cells that nobody answered say nothing."""

    dataset: Dataset
    #: (n_features,), of which missing values are information
    has_missing: BoolArray

    @property
    def targets(self) -> IntArray:
        """Class positions; (n_rows,)."""
        return self.dataset.targets

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.dataset.classes)

    @cached_property
    def is_category(self) -> BoolArray:
        """Which features are categories; (n_features,)."""
        features = self.dataset.catalogue.features
        return np.array([feature.type == "category" for feature in features], np.bool_)

    @cached_property
    def cuts(self) -> tuple[FloatArray, ...]:
        """Cuts of each number at quantiles, or the frequent codes of a category."""
        columns = zip(self.dataset.values.T, self.is_category, strict=True)
        return tuple(choose_cuts(column, is_code) for column, is_code in columns)

    @cached_property
    def cells(self) -> kernels.CellLayout:
        """How values become cells."""
        return make_cells(self.cuts, self.is_category, self.has_missing)

    @cached_property
    def n_cells(self) -> int:
        """Number of cells of all features."""
        return int(self.cells.starts[-1])

    @cached_property
    def coded(self) -> IntArray:
        """The cell of each value, -1 where it says nothing; (n_rows, n_features)."""
        values = np.ascontiguousarray(self.dataset.values)
        coded = np.empty(values.shape, np.int64)
        everything = np.ones(values.shape[1], np.bool_)
        kernels.code_cells(values, everything, self.cells, coded)
        coded[mask_of_silent(values)] = -1
        return coded

    @cached_property
    def weights(self) -> FloatArray:
        """Weights of rows; their sum is the effective number of independent rows.

        Leaving one row out takes one from a count. Rows of one group are one case.
        """
        sums = np.bincount(self.dataset.row_group_idxs, self.dataset.weights)
        n_effective = sums.sum() ** 2 / (sums**2).sum()
        weights: FloatArray = self.dataset.weights * n_effective
        return weights

    def count(self, row_idxs: IntArray) -> FloatArray:
        """Return the weight of some rows in each cell, (n_cells, n_classes)."""
        counts = np.zeros((self.n_cells, self.n_classes))
        kernels.count_cells(self.coded, self.targets, self.weights, row_idxs, counts)
        return counts

    def count_classes(self, row_idxs: IntArray) -> FloatArray:
        """Return the weight of some rows in each class, (n_classes,)."""
        targets, weights = self.targets[row_idxs], self.weights[row_idxs]
        return np.bincount(targets, weights, self.n_classes).astype(np.float64)

    def score_bins(self, counts: FloatArray) -> FloatArray:
        """Return the normal score of each cell among the bins of its feature.

        Shapes (n_cells, n_classes) -> (n_cells,). Missing cells have no say.
        """
        # Loaded where it is needed: most commands fit nothing.
        from scipy.special import ndtri

        starts = self.cells.starts
        owners = np.repeat(np.arange(starts.size - 1), np.diff(starts))
        totals: FloatArray = counts.sum(axis=1)
        totals[starts[1:][self.has_missing] - 1] = 0.0
        # A feature without any rows has equal bins.
        totals += 1e-9
        ends = np.cumsum(totals)
        before = (ends - totals)[starts[:-1]]
        sums = np.bincount(owners, totals)
        middles = (ends - totals / 2.0 - before[owners]) / sums[owners]
        scores: FloatArray = ndtri(np.clip(middles, 1e-3, 1.0 - 1e-3))
        return scores

    def mix(
        self, counts: FloatArray, parent: FloatArray = NO_PARENT, n_steps: int = 25
    ) -> FloatArray:
        """Return interpolated tables of counts; (n_cells, n_classes)."""
        chances = np.empty_like(counts)
        scores = self.score_bins(counts)
        kernels.mix_tables(counts, self.cells, scores, parent, n_steps, chances)
        return chances

    def shrink(self, counts: FloatArray, parent: FloatArray) -> FloatArray:
        """Return quick tables of counts; (n_cells, n_classes)."""
        chances = np.empty_like(counts)
        kernels.shrink_tables(counts, self.cells, parent, chances)
        return chances


def choose_cuts(column: FloatArray, is_category: bool) -> FloatArray:
    """Return cuts of a number at quantiles, or the most frequent codes, ascending."""
    present = np.sort(column[~np.isnan(column)])
    if not is_category:
        return compute_thresholds(present, None, MOST_BINS)
    return np.sort(rank_categories(present)[:MOST_CODES]).astype(np.float64)


def compute_class_shares(
    sums: FloatArray, parent: FloatArray | None = None
) -> FloatArray:
    """Return the shares of classes by the weight of their rows; (n_classes,).

    They are drawn to the parent's, at the root to equal ones.
    """
    drawn = ROOT_ROWS if parent is None else SHARE_ROWS * parent
    shares: FloatArray = (sums + drawn) / (sums + drawn).sum()
    return shares


def make_part(
    n_rows: float, shares: FloatArray, chances: FloatArray, used: BoolArray
) -> PartTable:
    """Return a part as a model keeps it; `used` marks cells that say nothing there."""
    logs = np.where(used[:, None], 0.0, np.log(np.minimum(chances, 1.0)))
    # Without -0.0: a file would lose the sign.
    return PartTable(
        round(n_rows, 2),
        np.log(shares).round(DECIMALS) + 0.0,
        logs.round(DECIMALS) + 0.0,
    )


@dataclass(frozen=True, eq=False)
class HeldOutTables:
    """The tables of the whole, and those without each fold, which judge its rows."""

    rows: CountedRows
    whole: PartTables
    by_fold: list[PartTables]
    #: the rows of each fold
    folds: Sequence[IntArray]

    def without(self, left_out: int | None) -> PartTables:
        """Return the tables without a fold; None: of all rows."""
        return self.whole if left_out is None else self.by_fold[left_out]

    def score(
        self, feature_idxs: Sequence[int], fold: int, row_idxs: IntArray
    ) -> FloatArray:
        """Return log odds, (n_rows, n_outputs), of a fold by some features."""
        is_used = np.zeros(self.rows.coded.shape[1], np.bool_)
        is_used[list(feature_idxs)] = True
        values, coded = self.rows.dataset.values[row_idxs], self.rows.coded[row_idxs]
        return to_odds(self.by_fold[fold].score(values, is_used, coded))

    def predict(self, feature_idxs: Sequence[int]) -> FloatArray:
        """Return the log odds of the rows of all folds, ascending by row."""
        scores = [self.score(feature_idxs, *pair) for pair in enumerate(self.folds)]
        order = np.argsort(np.concatenate(self.folds), kind="stable")
        joined: FloatArray = np.concatenate(scores)[order]
        return joined
