"""Values to uint8 codes: one code per present value, or per quantile of many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core import kernels
from core.types import BoolArray, CodeArray, Dataset, FloatArray, IntArray

MAX_CODES = 254


@dataclass(frozen=True)
class Binned:
    """The rows of a dataset as codes.

    `codes` is (n_features, n_samples). Every code below `n_codes[f]` occurs in
    feature f. `cuts[f]` gives, for a number or boolean, the threshold between code
    k and k + 1; for a category, the value of code k.
    """

    codes: CodeArray
    n_codes: IntArray
    is_category: BoolArray
    has_missing: BoolArray
    cuts: tuple[FloatArray, ...]


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
    all_cuts = []
    for idx in range(n_features):
        values = np.ascontiguousarray(dataset.values[:, idx])
        is_missing = np.isnan(values)
        has_missing[idx] = is_missing.any()
        present, weights = values, dataset.weights
        if has_missing[idx]:
            present, weights = values[~is_missing], weights[~is_missing]
        if is_category[idx]:
            cuts = np.unique(present)
            n_codes[idx] = cuts.size
        else:
            cuts = find_thresholds(present, weights)
            n_codes[idx] = cuts.size + 1 if present.size else 0
        all_cuts.append(cuts)
    codes = np.empty((n_features, dataset.n_samples), dtype=np.uint8)
    sizes = [cuts.size for cuts in all_cuts]
    kernels.encode(
        dataset.values,
        np.concatenate(all_cuts) if all_cuts else np.empty(0),
        np.cumsum([0, *sizes]),
        codes,
    )
    return Binned(codes, n_codes, is_category, has_missing, tuple(all_cuts))


def find_thresholds(present: FloatArray, weights: FloatArray) -> FloatArray:
    """Thresholds that part the present values into at most `MAX_CODES` codes.

    Parameters
    ----------
    present : float64 array, shape (n_present,)
        Finite values.
    weights : float64 array, shape (n_present,)

    Returns
    -------
    float64 array
        Ascending; each lies strictly between two neighbouring present values, or on
        the lower one where no double lies between. A value equal to a threshold is
        below it.
    """
    if present.size == 0:
        return np.empty(0)
    is_weighted = bool(np.ptp(weights) > 0)
    order = np.argsort(present) if is_weighted else None
    ordered = np.sort(present) if order is None else present[order]
    lower_idxs = np.flatnonzero(ordered[1:] > ordered[:-1])
    if lower_idxs.size >= MAX_CODES:
        totals = np.arange(1.0, present.size + 1)
        if order is not None:
            totals = np.cumsum(weights[order])
        targets = totals[-1] * np.arange(1, MAX_CODES) / MAX_CODES
        lower_totals = totals[lower_idxs]
        picks = np.searchsorted(lower_totals, targets)
        lower_idxs = lower_idxs[np.unique(np.minimum(picks, lower_idxs.size - 1))]
    lower, upper = ordered[lower_idxs], ordered[lower_idxs + 1]
    middle = lower / 2 + upper / 2
    return np.where((lower <= middle) & (middle < upper), middle, lower)
