"""Sample rows of a large table by class and weigh them to represent all rows."""

from dataclasses import replace

import numpy as np

from askless.core.arrays import IntArray, evenly_spaced
from askless.core.table.dataset import Dataset


def thin_classes(dataset: Dataset, most: int) -> Dataset:
    """Return at most `most` rows that represent all; see `sample_classes`."""
    return sample_classes(dataset, most)[0]


def sample_classes(dataset: Dataset, most: int) -> tuple[Dataset, IntArray]:
    """Return at most `most` rows, and which they are.

    Those of each class are evenly spaced. Half of the places are shared equally among
    the classes, so that a small class keeps a larger share of its rows, possibly all of
    them. The second half is shared in proportion to the remaining rows. Where a class
    loses rows, its other rows weigh more, so that the total weight of each class stays.

    Parameters
    ----------
    dataset : Dataset
        Has one class per row.
    most : int
        At least two rows for each class.

    Notes
    -----
    This is choice-based (case-control) sampling with weights that correct for it
    (Manski and Lerman 1977).
    """
    if dataset.n_samples <= most:
        return dataset, np.arange(dataset.n_samples)
    row_idxs = np.sort(
        np.concatenate(
            [
                idxs[evenly_spaced(idxs.size, n_kept)]
                for idxs, n_kept in allocate_rows(dataset, most)
            ]
        )
    )
    thinned = dataset.take(row_idxs)
    n_classes = len(dataset.classes)
    before = np.bincount(dataset.targets, dataset.weights, n_classes)
    after = np.bincount(thinned.targets, thinned.weights, n_classes)
    factors = before / np.where(after > 0, after, 1.0)
    weights = thinned.weights * factors[thinned.targets]
    return replace(thinned, weights=weights / weights.sum()), row_idxs


def allocate_rows(dataset: Dataset, most: int) -> list[tuple[IntArray, int]]:
    """Return, for each class that has rows, their positions and how many to keep."""
    n_classes = len(dataset.classes)
    counts = np.bincount(dataset.targets, minlength=n_classes)
    quotas = np.minimum(counts, most // (2 * n_classes))
    left = counts - quotas
    # In proportion to what is left, rounded down so that the sum stays within `most`.
    quotas += left * (most - quotas.sum()) // left.sum()
    return [
        (np.flatnonzero(dataset.targets == position), int(n_kept))
        for position, n_kept in enumerate(quotas)
        if n_kept
    ]
