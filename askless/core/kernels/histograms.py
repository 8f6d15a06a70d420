"""Compiled sums of quanta by code; the rows that moved are added lane by lane."""

import numpy as np
from numba import prange

from askless.core.kernels.jit import kernel, serial_and_parallel

N_HISTOGRAM = 256
N_CLASSES = 2
LANE = N_CLASSES * N_HISTOGRAM
BLOCK = 5


@kernel
def codes_of(lane, table):
    """Return the codes of a lane: packed ones, or those of its only feature."""
    if lane < table.packed.shape[0]:
        return table.packed[lane]
    return table.codes[table.members[table.starts[lane]]]


@kernel
def moved_side(moved, chunk, output, side):
    """Return the moved rows of one class (side 1: negative) and their quanta."""
    rows, deltas = moved.rows[chunk, output], moved.deltas[chunk, output]
    first = np.int64(0) if side == 0 else moved.stops[chunk, output, 1]
    stop = moved.stops[chunk, output, 0] if side == 0 else rows.shape[0]
    return rows[first:stop], deltas[first:stop]


@kernel
def add_moved_row(row, delta, codes, out_sums):
    """Add a change of quanta to the sums of five lanes; see `add_to_five_lanes`."""
    for place in range(BLOCK):
        out_sums[np.uint64(place * LANE + np.int64(codes[place][row]))] += delta


@kernel
def add_to_five_lanes(codes, moved, output, turn, out_sums):
    """Add the rows that moved to the sums of five lanes.

    They share each load of a row, and their additions don't wait for one another.
    codes: those of each lane; turn: the first chunk and the step to the next.
    out_sums: (BLOCK * LANE,), flat, so that the offset of a lane is a constant.
    """
    for chunk in range(turn[0], moved.stops.shape[0], turn[1]):
        for side in range(N_CLASSES):
            rows, deltas = moved_side(moved, chunk, output, side)
            sums = out_sums[side * N_HISTOGRAM :]
            for idx in range(rows.shape[0]):
                add_moved_row(np.uint64(rows[idx]), deltas[idx], codes, sums)


@kernel
def add_to_one_lane(lane_codes, moved, output, turn, out_sums):
    """Add the rows that moved to the sums of one lane; see `add_to_five_lanes`."""
    for chunk in range(turn[0], moved.stops.shape[0], turn[1]):
        for side in range(N_CLASSES):
            rows, deltas = moved_side(moved, chunk, output, side)
            sums = out_sums[side * N_HISTOGRAM :]
            for idx in range(rows.shape[0]):
                sums[np.uint64(lane_codes[np.uint64(rows[idx])])] += deltas[idx]


@kernel
def add_task(task, table, picked, moved, out_sums):
    """Add some chunks of the rows that moved, of one output, to a block of lanes."""
    n_turns, n_lanes = out_sums.shape[1:3]
    n_blocks = count_blocks(n_lanes)
    block, rest = task % n_blocks, task // n_blocks
    turn, output = (rest % n_turns, n_turns), rest // n_turns
    first, last = block * n_lanes // n_blocks, (block + 1) * n_lanes // n_blocks
    if last - first >= BLOCK:
        five = (
            codes_of(picked[first], table),
            codes_of(picked[first + 1], table),
            codes_of(picked[first + 2], table),
            codes_of(picked[first + 3], table),
            codes_of(picked[first + 4], table),
        )
        sums = out_sums[output, turn[0], first : first + BLOCK].reshape(-1)
        add_to_five_lanes(five, moved, output, turn, sums)
        first += BLOCK
    for place in range(first, last):
        sums = out_sums[output, turn[0], place].reshape(-1)
        lane_codes = codes_of(picked[place], table)
        add_to_one_lane(lane_codes, moved, output, turn, sums)


@kernel
def count_blocks(n_lanes):
    """Return how many blocks lanes are in: of five each; some may have a few more."""
    return max(1, n_lanes // BLOCK)


def add_tasks(table, picked, moved, out_sums):
    """Add the changes of quanta of the rows that moved to the sums by code.

    table: a `CodedTable`; picked: (n_lanes,), which lanes; moved: a `MovedRows`.
    out_sums: (n_outputs, n_turns, n_lanes, N_CLASSES, N_HISTOGRAM), each turn the sums
    over some of the chunks.
    """
    n_outputs, n_turns, n_lanes = out_sums.shape[:3]
    for task in prange(n_outputs * n_turns * count_blocks(n_lanes)):
        add_task(np.int64(task), table, picked, moved, out_sums)


add_moved_rows, add_moved_rows_parallel = serial_and_parallel(add_tasks)
