"""The rows that panels are fitted to: codes for trees, columns for the rest."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from askless.core import kernels
from askless.core.arrays import (
    BoolArray,
    Derived,
    FloatArray,
    IntArray,
    evenly_spaced,
)
from askless.core.codes.cuts import compute_midpoints
from askless.core.codes.folds import deal_strata
from askless.core.kernels import MISSING_CODE, NUMBER_CODE, CoarseTable
from askless.core.model.ladder.columns import ALONE, Columns
from askless.core.table.dataset import Dataset, count_outputs

# So many values of a category have a column each, the most frequent ones; more where
# all features together have no more than `MAX_COVARIED` columns.
LEAST_CATEGORIES = 12

# Code shared by the categories that are too rare for a code of their own. No node
# splits at it, so they always go above, as do categories that training did not see.
OTHERS = kernels.LOST - 1

# Significant digits of the numbers that panels predict by; files have no more.
DIGITS = 6

# A class of a smaller share is rare.
RARE = 0.1

# Most columns with a covariance, since a larger matrix would fill a file; and how far
# the covariance is shrunk to no correlation.
MAX_COVARIED, SHRINKAGE = 256, 0.05

# Rows that a class without any counts for, so that no log odds are infinite.
LEAST_ROWS = 1e-3

# Numbers are clipped at this quantile from either end, against outliers.
CLIP = 0.005


class LeafLimits(NamedTuple):
    """Limits of a leaf of a tree."""

    #: least number of rows; fewer in a small table
    least_rows: int
    #: added to the sum of its rows' second derivatives
    l2: float


# Every table uses one of these. In a fine leaf a few rows that are predicted with near
# certainty still count, although their slopes are small.
PLAIN, FINE = LeafLimits(20, 1.0), LeafLimits(5, 0.1)


class HeldOut(NamedTuple):
    """Rows that judge what was fitted without their fold."""

    folds: list[IntArray]
    #: rows of all folds, ascending; (n_judges,)
    row_idxs: IntArray
    #: class positions and weights of these; (n_judges,)
    targets: IntArray
    weights: FloatArray

    def mark_others(self, left_out: int | None) -> BoolArray:
        """Return which rows are of other folds than one; (n_judges,). None: all are."""
        if left_out is None:
            return np.ones(self.row_idxs.size, np.bool_)
        return np.isin(self.row_idxs, self.folds[left_out], invert=True)


class DealtFolds(NamedTuple):
    """Folds of rows; the first of them get a ladder that never saw their classes."""

    #: (n_rows,)
    fold_of: npt.NDArray[np.int8]
    n_folds: int
    #: so many of the folds get a ladder
    n_ladders: int

    def take(self, row_idxs: IntArray) -> "DealtFolds":
        """Return the folds of some rows."""
        return self._replace(fold_of=self.fold_of[row_idxs])


@dataclass(frozen=True, eq=False)
class PanelRows(Derived):
    """Rows to fit to, with cached arrays computed from them."""

    dataset: Dataset
    seed: int
    #: for trees that are grown on them
    limits: LeafLimits = PLAIN
    #: None: folds are dealt as they are needed
    dealt: DealtFolds | None = None

    def thin(self, most: int) -> "PanelRows":
        """Return at most `most` of the rows, evenly spaced."""
        few = evenly_spaced(self.n_rows, most)
        if few.size == self.n_rows:
            return self
        dealt = None if self.dealt is None else self.dealt.take(few)
        return replace(self, dataset=self.dataset.take(few), dealt=dealt)

    @property
    def ladders(self) -> tuple[int | None, ...]:
        """The ladders to fit: that of all rows, None, and those without a fold."""
        n_ladders = 0 if self.dealt is None else self.dealt.n_ladders
        return (None, *range(n_ladders))

    @property
    def targets(self) -> IntArray:
        """Class positions; (n_rows,)."""
        return self.dataset.targets

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.dataset.n_samples

    @property
    def n_outputs(self) -> int:
        """Number of logits per row: 1 for two classes, else one per class."""
        return count_outputs(len(self.dataset.classes), is_multilabel=False)

    @cached_property
    def weights(self) -> FloatArray:
        """Weights of rows, of mean 1; (n_rows,)."""
        return self.dataset.weights * self.n_rows

    @cached_property
    def priors(self) -> FloatArray:
        """Class shares, none quite 0 or 1; (n_classes,)."""
        n_classes = len(self.dataset.classes)
        sums = np.bincount(self.targets, self.weights, n_classes)
        sums = np.maximum(sums, LEAST_ROWS)
        shares: FloatArray = sums / sums.sum()
        return shares

    @property
    def has_rare(self) -> bool:
        """Whether some class has a share below `RARE`.

        Then no kernels are fitted: they look too good on held-out rows.
        """
        return float(self.priors.min()) < RARE

    @cached_property
    def starts(self) -> FloatArray:
        """Log odds of the class shares; (n_outputs,)."""
        logs = np.log(self.priors)
        return logs if self.n_outputs > 1 else logs[1:] - logs[:1]

    @cached_property
    def cuts(self) -> list[FloatArray]:
        """Per feature, cuts between codes k and k + 1, or the category of each code."""
        is_rare = (self.priors < RARE)[self.targets]
        return [
            choose_coarse_cuts(column, feature.type == "category", is_rare)
            for feature, column in zip(
                self.dataset.catalogue.features, self.dataset.values.T, strict=True
            )
        ]

    @cached_property
    def coarse(self) -> CoarseTable:
        """Codes of every feature, as the kernels that grow trees read them."""
        values, features = self.dataset.values, self.dataset.catalogue.features
        is_category = np.array(
            [feature.type == "category" for feature in features], np.bool_
        )
        codes = np.empty(values.T.shape, np.uint8)
        for column, cuts, out_codes in zip(values.T, self.cuts, codes, strict=True):
            out_codes[:] = np.searchsorted(cuts, column, "left")
        for idx in np.flatnonzero(is_category):
            # The last code is past the end of the cuts; NaN equals no value there.
            known = np.append(self.cuts[idx], np.nan)
            codes[idx, known[codes[idx]] != values[:, idx]] = OTHERS
        is_missing = np.isnan(values.T)
        codes[is_missing] = kernels.LOST
        # n cuts make n + 1 codes of a number; of a category they are its n codes.
        sizes = np.array([cuts.size for cuts in self.cuts], np.int64) + ~is_category
        has_missing = np.asarray(is_missing.any(axis=1), np.bool_)
        return CoarseTable(codes, sizes, is_category, has_missing)

    @cached_property
    def is_useful(self) -> BoolArray:
        """Which features have two values or more; (n_features,)."""
        # A number needs one cut, a category two codes: False is 0, True is 1.
        return np.array([cuts.size for cuts in self.cuts]) > self.coarse.is_category

    def folds(self, n_folds: int) -> list[IntArray]:
        """Return the rows of each fold, or the even and odd rows without folds.

        Where folds are dealt already, these are returned.
        """
        if self.dealt is not None:
            numbers = range(self.dealt.n_folds)
            return [np.flatnonzero(self.dealt.fold_of == fold) for fold in numbers]
        folds = deal_strata(self.dataset, n_folds, self.seed)
        everything = np.arange(self.n_rows)
        return folds or [everything[::2], everything[1::2]]

    def hold_out(self, n_folds: int, n_judges: int) -> HeldOut:
        """Deal rows to `n_folds` folds, and hold out the first ones.

        There are as many as hold `n_judges` rows together, or all; and one more than
        have a ladder without them.
        """
        folds = self.folds(n_folds)
        places = np.cumsum([fold.size for fold in folds])
        n_enough = 1 + int(np.searchsorted(places, n_judges))
        folds = folds[: max(n_enough, len(self.ladders))]
        row_idxs = np.sort(np.concatenate(folds))
        return HeldOut(folds, row_idxs, self.targets[row_idxs], self.weights[row_idxs])

    def select_with_covariance(self, feature_idxs: Sequence[int]) -> Columns:
        """Return the columns of some features with their covariance.

        The first `MAX_COVARIED` columns have one, shrunk to no correlation by
        `SHRINKAGE`.
        """
        columns = self.columns.take(feature_idxs)
        places = np.arange(columns.codes.size)
        places[MAX_COVARIED:] = ALONE
        inputs = columns.standardise(self.dataset.values)[:, :MAX_COVARIED]
        products = (inputs * self.weights[:, None]).T @ inputs / self.weights.sum()
        shrunk = (1.0 - SHRINKAGE) * products + SHRINKAGE * np.eye(len(products))
        # Columns without spread are 0 everywhere.
        np.fill_diagonal(shrunk, np.maximum(shrunk.diagonal(), SHRINKAGE))
        # Without -0.0: a file has one half of the matrix, and would lose the sign.
        return replace(columns, places=places, covariance=shrunk.round(4) + 0.0)

    @cached_property
    def columns(self) -> Columns:
        """The columns that all features become."""
        frequent = [
            rank_categories(column) if feature.type == "category" else None
            for feature, column in zip(
                self.dataset.catalogue.features, self.dataset.values.T, strict=True
            )
        ]
        sizes = np.array([1 if known is None else known.size for known in frequent])
        most = LEAST_CATEGORIES
        while most < sizes.max() and np.minimum(sizes, most + 1).sum() <= MAX_COVARIED:
            most += 1
        read, codes = [], []
        for idx, known in enumerate(frequent):
            column_codes = [NUMBER_CODE]
            if known is not None:
                # The column of one of two categories tells the other as well.
                column_codes = known[: 1 if known.size == 2 else most].tolist()
            if np.isnan(self.dataset.values[:, idx]).any():
                column_codes.append(MISSING_CODE)
            read += [idx] * len(column_codes)
            codes += column_codes
        return self.scale_columns(np.array(read, np.int64), np.array(codes, np.int64))

    def scale_columns(self, read: IntArray, codes: IntArray) -> Columns:
        """Return columns with their clips, means and scales.

        `read` is the feature of each column, `codes` are as in `Columns`.
        """
        values = self.dataset.values[:, read]
        lows, highs = np.full((2, read.size), np.nan)
        for place, (column, code) in enumerate(zip(values.T, codes, strict=True)):
            present = column[~np.isnan(column)]
            if code == NUMBER_CODE and present.size:
                lows[place], highs[place] = np.quantile(present, (CLIP, 1.0 - CLIP))
        zeros, ones = np.zeros(read.size), np.ones(read.size)
        lows, highs = np.nan_to_num(lows), np.nan_to_num(highs)
        # With means of 0 and scales of 1 `standardise` only clips.
        unscaled = Columns(read, codes, lows, highs, zeros, ones)
        clipped = unscaled.standardise(self.dataset.values)
        is_there = ~np.isnan(values) | (codes == MISSING_CODE)
        shares = np.where(is_there, self.weights[:, None], 0.0)
        totals = np.maximum(shares.sum(axis=0), 1e-12)
        means = (shares * clipped).sum(axis=0) / totals
        spreads = np.sqrt((shares * (clipped - means) ** 2).sum(axis=0) / totals)
        scales = np.where(spreads > 1e-12, spreads, 1.0)
        return Columns(read, codes, lows, highs, means, scales)


def rank_categories(column: FloatArray) -> IntArray:
    """Return the codes of a category, the most frequent first.

    Those that training did not see are below 0 and left out.
    """
    known, counts = np.unique(column[column >= 0], return_counts=True)
    return known[np.argsort(-counts, kind="stable")].astype(np.int64)


def choose_coarse_cuts(
    column: FloatArray, is_category: bool, is_rare: BoolArray
) -> FloatArray:
    """Return cuts of a number at quantiles, or the most frequent categories, ascending.

    `is_rare` (n_rows,) marks rows of rare classes. Up to half of the cuts are where the
    share of such rows changes from a value to the next: the best cut of a node is at
    such a boundary (Fayyad and Irani 1993), and quantiles miss those of a rare class.
    """
    is_there = ~np.isnan(column)
    present = column[is_there]
    known, value_idxs, counts = np.unique(
        present, return_inverse=True, return_counts=True
    )
    if is_category:
        return np.sort(rank_categories(present)[:OTHERS]).astype(np.float64)
    places = np.arange(max(known.size - 1, 0))
    if known.size > kernels.LOST:
        n_rare = np.bincount(value_idxs, is_rare[is_there])
        boundaries = np.flatnonzero(np.diff(n_rare / counts))
        boundaries = boundaries[evenly_spaced(boundaries.size, kernels.LOST // 2)]
        # Else a value of most rows would take most cuts, and the others share few.
        is_most, few = counts > present.size / 2, present.size // kernels.LOST
        capped = np.repeat(known, np.where(is_most, few, counts))
        # So many cuts make one code more.
        n_quantiles = kernels.LOST - 1 - boundaries.size
        shares = np.linspace(0.0, 1.0, n_quantiles + 2)[1:-1]
        lower = np.quantile(capped, shares, method="lower")
        # A cut lies above its value, so the greatest value can't have one.
        below = np.minimum(np.searchsorted(known, lower), known.size - 2)
        places = np.union1d(below, boundaries)
    return compute_midpoints(known[places], known[places + 1])
