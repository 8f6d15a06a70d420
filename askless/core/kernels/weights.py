"""Compiled updates of weights, and lists of the rows whose weight changes.

Weights are signed (weight times class), an output after the other, and counted in
quanta: whole numbers, whose sums are exact, hence the same in any order, over any
number of threads and shards, for two equal features, and whether they were kept up to
date or taken anew.
"""

import numpy as np
from numba import prange

from askless.core.kernels.jit import kernel, serial_and_parallel

MISSING = np.uint8(255)
CHUNK = 2048


@kernel
def write_stump_votes(feature_codes, is_category, cut, votes, out_ballots):
    """Write the votes of a stump on every row, 0 where the feature is missing.

    feature_codes: (n_samples,) of the stump's feature; votes: int8 (n_outputs,) above
    the cut. out_ballots: int8 (n_outputs, n_samples).
    """
    # In bytes, so that a step takes as many rows as a register has bytes.
    edge = np.uint8(cut)
    for output in range(votes.shape[0]):
        above = votes[output]
        below = np.int8(-above)
        ballots = out_ballots[output]
        for row in range(feature_codes.shape[0]):
            code = feature_codes[row]
            is_above = code == edge if is_category else code > edge
            ballot = above if is_above else below
            ballots[row] = np.int8(0) if code == MISSING else ballot


@kernel
def count_chunk(weights, ballots, out_sides):
    """Count rows and quanta of one chunk by side.

    out_sides: (4,), the rows with weight whose ballots are wrong and right, then
    their quanta.
    """
    n_wrong = 0
    n_right = 0
    wrong = np.int64(0)
    right = np.int64(0)
    for row in range(weights.shape[0]):
        weight = weights[row]
        agreed = ballots[row] * weight
        quanta = np.int64(abs(weight) + 0.5)
        n_wrong += 1 if agreed < 0.0 else 0
        n_right += 1 if agreed > 0.0 else 0
        wrong += quanta if agreed < 0.0 else 0
        right += quanta if agreed > 0.0 else 0
    out_sides[0] = n_wrong
    out_sides[1] = n_right
    out_sides[2] = wrong
    out_sides[3] = right


def count_chunks(weights, ballots, out_sides):
    """Count rows and quanta by side, chunk by chunk.

    weights: signed, (n_outputs, n_samples); ballots: int8, the same shape, -1, 0 or 1.
    out_sides: (n_chunks, n_outputs, 4), as in `count_chunk`.
    """
    n_chunks, n_outputs = out_sides.shape[:2]
    for task in prange(n_chunks * n_outputs):
        chunk, output = np.int64(task) // n_outputs, np.int64(task) % n_outputs
        rows = slice(chunk * CHUNK, (chunk + 1) * CHUNK)
        count_chunk(
            weights[output, rows], ballots[output, rows], out_sides[chunk, output]
        )


count_sides, count_sides_parallel = serial_and_parallel(count_chunks)


@kernel
def multiply_chunk(ballots, change, out_weights, out_before):
    """Multiply some weights by their side's factor.

    out_before: (n_rows,), the weights before, from which they moved; 0 in a fresh list.
    """
    wrong = change.factors[0]
    none = change.factors[1]
    right = change.factors[2]
    kept = 0.0 if change.is_fresh else 1.0
    # Without branches or look-ups, so that a step takes as many rows as a register.
    for row in range(out_weights.shape[0]):
        weight = out_weights[row]
        agreed = ballots[row] * weight
        factor = right if agreed > 0.0 else (wrong if agreed < 0.0 else none)
        out_weights[row] = weight * factor
        out_before[row] = weight * kept


@kernel
def move_chunk(task, ballots, change, out_weights, out_moved):
    """Multiply the weights of one chunk and output, and list the rows that moved.

    Five rows of quanta 3 -2 4 -1 5 (the sign is the class), all but the second and
    the last of which double; width 6, split by class::

        delta       3  0  4  1  0        by row
        rows        0  2  .  .  .  3     class + from the left, class - from the right
        deltas      3  4  .  .  .  1
        stops       2, 5, 23             ends of both lists; quanta of all rows
        not split:  rows 0 2 3, deltas 3 4 -1, stops 3, 6, 23
    """
    n_outputs = out_moved.stops.shape[1]
    chunk, output = task // n_outputs, task % n_outputs
    start = chunk * CHUNK
    weights = out_weights[output, start : start + CHUNK]
    out_rows = out_moved.rows[chunk, output]
    out_deltas = out_moved.deltas[chunk, output]
    n_rows = weights.shape[0]
    before = np.empty(n_rows, np.float64)
    chunk_ballots = ballots[output, start : start + CHUNK]
    multiply_chunk(chunk_ballots, change, weights, before)
    # A list has a place to spare, which takes what is written before a cursor moves.
    changed = np.empty(n_rows + 1, np.int64)
    n_changed = 0
    for idx in range(n_rows):
        changed[n_changed] = idx
        n_changed += 1 if weights[idx] != before[idx] else 0
    is_split = change.is_split
    upper = 0
    lower = out_rows.shape[0] - 1
    total = np.int64(0) if change.is_fresh else out_moved.stops[chunk, output, 2]
    # Whole numbers are made of the rows that moved only: few processors make several at
    # once. Products stand for branches, which classes in any order would mislead.
    for idx in range(n_changed):
        row = np.uint64(changed[idx])
        weight = weights[row]
        delta = np.int64(abs(weight) + 0.5) - np.int64(abs(before[row]) + 0.5)
        total += delta
        is_negative = np.int64(weight + before[row] < 0.0)
        is_moved = np.int64(delta != 0)
        is_lower = is_negative * is_split
        place = np.uint64(upper + is_lower * (lower - upper))
        out_rows[place] = start + row
        out_deltas[place] = delta * (1 - 2 * (is_negative - is_lower))
        upper += is_moved * (1 - is_lower)
        lower -= is_moved * is_lower
    out_moved.stops[chunk, output, 0] = upper
    out_moved.stops[chunk, output, 1] = lower + 1
    out_moved.stops[chunk, output, 2] = total


def move_chunks(ballots, change, out_weights, out_moved):
    """Multiply every weight by its side's factor and list the rows that moved.

    ballots: int8 (n_outputs, n_samples); change: a `Change`. out_weights: signed,
    (n_outputs, n_samples), in place; out_moved: a chunk for each `CHUNK` rows.
    """
    n_chunks, n_outputs = out_moved.stops.shape[:2]
    for task in prange(n_chunks * n_outputs):
        move_chunk(np.int64(task), ballots, change, out_weights, out_moved)


move_weights, move_weights_parallel = serial_and_parallel(move_chunks)


@kernel
def gather_chunk(task, weights, rows, is_split, out_moved):
    """List some rows of one chunk and output with all their quanta."""
    n_outputs = out_moved.stops.shape[1]
    chunk, output = task // n_outputs, task % n_outputs
    out_rows = out_moved.rows[chunk, output]
    out_deltas = out_moved.deltas[chunk, output]
    output_weights = weights[output]
    upper = 0
    lower = out_rows.shape[0] - 1
    total = np.int64(0)
    for row in rows[chunk * CHUNK : (chunk + 1) * CHUNK]:
        weight = output_weights[row]
        quanta = np.int64(abs(weight) + 0.5)
        total += quanta
        is_upper = weight > 0.0 or not is_split
        place = upper if is_upper else lower
        out_rows[place] = row
        out_deltas[place] = quanta if weight > 0.0 or is_split else -quanta
        upper += 1 if is_upper and quanta > 0 else 0
        lower -= 0 if is_upper or quanta == 0 else 1
    out_moved.stops[chunk, output, 0] = upper
    out_moved.stops[chunk, output, 1] = lower + 1
    out_moved.stops[chunk, output, 2] = total


def gather_chunks(weights, rows, is_split, out_moved):
    """List some rows with all their quanta, as if they had moved from nothing.

    weights: signed, (n_outputs, n_samples); rows: (n_rows,); out_moved: a chunk for
    each `CHUNK` of these rows, listed as by `move_weights`.
    """
    n_chunks, n_outputs = out_moved.stops.shape[:2]
    for task in prange(n_chunks * n_outputs):
        gather_chunk(np.int64(task), weights, rows, is_split, out_moved)


gather_rows, gather_rows_parallel = serial_and_parallel(gather_chunks)
