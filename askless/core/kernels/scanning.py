"""Compiled search of sums by code for the best stump on every feature."""

import numpy as np
from numba import prange

from askless.core.kernels.jit import kernel, serial_and_parallel

MISSING = np.uint8(255)
N_HISTOGRAM = 256


@kernel
def split_off_lowest_digit(size, radix, out_joint, out_sums):
    """Sum by the lowest digit of the code, and by all the others.

    out_joint: sums by code, the first `size` of which count; overwritten by those by
    the other digits. out_sums: sums by the lowest digit, of which there are `radix`.

    A lane of two booleans, a the lowest digit, and a feature c of three codes; the
    code is a + 2 b + 4 c, twelve of them::

        out_joint   1 2 3 4 | 5 6 7 8 | 1 1 1 1     by code, the size is 12
        peel radix 2: a has  18 (even places), 22 (odd places)
        out_joint   3 7 11 15 2 2                   by b + 2 c, the size is 6
        peel radix 2: b has  16, 24;  out_joint  10 26 4, which is c
    """
    out_sums[:radix] = 0
    if radix == 2:
        # Most packed features are boolean; this form takes several codes at once.
        below = 0
        above = 0
        for rest in range(size // 2):
            first = out_joint[2 * rest]
            second = out_joint[2 * rest + 1]
            below += first
            above += second
            out_joint[rest] = first + second
        out_sums[0] = below
        out_sums[1] = above
        return
    for rest in range(size // radix):
        total = 0
        for digit in range(radix):
            here = out_joint[rest * radix + digit]
            out_sums[digit] += here
            total += here
        out_joint[rest] = total


@kernel
def subtract_prior_votes(masses, totals, is_category, votes_before, out_gains):
    """Turn edges in a leaf into gains over the votes before the split.

    A cut with no weight on one side gains nothing.

    masses: unsigned quanta by code; totals: signed ones of all codes, by output.
    out_gains: (n_codes,), edges before.
    """
    before = np.int64(0)
    for output in range(totals.shape[0]):
        before += votes_before[output] * totals[output]
    mass = np.int64(0)
    for code in range(out_gains.shape[0]):
        mass += masses[code]
    below = np.int64(0)
    for code in range(out_gains.shape[0]):
        below = masses[code] if is_category else below + masses[code]
        out_gains[code] = out_gains[code] - before if 0 < below < mass else 0


@kernel
def scan_feature(feature_idx, digits, masses, table, look, out_best):
    """Find the stump of largest gain from one feature's sums by code.

    digits: quanta by output and code, signed; overwritten by those below each cut.
    masses: unsigned quanta by code, read in a leaf only, where a cut must have some
    on both sides. A number is cut between two codes, a category at one code of
    several; the lowest cut wins a tie. The gain is the edge, summed over the outputs,
    less that of the votes before.
    """
    n_codes = table.n_codes[feature_idx]
    is_category = table.is_category[feature_idx]
    n_outputs = digits.shape[0]
    gains = np.zeros(n_codes, np.int64)
    totals = np.zeros(n_outputs, np.int64)
    for output in range(n_outputs):
        sums = digits[output]
        total = np.int64(0)
        for code in range(n_codes):
            total += sums[code]
            sums[code] = sums[code] if is_category else total
        # In a loop of its own, which takes several codes at once.
        for code in range(n_codes):
            gains[code] += abs(total - 2 * sums[code])
        totals[output] = total
    if look.is_leaf:
        subtract_prior_votes(masses, totals, is_category, look.votes_before, gains)
    best = np.int64(0)
    best_cut = -1
    # A number has a cut less than codes; a single category separates nothing.
    for code in range(n_codes if is_category and n_codes > 1 else n_codes - 1):
        if gains[code] > best:
            best = gains[code]
            best_cut = code
    out_best.edges[feature_idx] = best / look.scale
    out_best.cuts[feature_idx] = best_cut
    for output in range(n_outputs):
        # Above is what is not below; of a category, the code itself.
        sign = 0
        if best_cut >= 0:
            sign = totals[output] - 2 * digits[output, best_cut]
        is_for = sign < 0 if is_category else sign > 0
        out_best.votes[feature_idx, output] = 1 if is_for else -1


@kernel
def scan_lane(place, sums, table, picked, look, out_best):
    """Find the best stump on each feature of one lane; see `scan_lanes`."""
    lane = picked[place]
    n_outputs, n_turns = sums.shape[:2]
    is_weighed = look.is_leaf
    for member in range(table.starts[lane], table.starts[lane + 1]):
        is_weighed |= table.has_missing[table.members[member]]
    signed = np.zeros((n_outputs, N_HISTOGRAM), np.int64)
    unsigned = np.zeros(N_HISTOGRAM, np.int64)
    for output in range(n_outputs):
        total = signed[output]
        for turn in range(n_turns):
            positives = sums[output, turn, place, 0]
            negatives = sums[output, turn, place, 1]
            for code in range(N_HISTOGRAM):
                total[code] += positives[code] - negatives[code]
            for code in range(N_HISTOGRAM if is_weighed else 0):
                unsigned[code] += positives[code] + negatives[code]
    size = np.int64(N_HISTOGRAM)
    digits = np.empty((n_outputs, N_HISTOGRAM), np.int64)
    masses = np.empty(N_HISTOGRAM, np.int64)
    for member in range(table.starts[lane], table.starts[lane + 1]):
        feature_idx = table.members[member]
        n_present = table.n_codes[feature_idx]
        missing = unsigned[MISSING]
        if lane < table.packed.shape[0]:
            radix = n_present + table.has_missing[feature_idx]
            # In a packed lane each feature becomes the lowest digit in its turn.
            if is_weighed:
                split_off_lowest_digit(size, radix, unsigned, masses)
                missing = masses[n_present]
            for output in range(n_outputs):
                split_off_lowest_digit(size, radix, signed[output], digits[output])
            size //= radix
        else:
            digits = signed
            masses = unsigned
        if not table.has_missing[feature_idx]:
            missing = 0
        scan_feature(feature_idx, digits, masses, table, look, out_best)
        out_best.presents[feature_idx] = (look.quanta - missing) / look.scale


def scan_lanes(sums, table, picked, look, out_best):
    """Find the stump of largest gain on every feature of the picked lanes.

    sums: as of `add_moved_rows`; table: a `CodedTable`; picked: (n_lanes,), the lanes
    of the sums; look: a `Look`. out_best: a `Best`, where features of other lanes keep
    what they have.
    """
    for place in prange(picked.shape[0]):
        scan_lane(np.int64(place), sums, table, picked, look, out_best)


scan, scan_parallel = serial_and_parallel(scan_lanes)
