"""Decide in which features missing cells are information, and fill all others.

Cells are filled only in training, and only for panels; answers are never filled.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.table.dataset import Dataset
from askless.core.table.silent import mask_of_silent

# Each overrepresented class needs a quarter of the least number of cases.
CLASS_PART = 4

# Sums of weights that differ by less, relatively, are equal but for rounding.
SLACK = 1e-9

# A note names at most so many features of each kind.
MAX_NAMED = 8


class Gap(NamedTuple):
    """The rows in which a feature is missing."""

    n_rows: int
    #: number of row groups; of rows where there are no row groups
    n_cases: int
    #: (n_classes,), number of cases of each class
    by_class: IntArray
    #: (n_classes,), number of cases of each class in the whole table
    of_class: IntArray
    #: (n_classes,), whether the class has a larger share of these rows than of all
    is_overrepresented: BoolArray

    def scarce_classes(self, least_missing: int) -> IntArray:
        """Return the overrepresented classes that have too few cases in the gap.

        A class of less than `least_missing` cases in all judges nothing: else a single
        row of a tiny class would do so for the whole table.
        """
        is_scarce = CLASS_PART * self.by_class < least_missing
        judges = self.of_class >= least_missing
        return np.flatnonzero(self.is_overrepresented & is_scarce & judges)

    def is_informative(self, least_missing: int) -> bool:
        """Return whether there are enough cases for the gap to count as information."""
        is_enough = self.n_cases >= least_missing
        return is_enough and not self.scarce_classes(least_missing).size


def measure_gaps(dataset: Dataset) -> Iterator[tuple[int, Gap]]:
    """Yield each feature that is missing in some row of positive weight, and its gap.

    Cells that are missing since nobody answered (`askless.core.table.silent`) are no
    gap.

    Parameters
    ----------
    dataset : Dataset
        Has one class per row.
    """
    n_classes, weights = len(dataset.classes), dataset.weights
    priors = dataset.priors / weights.sum()
    row_groups = dataset.row_group_idxs
    cases = np.unique((row_groups * n_classes + dataset.targets)[weights > 0])
    of_class = np.bincount(cases % n_classes, minlength=n_classes)
    for idx, column in enumerate(dataset.values.T):
        is_gone = np.isnan(column) & ~mask_of_silent(column)
        rows = np.flatnonzero(is_gone & (weights > 0))
        if not rows.size:
            continue
        targets, groups = dataset.targets[rows], row_groups[rows]
        shares = np.bincount(targets, weights[rows], n_classes)
        cases = np.unique(groups * n_classes + targets)
        yield (
            idx,
            Gap(
                n_rows=rows.size,
                n_cases=np.unique(groups).size,
                by_class=np.bincount(cases % n_classes, minlength=n_classes),
                of_class=of_class,
                is_overrepresented=shares > shares.sum() * priors * (1.0 + SLACK),
            ),
        )


def list_informative_features(dataset: Dataset, least_missing: int) -> BoolArray:
    """Return the features whose missing cells count as information.

    Such a feature is missing in at least `least_missing` cases, and in a quarter as
    many of each class that is overrepresented there: whose share of these rows, by
    weight, exceeds its share of all rows, and that has `least_missing` cases in all.
    Rows of weight 0 are not counted, and the rows of one row group are one case.

    Parameters
    ----------
    dataset : Dataset
        Has one class per row.
    least_missing : int
        1 or more.

    Returns
    -------
    bool array, shape (n_features,)
        False where no cell is missing.
    """
    is_informative = np.zeros(len(dataset.catalogue.features), np.bool_)
    for idx, gap in measure_gaps(dataset):
        is_informative[idx] = gap.is_informative(least_missing)
    return is_informative


def fill_gaps(dataset: Dataset, is_informative: BoolArray) -> Dataset:
    """Return the dataset with those missing cells filled that are not information.

    These are all of other features, and everywhere those marked as saying nothing
    (`table.silent`). Numbers are filled with the weighted lower median of the
    present values, booleans and categories with the value of most weight, the lowest
    of equals; but marked cells each with a value drawn by weight from the present ones.
    There may be many of these, and as many equal values would be a sign of their own.

    Parameters
    ----------
    dataset : Dataset
    is_informative : bool array, shape (n_features,)
        The features of which only marked cells are filled.

    Returns
    -------
    Dataset
        The same object where nothing is to be filled. A feature without any value is
        not filled.
    """
    is_missing, is_silent = np.isnan(dataset.values), mask_of_silent(dataset.values)
    is_filled = np.where(is_informative, is_silent, is_missing)
    idxs = np.flatnonzero(is_filled.any(axis=0)).tolist()
    if not idxs:
        return dataset
    values = dataset.values.copy()
    for idx in idxs:
        is_present, is_drawn = ~is_missing[:, idx], is_silent[:, idx]
        known = values[is_present, idx], dataset.weights[is_present]
        is_number = dataset.catalogue.features[idx].type == "number"
        values[is_filled[:, idx], idx] = compute_filling_value(
            *known, is_number=is_number
        )
        values[is_drawn, idx] = draw_values(*known, int(is_drawn.sum()), idx)
    return replace(dataset, values=values)


def restore_silent_cells(filled: Dataset, dataset: Dataset) -> Dataset:
    """Return filled rows with those cells missing again that nobody answered.

    `dataset` is what was filled. The same object as `filled` where there are none.
    """
    is_silent = mask_of_silent(dataset.values)
    if not is_silent.any():
        return filled
    values = np.where(is_silent, dataset.values, filled.values)
    return replace(filled, values=values)


def draw_values(
    present: FloatArray, weights: FloatArray, n_drawn: int, seed: int
) -> FloatArray:
    """Draw from values by their weights, with replacement; NaN if there are none.

    present, weights : float64 arrays, shape (n_present,)

    This is the hot deck of survey statistics: draws have the distribution of the known
    values, and depend neither on the row's class nor on its other cells.
    """
    if not present.size:
        return np.full(n_drawn, np.nan)
    sums = np.cumsum(weights)
    draws = np.random.default_rng(seed).random(n_drawn) * sums[-1]
    places = np.minimum(np.searchsorted(sums, draws, "right"), present.size - 1)
    drawn: FloatArray = present[places]
    return drawn


def fill_silent_cells(dataset: Dataset) -> Dataset:
    """Return the dataset with those cells filled that nobody answered.

    For what takes every missing cell for information. The same object where there are
    none.
    """
    return fill_gaps(dataset, np.ones(len(dataset.catalogue.features), np.bool_))


def compute_filling_value(
    present: FloatArray, weights: FloatArray, *, is_number: bool
) -> float:
    """Return the weighted lower median or the mode of values; NaN if there are none.

    present, weights : float64 arrays, shape (n_present,)
    """
    known, places = np.unique(present, return_inverse=True)
    if not known.size:
        return np.nan
    sums = np.bincount(places, weights, known.size)
    if is_number:
        sums = np.cumsum(sums)
    enough = sums[-1] / 2 if is_number else sums.max()
    return float(known[np.argmax(sums >= enough * (1.0 - SLACK))])


def note_gaps(dataset: Dataset, least_missing: int) -> str:
    """Return a sentence on which features' missing cells count as information.

    "" where none is missing. A feature without any value is not named.
    """
    informative, uninformative = [], []
    for idx, gap in measure_gaps(dataset):
        name = dataset.catalogue.features[idx].name
        if gap.n_rows == dataset.n_samples:
            continue
        if gap.is_informative(least_missing):
            informative.append(name)
        else:
            shown = describe_gap(gap, dataset, least_missing)
            uninformative.append(f"{name} ({shown})")
    without = name_first(uninformative)
    if not informative:
        return f"Missing values say nothing in {without}." if without else ""
    note = f"Missing values count as information in {name_first(informative)}"
    return f"{note}; in {without} they say nothing." if without else f"{note}."


def describe_gap(gap: Gap, dataset: Dataset, least_missing: int) -> str:
    """Return how often a feature is missing, and what there are too few of."""
    text = f"{gap.n_rows:,} of {dataset.n_samples:,} rows"
    if gap.n_rows < least_missing:
        return text
    if gap.n_cases < least_missing:
        return f"{text}, of {gap.n_cases:,} groups"
    scarce = int(gap.scarce_classes(least_missing)[0])
    n_scarce, shown = gap.by_class[scarce], dataset.classes[scarce].display
    return f"{text}, {n_scarce:,} of class {shown}"


def name_first(names: Sequence[str]) -> str:
    """Return the first names and how many more there are."""
    n_more = len(names) - MAX_NAMED
    more = f" and {n_more:,} more" if n_more > 0 else ""
    return ", ".join(names[:MAX_NAMED]) + more
