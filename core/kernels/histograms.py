"""Compiled sums of weights by code that follow the weights from round to round.

Weights are signed (weight times class) and counted in whole units: sums of integers
are exact, hence the same in any order, over any number of threads, for two equal
features, and whether they were kept up to date or taken anew. Rows go by chunks; each
lists the rows whose weight moved, of the positive class from its start upwards, of
the negative one from its end downwards.
"""

import numpy as np
from numba import prange

from core.kernels.jit import kernel, parallel_kernel

MISSING = np.uint8(255)
N_HISTOGRAM = 256
N_CLASSES = 2
COLUMN = N_CLASSES * N_HISTOGRAM
CHUNK = 2048
BLOCK = 4


@parallel_kernel
def pack(codes, n_codes, has_missing, members, starts, out_packed):
    """Join the codes of several features into one byte, as digits of one number.

    Column c joins the features members[starts[c]] to members[starts[c + 1]], the
    first one the lowest digit; a missing value is the digit n_codes. out_packed:
    (n_packed, n_samples).
    """
    for column in prange(out_packed.shape[0]):
        joint = out_packed[column]
        joint[:] = 0
        stride = 1
        for member in range(starts[column], starts[column + 1]):
            feature_idx = members[member]
            feature_codes = codes[feature_idx]
            # In bytes, which takes a quarter of the time of whole numbers.
            missing = np.uint8(n_codes[feature_idx])
            factor = np.uint8(stride)
            for row in range(joint.shape[0]):
                joint[row] += np.uint8(factor * min(feature_codes[row], missing))
            stride *= n_codes[feature_idx] + has_missing[feature_idx]


@kernel
def cast(feature_codes, is_category, cut, vote, out_ballots):
    """Give the vote of a stump on every row, 0 where the feature is missing.

    feature_codes: (n_samples,) of the stump's feature. out_ballots: int8
    (n_samples,).
    """
    # In bytes, so that a step takes as many rows as a register has bytes.
    edge = np.uint8(cut)
    above = np.int8(vote)
    below = np.int8(-vote)
    for row in range(out_ballots.shape[0]):
        code = feature_codes[row]
        is_above = code == edge if is_category else code > edge
        ballot = above if is_above else below
        out_ballots[row] = np.int8(0) if code == MISSING else ballot


@kernel
def reweight(ballots, alpha, out_weights):
    """Apply D(i) exp(-alpha y h(x)) and normalise; return the normaliser.

    ballots: int8 (n_samples,), -1, 0 or 1. out_weights: signed, (n_samples,), in
    place.
    """
    right = np.exp(-alpha)
    wrong = np.exp(alpha)
    total = 0.0
    for row in range(out_weights.shape[0]):
        weight = out_weights[row]
        agreed = ballots[row] * weight
        weight *= right if agreed > 0.0 else (wrong if agreed < 0.0 else 1.0)
        out_weights[row] = weight
        total += abs(weight)
    scale = 1.0 / total
    for row in range(out_weights.shape[0]):
        out_weights[row] *= scale
    return total


@kernel
def sum_chunk(weights, ballots, out_groups):
    """Count rows and units of weight of one chunk by group.

    out_groups: (4,), the rows with weight that the ballots have wrong and right, then
    their units.
    """
    n_wrong = 0
    n_right = 0
    wrong = np.int64(0)
    right = np.int64(0)
    for row in range(weights.shape[0]):
        weight = weights[row]
        agreed = ballots[row] * weight
        units = np.int64(abs(weight) + 0.5)
        n_wrong += 1 if agreed < 0.0 else 0
        n_right += 1 if agreed > 0.0 else 0
        wrong += units if agreed < 0.0 else 0
        right += units if agreed > 0.0 else 0
    out_groups[0] = n_wrong
    out_groups[1] = n_right
    out_groups[2] = wrong
    out_groups[3] = right


@kernel
def sum_groups(weights, ballots, out_groups):
    """Count rows and units of weight by group.

    weights: signed, (n_samples,); ballots: int8 (n_samples,), -1, 0 or 1.
    out_groups: (n_chunks, 4), as in `sum_chunk`.
    """
    for chunk in range(out_groups.shape[0]):
        part = slice(chunk * CHUNK, (chunk + 1) * CHUNK)
        sum_chunk(weights[part], ballots[part], out_groups[chunk])


@parallel_kernel
def sum_groups_parallel(weights, ballots, out_groups):
    """Do as `sum_groups` on all cores."""
    for chunk in prange(out_groups.shape[0]):
        part = slice(chunk * CHUNK, (chunk + 1) * CHUNK)
        sum_chunk(weights[part], ballots[part], out_groups[chunk])


@kernel
def move_chunk(
    start,
    ballots,
    factors,
    is_fresh,
    is_split,
    out_weights,
    out_rows,
    out_deltas,
    out_stops,
):
    """Multiply the weights of one chunk and list those whose units changed.

    The arrays are those of the chunk, whose first row is `start`. See `move`.
    """
    n_rows = out_weights.shape[0]
    positives = np.empty(n_rows, np.int64)
    negatives = np.empty(n_rows if is_split else 0, np.int64)
    wrong = factors[0]
    none = factors[1]
    right = factors[2]
    total = np.int64(0)
    # Without branches or look-ups, so that eight rows go at once.
    for row in range(n_rows):
        weight = out_weights[row]
        agreed = ballots[row] * weight
        moved = weight * (right if agreed > 0.0 else (wrong if agreed < 0.0 else none))
        out_weights[row] = moved
        units = np.int64(abs(moved) + 0.5)
        total += units
        delta = units - (0 if is_fresh else np.int64(abs(weight) + 0.5))
        positives[row] = delta if weight > 0.0 else (0 if is_split else -delta)
        if is_split:
            negatives[row] = 0 if weight > 0.0 else delta
    # The list has a place to spare, which takes what is written before a cursor moves.
    upper = 0
    for row in range(n_rows):
        delta = positives[row]
        out_rows[upper] = start + row
        out_deltas[upper] = delta
        upper += 1 if delta != 0 else 0
    lower = out_rows.shape[0] - 1
    for row in range(n_rows if is_split else 0):
        delta = negatives[row]
        out_rows[lower] = start + row
        out_deltas[lower] = delta
        lower -= 1 if delta != 0 else 0
    out_stops[0] = upper
    out_stops[1] = lower + 1
    out_stops[2] = total


@kernel
def move(
    ballots, factors, is_fresh, is_split, out_weights, out_rows, out_deltas, out_stops
):
    """Multiply every weight by its group's factor and list the rows that moved.

    ballots: int8 (n_samples,); factors: (3,) for the rows that the ballots have wrong,
    that they abstain on, and that they have right; with is_fresh every row counts as
    moved from no weight at all. With is_split the changes are of unsigned units, listed
    by class, else all are listed as of one class, those of the negative one with
    their sign. out_weights: signed, (n_samples,), in place.
    out_rows and out_deltas: (n_chunks, chunk + 1), positions and changes of units.
    out_stops: (n_chunks, 3), the end of the positive rows' list, the start of the
    negative ones', and the units of all rows.
    """
    for chunk in range(out_stops.shape[0]):
        part = slice(chunk * CHUNK, (chunk + 1) * CHUNK)
        move_chunk(
            chunk * CHUNK,
            ballots[part],
            factors,
            is_fresh,
            is_split,
            out_weights[part],
            out_rows[chunk],
            out_deltas[chunk],
            out_stops[chunk],
        )


@parallel_kernel
def move_parallel(
    ballots, factors, is_fresh, is_split, out_weights, out_rows, out_deltas, out_stops
):
    """Do as `move` on all cores."""
    for chunk in prange(out_stops.shape[0]):
        part = slice(chunk * CHUNK, (chunk + 1) * CHUNK)
        move_chunk(
            np.int64(chunk) * CHUNK,
            ballots[part],
            factors,
            is_fresh,
            is_split,
            out_weights[part],
            out_rows[chunk],
            out_deltas[chunk],
            out_stops[chunk],
        )


@kernel
def codes_of(column, codes, packed, members, starts):
    """Give the codes of a column: packed, or those of its only feature."""
    if column < packed.shape[0]:
        return packed[column]
    return codes[members[starts[column]]]


@kernel
def add_four(
    codes_0, codes_1, codes_2, codes_3, rows, deltas, stops, part, n_parts, out_sums
):
    """Add the changes of the rows that moved to the sums of four columns.

    Four columns share each load of a row, and their additions don't wait for one
    another. out_sums: (BLOCK * COLUMN,); of one dimension, so that the offset of a
    column is a constant.
    """
    width = rows.shape[1]
    for chunk in range(part, stops.shape[0], n_parts):
        for side in range(N_CLASSES):
            first = np.int64(0) if side == 0 else stops[chunk, 1]
            stop = stops[chunk, 0] if side == 0 else width
            offset = side * N_HISTOGRAM
            for idx in range(first, stop):
                row = np.uint64(rows[chunk, idx])
                delta = deltas[chunk, idx]
                out_sums[np.uint64(offset + np.int64(codes_0[row]))] += delta
                out_sums[np.uint64(offset + COLUMN + np.int64(codes_1[row]))] += delta
                out_sums[np.uint64(offset + 2 * COLUMN + np.int64(codes_2[row]))] += (
                    delta
                )
                out_sums[np.uint64(offset + 3 * COLUMN + np.int64(codes_3[row]))] += (
                    delta
                )


@kernel
def add_one(column_codes, rows, deltas, stops, part, n_parts, out_sums):
    """Add the changes of the rows that moved to the sums of one column."""
    width = rows.shape[1]
    for chunk in range(part, stops.shape[0], n_parts):
        for side in range(N_CLASSES):
            first = np.int64(0) if side == 0 else stops[chunk, 1]
            stop = stops[chunk, 0] if side == 0 else width
            offset = side * N_HISTOGRAM
            for idx in range(first, stop):
                row = np.uint64(rows[chunk, idx])
                out_sums[np.uint64(offset + np.int64(column_codes[row]))] += deltas[
                    chunk, idx
                ]


@kernel
def add_task(
    task, codes, packed, members, starts, columns, rows, deltas, stops, out_sums
):
    """Add the moved rows of one part of the chunks to one block of columns."""
    n_parts, n_columns = out_sums.shape[:2]
    n_blocks = (n_columns + BLOCK - 1) // BLOCK
    part = task // n_blocks
    first = task % n_blocks * BLOCK
    last = min(first + BLOCK, n_columns)
    if last - first == BLOCK:
        add_four(
            codes_of(columns[first], codes, packed, members, starts),
            codes_of(columns[first + 1], codes, packed, members, starts),
            codes_of(columns[first + 2], codes, packed, members, starts),
            codes_of(columns[first + 3], codes, packed, members, starts),
            rows,
            deltas,
            stops,
            part,
            n_parts,
            out_sums[part, first:last].reshape(-1),
        )
    else:
        for position in range(first, last):
            add_one(
                codes_of(columns[position], codes, packed, members, starts),
                rows,
                deltas,
                stops,
                part,
                n_parts,
                out_sums[part, position].reshape(-1),
            )


@kernel
def add(codes, packed, members, starts, columns, rows, deltas, stops, out_sums):
    """Add the changes of units of the rows that moved to the sums by code.

    codes: (n_features, n_samples); packed, members and starts as of `pack`, with a
    column of one feature for each that is not packed; columns: which ones; rows,
    deltas and stops as of `move`. out_sums: (n_parts, n_columns, N_CLASSES,
    N_HISTOGRAM), each part the sums over some of the chunks.
    """
    n_parts, n_columns = out_sums.shape[:2]
    for task in range(n_parts * ((n_columns + BLOCK - 1) // BLOCK)):
        add_task(
            task, codes, packed, members, starts, columns, rows, deltas, stops, out_sums
        )


@parallel_kernel
def add_parallel(
    codes, packed, members, starts, columns, rows, deltas, stops, out_sums
):
    """Do as `add` on all cores."""
    n_parts, n_columns = out_sums.shape[:2]
    for task in prange(n_parts * ((n_columns + BLOCK - 1) // BLOCK)):
        add_task(
            np.int64(task),
            codes,
            packed,
            members,
            starts,
            columns,
            rows,
            deltas,
            stops,
            out_sums,
        )


@kernel
def peel(size, radix, out_joint, out_sums):
    """Sum by the lowest digit of the code, and by all the others.

    out_joint: sums by code, the first `size` of which count; overwritten by those by
    the other digits. out_sums: sums by the lowest digit, of which there are `radix`.
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
def scan(
    sums, n_codes, is_category, feature_idx, scale, out_edges, out_cuts, out_votes
):
    """Find the stump of largest absolute edge from one feature's sums by code.

    sums: units, signed. A number is cut between two codes, a category at one code of
    several; the lowest cut wins a tie.
    """
    total = 0
    for code in range(n_codes):
        total += sums[code]
    best = 0
    best_cut = -1
    best_vote = 1
    below = 0
    for code in range(n_codes if is_category and n_codes > 1 else n_codes - 1):
        here = sums[code]
        below += here
        # A category votes on its own sum against the rest, a number on the sum
        # above the cut against the sum below.
        edge = 2 * here - total if is_category else total - 2 * below
        if abs(edge) > best:
            best = abs(edge)
            best_cut = code
            best_vote = 1 if edge > 0 else -1
    out_edges[feature_idx] = best / scale
    out_cuts[feature_idx] = best_cut
    out_votes[feature_idx] = best_vote


@kernel
def scan_column(
    position,
    sums,
    members,
    starts,
    columns,
    n_packed,
    n_codes,
    is_category,
    has_missing,
    units,
    scale,
    out_edges,
    out_cuts,
    out_votes,
    out_presents,
):
    """Find the best stump on each feature of one column; see `scan_columns`."""
    column = columns[position]
    is_any_missing = False
    for member in range(starts[column], starts[column + 1]):
        is_any_missing |= has_missing[members[member]]
    signed = np.zeros(N_HISTOGRAM, np.int64)
    unsigned = np.zeros(N_HISTOGRAM, np.int64)
    for part in range(sums.shape[0]):
        positives = sums[part, position, 0]
        negatives = sums[part, position, 1]
        for code in range(N_HISTOGRAM):
            signed[code] += positives[code] - negatives[code]
        for code in range(N_HISTOGRAM if is_any_missing else 0):
            unsigned[code] += positives[code] + negatives[code]
    size = np.int64(N_HISTOGRAM)
    digits = np.empty(N_HISTOGRAM, np.int64)
    for member in range(starts[column], starts[column + 1]):
        feature_idx = members[member]
        n_present = n_codes[feature_idx]
        missing = unsigned[MISSING]
        if column < n_packed:
            radix = n_present + has_missing[feature_idx]
            if is_any_missing:
                peel(size, radix, unsigned, digits)
                missing = digits[n_present]
            peel(size, radix, signed, digits)
            size //= radix
        else:
            digits = signed
        if not has_missing[feature_idx]:
            missing = 0
        scan(
            digits,
            n_present,
            is_category[feature_idx],
            feature_idx,
            scale,
            out_edges,
            out_cuts,
            out_votes,
        )
        out_presents[feature_idx] = (units - missing) / scale


@kernel
def scan_columns(
    sums,
    members,
    starts,
    columns,
    n_packed,
    n_codes,
    is_category,
    has_missing,
    units,
    scale,
    out_edges,
    out_cuts,
    out_votes,
    out_presents,
):
    """Find the stump of largest absolute edge on every feature of the columns.

    sums: as of `add`, and so are members, starts and columns, of which the first
    n_packed are packed; n_codes, is_category, has_missing: (n_features,); units: of
    all rows; scale: units of a weight of 1. Outputs, all (n_features,), of which the
    features of other columns are left: edge >= 0, cut code (-1: none), vote above
    the cut, and the weight of the rows where the feature is present.
    """
    for position in range(columns.shape[0]):
        scan_column(
            position,
            sums,
            members,
            starts,
            columns,
            n_packed,
            n_codes,
            is_category,
            has_missing,
            units,
            scale,
            out_edges,
            out_cuts,
            out_votes,
            out_presents,
        )


@parallel_kernel
def scan_columns_parallel(
    sums,
    members,
    starts,
    columns,
    n_packed,
    n_codes,
    is_category,
    has_missing,
    units,
    scale,
    out_edges,
    out_cuts,
    out_votes,
    out_presents,
):
    """Do as `scan_columns` on all cores."""
    for position in prange(columns.shape[0]):
        scan_column(
            np.int64(position),
            sums,
            members,
            starts,
            columns,
            n_packed,
            n_codes,
            is_category,
            has_missing,
            units,
            scale,
            out_edges,
            out_cuts,
            out_votes,
            out_presents,
        )
