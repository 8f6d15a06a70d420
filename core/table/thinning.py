"""Fewer rows of a large table, which stand for all of them."""

from dataclasses import replace

import numpy as np

from core.arrays import IntArray
from core.table.dataset import Dataset


def thin_classes(dataset: Dataset, most: int) -> Dataset:
    """Take so many of the rows at most, those of each class evenly spaced.

    Half of the rows are dealt to the classes in equal parts, so that a small class
    keeps more of its rows than a large one, if need be all; the other half in
    proportion to what is left of them. Where a class loses rows, the others weigh
    more: together all classes weigh what they did.

    Parameters
    ----------
    dataset : Dataset
        Of one class per row.
    most : int
        Not less than two rows for each class.

    Notes
    -----
    To take all of a small class and some of a large one, and to weigh them back, is
    sampling by outcome (Manski and Lerman 1977).
    """
    if dataset.n_samples <= most:
        return dataset
    row_idxs = np.concatenate(
        [
            idxs[np.linspace(0, idxs.size - 1, n_kept).round().astype(np.int64)]
            for idxs, n_kept in deal(dataset, most)
        ]
    )
    taken = dataset.take(np.sort(row_idxs))
    n_classes = len(dataset.classes)
    before = np.bincount(dataset.targets, dataset.weights, n_classes)
    after = np.bincount(taken.targets, taken.weights, n_classes)
    factors = before / np.where(after > 0, after, 1.0)
    weights = taken.weights * factors[taken.targets]
    return replace(taken, weights=weights / weights.sum())


def deal(dataset: Dataset, most: int) -> list[tuple[IntArray, int]]:
    """Return the rows of each class that has any, and how many of them are kept."""
    n_classes = len(dataset.classes)
    counts = np.bincount(dataset.targets, minlength=n_classes)
    kept = np.minimum(counts, most // (2 * n_classes))
    left = counts - kept
    kept += left * (most - kept.sum()) // left.sum()
    return [
        (np.flatnonzero(dataset.targets == position), int(n_kept))
        for position, n_kept in enumerate(kept)
        if n_kept
    ]
