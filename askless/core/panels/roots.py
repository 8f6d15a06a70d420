"""Search for a root: the feature that decides which feature to ask next."""

import math
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from askless.core import kernels
from askless.core.arrays import FloatArray, Floats, IntArray
from askless.core.codes.folds import make_folds
from askless.core.model.ladder.routes import MAIN, Split
from askless.core.panels.purchases import Shop
from askless.core.panels.rows import PanelRows

# Least rows of each part.
LEAST_PART = 40

# Most parts; a number of more values is cut at its median.
MAX_PARTS = 12

# Most features that are tried as roots; the cheapest ones.
MAX_ROOTS = 100

# A look after the root sees one feature in N_BINS bins, the last for missing values. If
# there are at most MAX_PAIRED features, a look may see two of them, each in halves.
N_BINS, MAX_PAIRED = 8, 32

# Rows with the overall class shares that are added to each bin.
PRIOR_ROWS = 4.0

# A root's mean gain must exceed 0 by this many standard errors, and by this much.
N_ERRORS, LEAST_GAIN = 3.0, 0.01


class Looks(NamedTuple):
    """The bins of rows, by feature or pair of features."""

    #: (n_rows, n_looks)
    bins: IntArray
    #: (n_rows, n_looks * N_BINS), 0 or 1
    is_in: Floats


def find_root(rows: PanelRows, shop: Shop, most: int) -> Split | None:
    """Return the root of greatest gain on held-out rows, or None if it may be luck.

    Once the root is known, a case may be asked for the best feature of its part. The
    gain is the rise in log-likelihood over asking every case for the same feature. The
    best features are chosen on one half of the rows and judged on the other, and vice
    versa. A search one step ahead misses a root that alone does not predict the class.

    Parameters
    ----------
    rows : PanelRows
    shop : Shop
    most : int
        Highest price of a root, in micro-units.
    """
    halves = make_folds(rows.dataset, 2, rows.seed)
    if len(halves) < 2:
        return None
    looks = make_looks(rows)
    best_gain, best_split = LEAST_GAIN, None
    for split in list_splits(rows, shop, most):
        gains = compute_split_gains(rows, split, looks, halves)
        if gains.mean() > best_gain and is_beyond_luck(gains):
            best_gain, best_split = float(gains.mean()), split
    return best_split


def is_beyond_luck(gains: FloatArray) -> bool:
    """Return whether the mean gain exceeds 0 by `N_ERRORS` standard errors."""
    return float(gains.mean()) > N_ERRORS * float(gains.std()) / math.sqrt(gains.size)


def list_splits(rows: PanelRows, shop: Shop, most: int) -> Iterator[Split]:
    """Yield a split of the rows by each offer that can make one, the cheapest first."""
    offers = sorted(shop.offers, key=shop.price)[:MAX_ROOTS]
    for offer in offers:
        split = make_split(rows, offer)
        if shop.price(offer) > most or split is None:
            continue
        if len(group_rows_by_part(rows, split)) > 1:
            yield split


def make_split(rows: PanelRows, offer: tuple[int, ...]) -> Split | None:
    """Return the split of rows by the values of an offer; None if it makes none.

    The features of a bundle split by which of them is largest, a category by its codes,
    a number by its cuts or, if these are many, by the cut next to its median. There is
    no split into more than `MAX_PARTS` parts.
    """
    features, cuts = rows.dataset.catalogue.features, rows.cuts[offer[0]]
    is_category = [features[idx].type == "category" for idx in offer]
    if len(offer) > 1:
        can_split = len(offer) <= MAX_PARTS and not any(is_category)
        return Split(offer, "largest", np.empty(0)) if can_split else None
    if is_category[0]:
        return Split(offer, "codes", cuts) if cuts.size <= MAX_PARTS else None
    if cuts.size >= MAX_PARTS:
        values = rows.dataset.values[:, offer[0]]
        cuts = cuts[[int(np.abs(cuts - np.nanmedian(values)).argmin())]]
    return Split(offer, "cuts", cuts)


def group_rows_by_part(rows: PanelRows, split: Split) -> dict[int, IntArray]:
    """Return the rows of each part that has at least `LEAST_PART` of them."""
    parts = split.assign_parts(rows.dataset.values)
    by_part = {part: np.flatnonzero(parts == part) for part in range(split.n_parts)}
    return {part: idxs for part, idxs in by_part.items() if idxs.size >= LEAST_PART}


def count_looks(n_features: int) -> int:
    """Return how many features and pairs may be seen after a root."""
    n_pairs = math.comb(n_features, 2) if n_features <= MAX_PAIRED else 0
    return n_features + n_pairs


def make_looks(rows: PanelRows) -> Looks:
    """Return the bin of each row by each feature, and by each pair of few features."""
    table = rows.coarse
    binned, halved = [], []
    for codes, n_codes, is_category in zip(
        table.codes, table.n_codes, table.is_category, strict=True
    ):
        is_missing = codes == kernels.LOST
        present = codes[~is_missing]
        # The last bin is for missing values, so values have one less.
        bins = np.minimum(codes, N_BINS - 2).astype(np.int64)
        if not is_category and n_codes > N_BINS - 1 and present.size:
            shares = np.linspace(0, 1, N_BINS)[1:-1]
            bins = np.searchsorted(np.quantile(present, shares), codes, "left")
        binned.append(np.where(is_missing, N_BINS - 1, bins))
        middle = np.median(present) if present.size else 0
        halved.append((codes > middle).astype(np.int64))
    if len(binned) <= MAX_PAIRED:
        # A pair of halves makes four bins.
        binned += [column + 2 * other for column, other in combinations(halved, 2)]
    bins = np.column_stack(binned)
    is_in: Floats = (bins[:, :, None] == np.arange(N_BINS)).astype(np.float32)
    return Looks(bins, is_in.reshape(rows.n_rows, -1))


def compute_split_gains(
    rows: PanelRows, split: Split, looks: Looks, halves: list[IntArray]
) -> FloatArray:
    """Return each row's gain by the best look of its part over one look for all.

    Gains, (n_judged,), are in log-likelihood, and only of rows that are in parts. The
    best looks are learned on each of the two `halves` and judged on the other.
    """
    parts = split.assign_parts(rows.dataset.values)
    kept = group_rows_by_part(rows, split)
    # The place of `MAIN`, which is -1, is the last: it is in no part.
    places = np.full(split.n_parts + 1, MAIN)
    places[list(kept)] = np.arange(len(kept))
    part_places = places[parts]
    n_classes = len(rows.dataset.classes)
    gains = []
    for learning, judging in (halves, halves[::-1]):
        look_gains, tables = learn_looks(
            rows, looks, part_places, learning, len(kept), n_classes
        )
        own, shared = look_gains.argmax(axis=1), int(look_gains.sum(axis=0).argmax())
        judged = judging[part_places[judging] != MAIN]
        row_parts = part_places[judged]
        bins = looks.bins[judged]
        every, targets = np.arange(judged.size), rows.targets[judged]
        own_looks = own[row_parts]
        own_logs = tables[row_parts, targets, own_looks, bins[every, own_looks]]
        shared_logs = tables[row_parts, targets, shared, bins[:, shared]]
        gains.append(own_logs - shared_logs)
    return np.concatenate(gains)


def learn_looks(
    rows: PanelRows,
    looks: Looks,
    part_places: IntArray,
    learning: IntArray,
    n_parts: int,
    n_classes: int,
) -> tuple[FloatArray, FloatArray]:
    """Return the gain of each look in each part, and the log chances of its bins.

    Shapes (n_parts, n_looks) and (n_parts, n_classes, n_looks, N_BINS). Gains are in
    log-likelihood over the class shares. `part_places` (n_rows,) is the part of each
    row, or `MAIN`; `learning` are the rows to learn from.
    """
    learning = learning[part_places[learning] != MAIN]
    cells = part_places[learning] * n_classes + rows.targets[learning]
    weights = rows.weights[learning]
    is_cell = np.zeros((n_parts * n_classes, learning.size), np.float32)
    is_cell[cells, np.arange(learning.size)] = weights
    sums = is_cell @ looks.is_in[learning]
    counts = sums.reshape(n_parts, n_classes, -1, N_BINS).astype(np.float64)
    # One row more of each class, so that no class has a share of 0.
    totals = np.bincount(cells, weights, n_parts * n_classes) + 1.0
    priors = totals.reshape(n_parts, n_classes)
    priors = (priors / priors.sum(axis=1, keepdims=True))[:, :, None, None]
    smoothed = counts + PRIOR_ROWS * priors
    logs = np.log(smoothed / smoothed.sum(axis=1, keepdims=True))
    gains = (counts * (logs - np.log(priors))).sum(axis=(1, 3))
    return gains, logs
