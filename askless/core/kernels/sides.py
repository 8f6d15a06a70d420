"""Compiled counts of what a stump has wrong and right, from sums by code."""

import numpy as np

from askless.core.kernels.jit import kernel

N_HISTOGRAM = 256
N_CLASSES = 2
WIDTH = np.uint64(N_HISTOGRAM)


@kernel
def count_classes(lane_codes, classes, out_counts):
    """Count the weights by output, class and code of a lane.

    lane_codes: (n_samples,); classes: (n_outputs, n_samples), 0 the positive one, 1
    the negative, 2 where there is no weight. out_counts: (n_outputs, N_CLASSES,
    N_HISTOGRAM).
    """
    # Four rows in turn, whose counts don't wait for one another: 0.4 ns a row, not 0.9.
    parts = np.empty((4, 3 * N_HISTOGRAM), np.int64)
    n_fours = lane_codes.shape[0] // 4 * 4
    for output in range(classes.shape[0]):
        parts[:] = 0
        one, two, three, four = parts
        own = classes[output]
        for row in range(0, n_fours, 4):
            one[WIDTH * np.uint64(own[row]) + lane_codes[row]] += 1
            two[WIDTH * np.uint64(own[row + 1]) + lane_codes[row + 1]] += 1
            three[WIDTH * np.uint64(own[row + 2]) + lane_codes[row + 2]] += 1
            four[WIDTH * np.uint64(own[row + 3]) + lane_codes[row + 3]] += 1
        for row in range(n_fours, lane_codes.shape[0]):
            one[WIDTH * np.uint64(own[row]) + lane_codes[row]] += 1
        for place in range(N_CLASSES * N_HISTOGRAM):
            side, code = place // N_HISTOGRAM, place % N_HISTOGRAM
            total = one[place] + two[place] + three[place] + four[place]
            out_counts[output, side, code] = total


@kernel
def write_sides(cut, out_sides_of):
    """Write where each joint code of a lane lies: 1 above the cut, -1 below, 0 missing.

    cut: a `Cut`; out_sides_of: (N_HISTOGRAM,).
    """
    for joint in range(N_HISTOGRAM):
        # The feature's digit of the lane's joint code.
        code = joint // cut.stride % cut.radix
        is_above = code == cut.code if cut.is_category else code > cut.code
        out_sides_of[joint] = 0 if code >= cut.n_present else (1 if is_above else -1)


@kernel
def compute_sides(sums, counts, cut, votes, out_sides):
    """Write what a stump has wrong and right, without looking at any row.

    sums: quanta by code, as of `add_moved_rows`; counts: rows by code of its lane, of
    `count_classes`; cut: a `Cut`; votes: int8 (n_outputs,) above the cut. out_sides:
    (4,), rows wrong and right, then quanta: right less wrong, and those that it
    abstains on.
    """
    out_sides[:] = 0
    sides_of = np.empty(N_HISTOGRAM, np.int64)
    write_sides(cut, sides_of)
    for output in range(votes.shape[0]):
        above = np.int64(votes[output])
        positives, negatives = counts[output]
        for joint in range(N_HISTOGRAM):
            vote = above * sides_of[joint]
            out_sides[0] += positives[joint] if vote < 0 else 0
            out_sides[0] += negatives[joint] if vote > 0 else 0
            out_sides[1] += positives[joint] if vote > 0 else 0
            out_sides[1] += negatives[joint] if vote < 0 else 0
        for turn in range(sums.shape[1]):
            positives, negatives = sums[output, turn, cut.place]
            for joint in range(N_HISTOGRAM):
                side = sides_of[joint]
                out_sides[2] += above * side * (positives[joint] - negatives[joint])
                gone = positives[joint] + negatives[joint]
                out_sides[3] += gone if side == 0 else 0
