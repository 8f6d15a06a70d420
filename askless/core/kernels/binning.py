"""Compiled binning: codes from values.

Codes are uint8, one row per feature; `MISSING` marks a missing value.
"""

from typing import NamedTuple

import numpy as np
from numba import prange

from askless.core.arrays import CodeArray, FloatArray, IntArray
from askless.core.kernels.jit import kernel, parallel_kernel
from askless.core.kernels.records import ColumnFacts

MISSING = np.uint8(255)

# A feature with at most so many values is coded by comparing with each of them.
FEW = 16

# Places between the first and the last cut of a feature, where searches begin.
N_PLACES = 1024

# Rows per task; rows and features that are copied from rows to columns at a time.
CHUNK = 2048
TILE = 128
WIDTH = 256
PAD = 8


@kernel
def rank_values(column, size, known, out_codes):
    """Count the known values below every value; return how many values are known."""
    n_met = 0
    out_codes[:] = 0
    for idx in range(size):
        value = known[idx]
        for row in range(column.shape[0]):
            out_codes[row] += np.uint8(value < column[row])
            n_met += value == column[row]
    return n_met


class CutTables(NamedTuple):
    """The cuts of features, and where the search for a value begins among them.

    `cuts`, (n_features, width), are ascending, followed by infinity; width is twice a
    power of two that exceeds their number. Between the first and the last one lie
    `N_PLACES` places of the same size: `scales`, (n_features, 3), has the first cut,
    half of their distance and its inverse times `N_PLACES`. `firsts`, (n_features,
    N_PLACES + 1), is the number of cuts in all places before. Each place has fewer than
    2^n_steps[f] of the cuts.
    """

    cuts: FloatArray
    scales: FloatArray
    firsts: CodeArray
    n_steps: IntArray


@kernel
def locate_value(value, low, half, scale):
    """Return the place of a value; it never falls as values rise. NaN: the first."""
    # The difference of halves can't overflow.
    way = value / 2 - low / 2
    way = way if way > 0.0 else 0.0
    return np.int64((way if way < half else half) * scale)


@kernel
def index_cuts(n_cuts, out_tables):
    """Fill in the places of the cuts: `firsts` and `n_steps` of a `CutTables`."""
    for idx in range(n_cuts.shape[0]):
        low, half, scale = out_tables.scales[idx]
        firsts = out_tables.firsts[idx]
        count = most = np.int64(0)
        for place in range(firsts.shape[0]):
            firsts[place] = count
            while count < n_cuts[idx] and place == locate_value(
                out_tables.cuts[idx, count], low, half, scale
            ):
                count += 1
            most = max(most, count - np.int64(firsts[place]))
        out_tables.n_steps[idx] = np.int64(np.ceil(np.log2(most + 1)))


@kernel
def count_cuts_below(column, tables, feature, out_codes):
    """Count the cuts below every value; `feature` is the row of the tables.

    Values and cuts are put into places alike, so the cuts of earlier places are below a
    value. Those of its own place are searched, in the same steps for every value,
    several values at a time. (A bit is shifted to its place: multiplied, it becomes a
    branch and takes five times as long.)
    """
    cuts, firsts = tables.cuts[feature], tables.firsts[feature]
    low, half, scale = tables.scales[feature]
    counts = np.empty(column.shape[0], np.int64)
    for row in range(column.shape[0]):
        place = np.uint64(locate_value(column[row], low, half, scale))
        counts[row] = firsts[place]
    for power in range(tables.n_steps[feature] - 1, -1, -1):
        for row in range(column.shape[0]):
            idx = np.uint64(counts[row] + (1 << power) - 1)
            counts[row] += np.int64(cuts[idx] < column[row]) << power
    for row in range(column.shape[0]):
        out_codes[row] = np.uint8(counts[row])


@kernel
def mark_missing(column, out_codes):
    """Code the missing values as such; return how many there are."""
    n_missing = 0
    for row in range(column.shape[0]):
        is_missing = np.isnan(column[row])
        n_missing += is_missing
        out_codes[row] = MISSING if is_missing else out_codes[row]
    return n_missing


@kernel
def learn_values(column, size, out_known):
    """Add a column's values to the `size` known ones; return how many there are then.

    out_known: (FEW + 1,), ascending; once it is full, nothing is added.
    """
    for row in range(column.shape[0]):
        if size > FEW:
            break
        value = column[row]
        idx = 0
        while idx < size and out_known[idx] < value:
            idx += 1
        is_new = idx == size or out_known[idx] != value
        if is_new and not np.isnan(value):
            for later in range(size, idx, -1):
                out_known[later] = out_known[later - 1]
            out_known[idx] = value
            size += 1
    return size


@kernel
def encode_column(column, feature_idx, tables, table_idx, out_learnt, out_codes):
    """Code some values of one feature, and learn those that are new; see `encode`."""
    size = out_learnt.sizes[feature_idx]
    known = out_learnt.known[feature_idx]
    n_left = column.shape[0]
    if size > FEW:
        count_cuts_below(column, tables, table_idx, out_codes)
    else:
        n_left -= rank_values(column, size, known, out_codes)
    if n_left > 0:
        n_missing = mark_missing(column, out_codes)
        out_learnt.has_missing[feature_idx] |= n_missing > 0
        if n_left > n_missing and size <= FEW:
            out_learnt.sizes[feature_idx] = learn_values(column, size, known)


@kernel
def encode(start, values, features, tables, out_learnt, out_codes):
    """Code features on some rows, the first of which is `start`; learn new values.

    values: (n_rows, n_features). A code counts the known values below, or the cuts in
    row c of `tables`, a `CutTables`, if more than FEW values of features[c] are known.
    It holds if by the end nothing was learnt about its feature. out_learnt: a
    `ColumnFacts`, added to. out_codes: (n_features, n_samples).
    """
    n_rows = values.shape[0]
    # Rows are read whole, columns coded at a stretch. Unpadded, the values of a row
    # would share a few sets of the cache.
    columns = np.empty((min(WIDTH, features.shape[0]), TILE + PAD))
    for first in range(0, n_rows, TILE):
        n_tile = min(TILE, n_rows - first)
        for block in range(0, features.shape[0], WIDTH):
            some = features[block : block + WIDTH]
            copy_columns(values[first : first + n_tile], some, columns)
            for place in range(some.shape[0]):
                idx = some[place]
                codes = out_codes[idx, start + first : start + first + n_tile]
                column = columns[place, :n_tile]
                encode_column(column, idx, tables, block + place, out_learnt, codes)


@kernel
def copy_columns(values, features, out_columns):
    """Copy features of some rows: (n_rows, n_features) -> (n_places, n_rows)."""
    for row in range(values.shape[0]):
        for place in range(features.shape[0]):
            out_columns[place, row] = values[row, features[place]]


@parallel_kernel
def encode_parallel(values, features, tables, out_learnt, out_codes):
    """Code all rows as `encode` does, in chunks on all cores."""
    n_samples, n_features = values.shape
    n_chunks = (n_samples + CHUNK - 1) // CHUNK
    known = np.empty((n_chunks, n_features, FEW + 1))
    sizes = np.empty((n_chunks, n_features), np.int64)
    has_missing = np.zeros((n_chunks, n_features), np.bool_)
    for chunk in prange(n_chunks):
        for idx in range(n_features):
            sizes[chunk, idx] = out_learnt.sizes[idx]
            for place in range(sizes[chunk, idx]):
                known[chunk, idx, place] = out_learnt.known[idx, place]
        start = np.int64(chunk) * CHUNK
        rows = values[start : start + CHUNK]
        learnt = ColumnFacts(known[chunk], sizes[chunk], has_missing[chunk])
        encode(start, rows, features, tables, learnt, out_codes)
    for chunk in range(n_chunks):
        for idx in features:
            out_learnt.has_missing[idx] |= has_missing[chunk, idx]
            news = known[chunk, idx, : sizes[chunk, idx]]
            size = learn_values(news, out_learnt.sizes[idx], out_learnt.known[idx])
            out_learnt.sizes[idx] = size


@parallel_kernel
def pack_codes(codes, n_codes, has_missing, members, starts, out_packed):
    """Join the codes of several features into one byte, as digits of one number.

    Lane l joins the features members[starts[l]] to members[starts[l + 1]], the first
    one the lowest digit; a missing value is the digit n_codes. out_packed:
    (n_packed, n_samples).
    """
    for lane in prange(out_packed.shape[0]):
        joint = out_packed[lane]
        joint[:] = 0
        stride = 1
        for member in range(starts[lane], starts[lane + 1]):
            feature_idx = members[member]
            feature_codes = codes[feature_idx]
            # In bytes, which takes a quarter of the time of whole numbers.
            missing = np.uint8(n_codes[feature_idx])
            factor = np.uint8(stride)
            for row in range(joint.shape[0]):
                joint[row] += np.uint8(factor * min(feature_codes[row], missing))
            stride *= n_codes[feature_idx] + has_missing[feature_idx]
