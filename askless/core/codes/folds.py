"""Split rows into folds, or into rows to train on and rows to hold out."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from askless.core.arrays import FloatArray, IntArray
from askless.core.table.dataset import LabelledRows

Deal = Literal["exact", "hashed"]

# In a longer table random folds have nearly equal shares of each class.
EXACT_ROWS = 1_000_000

# Rows that are drawn at a time: 8 MB.
CHUNK = 1 << 20

# A stream of its own: folds are independent of all else that the seed decides.
FOLD_STREAM = 2


def deal_folds(
    rows: LabelledRows, folds: int, seed: int, deal: Deal | None = None
) -> tuple[npt.NDArray[np.int8], int]:
    """Return the fold of each row, and the number of folds, 0 where none can be made.

    `exact` is as `deal_strata`. `hashed` draws the fold of each row, or row
    group, from a counter, independently of the others; it needs one byte per row. None:
    `exact` for at most `EXACT_ROWS` rows, else `hashed`.
    """
    fold_of = np.zeros(rows.n_samples, np.int8)
    if folds < 2:
        return fold_of, 0
    if deal == "hashed" or (deal is None and rows.n_samples > EXACT_ROWS):
        return hash_folds(rows, folds, seed)
    fold_idxs = deal_strata(rows, folds, seed)
    for number, idxs in enumerate(fold_idxs):
        fold_of[idxs] = number
    return fold_of, len(fold_idxs)


def hash_folds(
    rows: LabelledRows, folds: int, seed: int
) -> tuple[npt.NDArray[np.int8], int]:
    """Draw the fold of each row or row group; return them and the number of folds.

    The number is 0 if a fold is unfit: a fold needs a row, and the other folds rows of
    two classes.
    """
    random = np.random.Philox(key=np.array([seed, FOLD_STREAM], np.uint64))
    groups = None if rows.row_groups is None else rows.row_group_idxs
    n_draws = rows.n_samples if groups is None else int(groups.max()) + 1
    drawn = np.empty(n_draws, np.int8)
    for start in range(0, n_draws, CHUNK):
        n_some = min(CHUNK, n_draws - start)
        drawn[start : start + n_some] = random.random_raw(n_some) % folds
    fold_of = drawn if groups is None else drawn[groups]
    n_classes = len(rows.classes)
    counts = np.zeros((folds, n_classes), np.int64)
    for label in range(n_classes):
        fold_of_class = fold_of[rows.targets == label]
        counts[:, label] = np.bincount(fold_of_class, minlength=folds)
    n_others = counts.sum(axis=0) - counts
    is_fit = bool(counts.sum(axis=1).all())
    is_fit = is_fit and bool(((n_others > 0).sum(axis=1) >= 2).all())
    return fold_of, folds if is_fit else 0


def deal_strata(dataset: LabelledRows, folds: int, seed: int) -> list[IntArray]:
    """Return stratified folds; rows of one row group stay in one fold.

    There are fewer folds where the second largest class has fewer rows (or groups), so
    that at least two classes are always left to train on. A fold is an ascending array
    of row positions. There is no fold where fewer than 2 are possible.
    """
    generator = np.random.default_rng(seed)
    n_classes = len(dataset.classes)
    if dataset.row_groups is None:
        counts = np.bincount(dataset.targets, minlength=n_classes)
        # The second largest class.
        n_folds = min(folds, int(np.sort(counts)[-2]))
        if n_folds < 2:
            return []
        order = generator.permutation(dataset.n_samples)
        order = order[np.argsort(dataset.targets[order], kind="stable")]
        fold_of = np.empty(dataset.n_samples, dtype=np.int64)
        fold_of[order] = np.arange(dataset.n_samples) % n_folds
    else:
        # Row groups are sorted by their class shares and dealt in turn: every fold has
        # its part of each class, and the others have at least two classes.
        row_groups = dataset.row_group_idxs
        shares = class_shares(row_groups, dataset.targets, n_classes)
        n_folds = min(folds, int(np.sort((shares > 0).sum(axis=0))[-2]))
        if n_folds < 2:
            return []
        order = generator.permutation(shares.shape[0])
        # By the share of the second class, then of the third ...: the last key of
        # `lexsort` is the first, and the first class follows from the others.
        order = order[np.lexsort(shares[order, :0:-1].T)]
        group_fold = np.empty(order.size, dtype=np.int64)
        group_fold[order] = np.arange(order.size) % n_folds
        fold_of = group_fold[row_groups]
    return [np.flatnonzero(fold_of == fold) for fold in range(n_folds)]


def class_shares(row_groups: IntArray, targets: IntArray, n_classes: int) -> FloatArray:
    """Return the share of each class in each row group; (n_row_groups, n_classes).

    Row groups are numbered without gaps.
    """
    n_row_groups = int(row_groups.max()) + 1
    counts = np.bincount(
        row_groups * n_classes + targets, minlength=n_row_groups * n_classes
    )
    counts = counts.reshape(n_row_groups, n_classes)
    shares: FloatArray = counts / counts.sum(axis=1, keepdims=True)
    return shares


def split_rows(dataset: LabelledRows, seed: int) -> tuple[IntArray, IntArray]:
    """Return positions of two thirds of each class to train on, and of the rest.

    Thresholds are set on the rest. Rows of one group stay together. If a class has two
    rows (or groups), each part has one, unless classes share row groups.
    """
    row_groups = dataset.row_group_idxs
    n_row_groups = int(row_groups.max()) + 1
    shares = np.bincount(row_groups, dataset.targets, n_row_groups)
    order = np.random.default_rng(seed).permutation(n_row_groups)
    order = order[np.argsort(shares[order], kind="stable")]
    # One of the first two row groups is held out, and one of the last two.
    start = 0 if n_row_groups % 3 == 1 else 1
    is_held_out = np.isin(row_groups, order[start::3])
    return np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
