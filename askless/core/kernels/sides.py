"""Compiled counts of what a stump has wrong and right, from sums by code."""

import numpy as np

from askless.core.kernels.jit import kernel

N_HISTOGRAM = 256
N_CLASSES = 2
WIDTH = np.uint64(N_HISTOGRAM)


@kernel
def count_classes(feature_codes, classes, out_counts):
    """Count the weights by output, class and code of a feature.

    feature_codes: (n_samples,); classes: (n_outputs, n_samples), 0 the positive one, 1
    the negative, 2 where there is no weight. out_counts: (n_outputs, N_CLASSES,
    N_HISTOGRAM).
    """
    # Four rows in turn, whose counts don't wait for one another: 0.4 ns a row, not 0.9.
    parts = np.empty((4, 3 * N_HISTOGRAM), np.int64)
    n_fours = feature_codes.shape[0] // 4 * 4
    for output in range(classes.shape[0]):
        parts[:] = 0
        one, two, three, four = parts
        own = classes[output]
        for row in range(0, n_fours, 4):
            one[WIDTH * np.uint64(own[row]) + feature_codes[row]] += 1
            two[WIDTH * np.uint64(own[row + 1]) + feature_codes[row + 1]] += 1
            three[WIDTH * np.uint64(own[row + 2]) + feature_codes[row + 2]] += 1
            four[WIDTH * np.uint64(own[row + 3]) + feature_codes[row + 3]] += 1
        for row in range(n_fours, feature_codes.shape[0]):
            one[WIDTH * np.uint64(own[row]) + feature_codes[row]] += 1
        for place in range(N_CLASSES * N_HISTOGRAM):
            side, code = place // N_HISTOGRAM, place % N_HISTOGRAM
            total = one[place] + two[place] + three[place] + four[place]
            out_counts[output, side, code] = total


@kernel
def weigh_lane(positives, negatives, cut, above, out_sides):
    """Add the quanta of one lane that a stump has right less wrong, or abstains on.

    positives, negatives: quanta by code of the lane; cut: a `Cut`; above: the vote.
    out_sides: as of `compute_sides`.
    """
    edge, gone = np.int64(0), np.int64(0)
    for joint in range(N_HISTOGRAM):
        # The feature's digit of the lane's joint code.
        code = joint // cut.stride % cut.radix
        is_above = code == cut.code if cut.is_category else code > cut.code
        signed = positives[joint] - negatives[joint]
        if code < cut.n_present:
            edge += signed if is_above else -signed
        else:
            gone += positives[joint] + negatives[joint]
    out_sides[2] += above * edge
    out_sides[3] += gone


@kernel
def compute_sides(sums, counts, cut, votes, out_sides):
    """Write what a stump has wrong and right, without looking at any row.

    sums: quanta by code, as of `add_moved_rows`; counts: rows by code of its feature,
    of `count_classes`; cut: a `Cut`; votes: int8 (n_outputs,) above the cut. out_sides:
    (4,), rows wrong and right, then quanta: right less wrong, and those that it
    abstains on.
    """
    out_sides[:] = 0
    for output in range(votes.shape[0]):
        above = np.int64(votes[output])
        for code in range(cut.n_present):
            is_above = code == cut.code if cut.is_category else code > cut.code
            # The class that the vote here has right: 0 positive, 1 negative.
            right = 0 if (above > 0) == is_above else 1
            out_sides[0] += counts[output, 1 - right, code]
            out_sides[1] += counts[output, right, code]
        for turn in range(sums.shape[1]):
            lane = sums[output, turn, cut.place]
            weigh_lane(lane[0], lane[1], cut, above, out_sides)
