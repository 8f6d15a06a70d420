"""Missing cells: where they are information about a case, and what fills the others.

Only training fills cells, and only for panels; what reads answers is elsewhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from core.arrays import BoolArray, FloatArray, IntArray
from core.table.dataset import Dataset

# Each class that missing cells speak for has such a part of the least cases.
CLASS_PART = 4

# Sums of weights are rounded: those that differ by less are equal.
SLACK = 1e-9

# Features that a note names of each kind.
MAX_NAMED = 8


class Gap(NamedTuple):
    """The rows in which a feature is missing."""

    n_rows: int
    #: row groups, each of which counts as one; rows where there are none
    n_cases: int
    #: (n_classes,), the cases of each class
    by_class: IntArray
    #: (n_classes,), whether the class has a larger share of these rows than of all
    is_spoken_for: BoolArray

    def find_scarce(self, least_missing: int) -> IntArray:
        """Return the classes that the gap speaks for with too few cases."""
        is_scarce = CLASS_PART * self.by_class < least_missing
        return np.flatnonzero(self.is_spoken_for & is_scarce)

    def is_informative(self, least_missing: int) -> bool:
        """Whether so many cases are missing that this counts as information."""
        is_enough = self.n_cases >= least_missing
        return is_enough and not self.find_scarce(least_missing).size


def measure_gaps(dataset: Dataset) -> Iterator[tuple[int, Gap]]:
    """Yield each feature that is missing in some row of positive weight, and its gap.

    Parameters
    ----------
    dataset : Dataset
        Of one class per row.
    """
    n_classes, weights = len(dataset.classes), dataset.weights
    priors = dataset.priors / weights.sum()
    row_groups = dataset.row_group_idxs
    for idx, column in enumerate(dataset.values.T):
        rows = np.flatnonzero(np.isnan(column) & (weights > 0))
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
                is_spoken_for=shares > shares.sum() * priors * (1.0 + SLACK),
            ),
        )


def find_informative(dataset: Dataset, least_missing: int) -> BoolArray:
    """Return the features whose missing cells count as information.

    A feature is missing in at least `least_missing` cases, and of each class that
    this speaks for (its share of these rows is larger than its share of all, by
    weight) there are a quarter as many. Rows of weight 0 are no cases, and rows of one
    row group are one.

    Parameters
    ----------
    dataset : Dataset
        Of one class per row.
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
    """Fill the missing cells that are no information; the dataset stays as it is.

    Numbers are filled with the weighted lower median of the values that are present,
    which is one of them; booleans and categories with the value of most weight, the
    lowest of equals.

    Parameters
    ----------
    dataset : Dataset
    is_informative : bool array, shape (n_features,)
        The features that are left alone.

    Returns
    -------
    Dataset
        The same one where nothing is to be filled. A feature without any value stays
        without.
    """
    has_gaps = np.array([np.isnan(one).any() for one in dataset.values.T], np.bool_)
    idxs = np.flatnonzero(has_gaps & ~is_informative).tolist()
    if not idxs:
        return dataset
    values = dataset.values.copy()
    for idx in idxs:
        is_missing = np.isnan(values[:, idx])
        values[is_missing, idx] = find_filler(
            values[~is_missing, idx],
            dataset.weights[~is_missing],
            is_number=dataset.catalogue.features[idx].type == "number",
        )
    return replace(dataset, values=values)


def find_filler(present: FloatArray, weights: FloatArray, *, is_number: bool) -> float:
    """Return the lower median of values or the most frequent one; NaN of none.

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
    """Say in which features missing cells count as information, and in which not.

    Returns "" where none is missing. A feature without any value is not named.
    """
    telling, silent = [], []
    for idx, gap in measure_gaps(dataset):
        name = dataset.catalogue.features[idx].name
        if gap.n_rows == dataset.n_samples:
            continue
        if gap.is_informative(least_missing):
            telling.append(name)
        else:
            silent.append(f"{name} ({describe_gap(gap, dataset, least_missing)})")
    if not telling:
        return f"Missing values say nothing in {name_first(silent)}." if silent else ""
    note = f"Missing values count as information in {name_first(telling)}"
    return (
        f"{note}; in {name_first(silent)} they say nothing." if silent else f"{note}."
    )


def describe_gap(gap: Gap, dataset: Dataset, least_missing: int) -> str:
    """Say how often a feature is missing, and what there are too few of."""
    text = f"{gap.n_rows:,} of {dataset.n_samples:,} rows"
    if gap.n_rows < least_missing:
        return text
    if gap.n_cases < least_missing:
        return f"{text}, of {gap.n_cases:,} groups"
    scarce = int(gap.find_scarce(least_missing)[0])
    n_scarce, shown = gap.by_class[scarce], dataset.classes[scarce].display
    return f"{text}, {n_scarce:,} of class {shown}"


def name_first(names: Sequence[str]) -> str:
    """Return the first few names."""
    n_more = len(names) - MAX_NAMED
    more = f" and {n_more:,} more" if n_more > 0 else ""
    return ", ".join(names[:MAX_NAMED]) + more
