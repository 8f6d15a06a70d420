"""Compiled cuts of online boosting: they follow values that leave their first range."""

import numpy as np

from askless.core.kernels.jit import kernel
from askless.core.kernels.online.online_records import (
    BIN_WEIGHT,
    LEAST,
    MEAN,
    MOST,
    SCALE,
)

# A bin is split that has so many times its share of the rows, and so many times the
# root of that share more.
HEAVY, SLACK = 2.0, 4.0


@kernel
def adapt_cuts(is_category, out_state):
    """Split the bins of numbers that hold too many rows, and merge the lightest."""
    n_slots = out_state.cuts.shape[1]
    for feature in range(is_category.size):
        if is_category[feature]:
            continue
        bins = out_state.bins[feature]
        share = bins[:, BIN_WEIGHT].sum() / n_slots
        # Weights are about 1 on the scale of the last row.
        slack = SLACK * np.sqrt(share * out_state.facts[SCALE])
        most = HEAVY * share + slack
        # Each time there is one bin more that is heavier than its share, so this ends.
        while adapt_heaviest(feature, most, share, out_state):
            pass


@kernel
def adapt_heaviest(feature, most, least, out_state):
    """Split the heaviest bin of a feature; return False where there is no need to.

    most: a bin that is not heavier stays; least: neighbours that are together heavier
    are not merged to make room.
    """
    bins, n_codes = out_state.bins[feature], out_state.n_codes[feature]
    heaviest, pair = choose_bins(bins, n_codes)
    if heaviest < 0 or bins[heaviest, BIN_WEIGHT] <= most:
        return False
    if n_codes == bins.shape[0]:
        if bins[pair, BIN_WEIGHT] + bins[pair + 1, BIN_WEIGHT] > least:
            return False
        merge_bins(feature, pair, out_state)
        heaviest -= 1 if pair < heaviest else 0
    split_bin(feature, heaviest, out_state)
    return True


@kernel
def choose_bins(bins, n_codes):
    """Return the heaviest bin of more than one value, or -1, and the lightest pair."""
    heaviest, pair = -1, 0
    for code in range(n_codes):
        weight = bins[code, BIN_WEIGHT]
        is_heavier = heaviest < 0 or weight > bins[heaviest, BIN_WEIGHT]
        if bins[code, LEAST] < bins[code, MOST] and is_heavier:
            heaviest = code
        if code + 1 < n_codes:
            joint = weight + bins[code + 1, BIN_WEIGHT]
            if joint < bins[pair, BIN_WEIGHT] + bins[pair + 1, BIN_WEIGHT]:
                pair = code
    return heaviest, pair


@kernel
def copy_bin(feature, place, to, out_state):
    """Copy a bin of a feature, its sums and its cut to another place."""
    for fact in range(out_state.bins.shape[2]):
        out_state.bins[feature, to, fact] = out_state.bins[feature, place, fact]
    for output in range(out_state.sums.shape[2]):
        out_state.sums[feature, to, output] = out_state.sums[feature, place, output]
    out_state.cuts[feature, to] = out_state.cuts[feature, place]


@kernel
def merge_bins(feature, code, out_state):
    """Merge a bin with the next one."""
    bins, sums = out_state.bins[feature], out_state.sums[feature]
    cuts, last = out_state.cuts[feature], out_state.n_codes[feature] - 1
    merged, other = bins[code], bins[code + 1]
    weight = merged[BIN_WEIGHT] + other[BIN_WEIGHT]
    if weight > 0.0:
        share = other[BIN_WEIGHT] / weight
        merged[MEAN] += (other[MEAN] - merged[MEAN]) * share
    merged[BIN_WEIGHT] = weight
    merged[LEAST] = min(merged[LEAST], other[LEAST])
    merged[MOST] = max(merged[MOST], other[MOST])
    for output in range(sums.shape[1]):
        sums[code, output] += sums[code + 1, output]
    cuts[code] = cuts[code + 1]
    for later in range(code + 1, last):
        copy_bin(feature, later + 1, later, out_state)
    empty_bin(feature, last, out_state)
    out_state.n_codes[feature] = last


@kernel
def split_bin(feature, code, out_state):
    """Split a bin at the mean of its values, each half with half of its weights."""
    bins, sums = out_state.bins[feature], out_state.sums[feature]
    cuts, end = out_state.cuts[feature], out_state.n_codes[feature]
    for later in range(end, code, -1):
        copy_bin(feature, later - 1, later, out_state)
    lower, other = bins[code], bins[code + 1]
    # Rounding can push a mean out of its range.
    cut = lower[MEAN] if lower[LEAST] <= lower[MEAN] < lower[MOST] else lower[LEAST]
    cuts[code] = cut
    for output in range(sums.shape[1]):
        sums[code, output] *= 0.5
        sums[code + 1, output] = sums[code, output]
    lower[BIN_WEIGHT] *= 0.5
    other[BIN_WEIGHT] = lower[BIN_WEIGHT]
    lower[MEAN], other[MEAN] = 0.5 * (lower[LEAST] + cut), 0.5 * (cut + other[MOST])
    # The next number: a bin of one value is never split again.
    lower[MOST], other[LEAST] = cut, np.nextafter(cut, np.inf)
    out_state.n_codes[feature] = end + 1


@kernel
def empty_bin(feature, code, out_state):
    """Leave nothing in a bin."""
    out_state.sums[feature, code] = 0.0
    bins = out_state.bins[feature, code]
    bins[BIN_WEIGHT], bins[MEAN] = 0.0, 0.0
    bins[LEAST], bins[MOST] = np.inf, -np.inf
    out_state.cuts[feature, code] = np.inf
