"""Values to uint8 codes: one code per present value, or per quantile of many."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core import kernels
from core.types import BoolArray, CodeArray, Dataset, FloatArray, IntArray

MAX_CODES = 254
N_JOINT = 256
SORT_BLOCK = 8


@dataclass(frozen=True)
class Packing:
    """Columns of codes, each of one feature or of several with few codes.

    A column joins the features `members[starts[c]]` to `members[starts[c + 1]]`. The
    first columns are `codes`, (n_packed, n_samples), the digits of each code being its
    features' codes, the lowest first; each of the others is one feature as it is.
    """

    codes: CodeArray
    members: IntArray
    starts: IntArray

    @cached_property
    def column_of(self) -> IntArray:
        """Column of each feature; (n_features,)."""
        columns = np.empty(self.members.size, dtype=np.int64)
        columns[self.members] = np.repeat(
            np.arange(self.starts.size - 1), np.diff(self.starts)
        )
        return columns


@dataclass(frozen=True)
class Binned:
    """The rows of a dataset as codes.

    `codes` is (n_features, n_samples). Every code below `n_codes[f]` occurs in
    feature f. `cuts[f]` gives, for a number or boolean, the threshold between code
    k and k + 1; for a category, the value of code k. `packing` holds the codes of
    features with few of them once more, several in a byte.
    """

    codes: CodeArray
    n_codes: IntArray
    is_category: BoolArray
    has_missing: BoolArray
    cuts: tuple[FloatArray, ...]
    packing: Packing


def bin_values(dataset: Dataset) -> Binned:
    """Code every feature of a dataset.

    Numbers and booleans with at most 254 distinct values keep them all, one code
    each; others are cut at weighted quantiles. Categories keep theirs. A constant
    feature has one code and an empty one none: no stump can be made of either.

    Parameters
    ----------
    dataset : Dataset

    Returns
    -------
    Binned
    """
    n_features = len(dataset.catalogue.features)
    n_codes = np.zeros(n_features, dtype=np.int64)
    has_missing = np.zeros(n_features, dtype=np.bool_)
    is_category = np.array(
        [feature.type == "category" for feature in dataset.catalogue.features],
        dtype=np.bool_,
    )
    is_weighted = bool(np.ptp(dataset.weights) > 0)
    all_cuts = []
    buffer = np.empty((min(SORT_BLOCK, n_features), dataset.n_samples))
    for start in range(0, n_features, SORT_BLOCK):
        # Neighbours share a line of the cache; sorting puts missing values last.
        columns = dataset.values[:, start : start + SORT_BLOCK].T
        block = buffer[: columns.shape[0]]
        block[:] = columns
        orders = np.argsort(block) if is_weighted else None
        if orders is None:
            block.sort()
        else:
            block = np.take_along_axis(block, orders, axis=1)
        for row, ordered in enumerate(block):
            idx = start + row
            n_present = int(np.searchsorted(ordered, np.nan))
            has_missing[idx] = n_present < ordered.size
            ordered = ordered[:n_present]
            if is_category[idx]:
                cuts = np.unique(ordered)
                n_codes[idx] = cuts.size
            else:
                weights = None
                if orders is not None:
                    weights = dataset.weights[orders[row, :n_present]]
                cuts = find_thresholds(ordered, weights)
                n_codes[idx] = cuts.size + 1 if n_present else 0
            all_cuts.append(cuts)
    codes = np.empty((n_features, dataset.n_samples), dtype=np.uint8)
    sizes = [cuts.size for cuts in all_cuts]
    kernels.encode(
        dataset.values,
        np.concatenate(all_cuts) if all_cuts else np.empty(0),
        np.cumsum([0, *sizes]),
        codes,
    )
    packing = pack(codes, n_codes, has_missing)
    return Binned(codes, n_codes, is_category, has_missing, tuple(all_cuts), packing)


def pack(codes: CodeArray, n_codes: IntArray, has_missing: BoolArray) -> Packing:
    """Join features with few codes, so that one pass over a byte serves them all.

    Parameters
    ----------
    codes : uint8 array, shape (n_features, n_samples)
    n_codes : int64 array, shape (n_features,)
    has_missing : bool array, shape (n_features,)

    Returns
    -------
    Packing
        Each column is filled up with the features of fewest codes.
    """
    radixes = (n_codes + has_missing).tolist()
    left = deque(sorted(range(len(radixes)), key=radixes.__getitem__))
    joint: list[list[int]] = []
    alone: list[list[int]] = []
    while left:
        column = [left.pop()]
        size = radixes[column[0]]
        while left and size * radixes[left[0]] <= N_JOINT:
            column.append(left.popleft())
            size *= radixes[column[-1]]
        (joint if len(column) > 1 else alone).append(column)
    columns = joint + alone[::-1]
    members = np.array([idx for column in columns for idx in column], dtype=np.int64)
    starts = np.cumsum([0, *(len(column) for column in columns)])
    packed = np.empty((len(joint), codes.shape[1]), dtype=np.uint8)
    kernels.pack(codes, n_codes, has_missing, members, starts, packed)
    return Packing(packed, members, starts)


def find_thresholds(ordered: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Thresholds that part the present values into at most `MAX_CODES` codes.

    Parameters
    ----------
    ordered : float64 array, shape (n_present,)
        Finite values, ascending.
    weights : float64 array, shape (n_present,), or None
        None where all are equal.

    Returns
    -------
    float64 array
        Ascending; each lies strictly between two neighbouring present values, or on
        the lower one where no double lies between. A value equal to a threshold is
        below it.
    """
    is_lower = ordered[1:] > ordered[:-1]
    if np.count_nonzero(is_lower) < MAX_CODES:
        lower_idxs = np.flatnonzero(is_lower)
    else:
        lower_idxs = find_quantiles(ordered, weights)
    lower, upper = ordered[lower_idxs], ordered[lower_idxs + 1]
    middle = lower / 2 + upper / 2
    return np.where((lower <= middle) & (middle < upper), middle, lower)


def find_quantiles(ordered: FloatArray, weights: FloatArray | None) -> IntArray:
    """Positions of the last of equal values at each quantile, but not of the greatest.

    A quantile on the greatest value counts for the one before.
    """
    if weights is None:
        # As by running totals, which would be the whole numbers.
        targets = float(ordered.size) * np.arange(1, MAX_CODES) / MAX_CODES
        picks = np.ceil(targets).astype(np.int64) - 1
    else:
        totals = np.cumsum(weights)
        targets = totals[-1] * np.arange(1, MAX_CODES) / MAX_CODES
        picks = np.searchsorted(totals, targets)
    last_idxs = np.searchsorted(ordered, ordered[picks], side="right") - 1
    greatest = np.searchsorted(ordered, ordered[-1]) - 1
    return np.unique(np.minimum(last_idxs, greatest))
