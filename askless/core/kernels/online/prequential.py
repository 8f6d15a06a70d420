"""Sums over rows that were predicted before they were learnt (Dawid 1984)."""

from typing import NamedTuple

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.kernels.jit import kernel

# The log-loss of a chance of 0 would be infinite.
LEAST_CHANCE = 1e-300


class JudgedRows(NamedTuple):
    """Rows in the order in which they were learnt, with what was predicted of them.

    `chances` (n_rows, 2) of the true class and `is_wrong` (n_rows, 2) are by each of
    two links; `targets` and `weights` (n_rows,).
    """

    chances: FloatArray
    is_wrong: BoolArray
    targets: IntArray
    weights: FloatArray


@kernel
def add_judged_rows(rows, fades, out_record, out_class_weights):
    """Add rows one by one; before each, all sums fade.

    fades: what remains of the first and second row of the record, and of the class
    weights; out_record (2, 6): weight, squared weight, and for each link the weight of
    wrong labels and the log-loss; out_class_weights (n_classes,).
    """
    for row in range(rows.weights.size):
        weight = rows.weights[row]
        for span in range(2):
            fade = fades[span]
            sums = out_record[span]
            sums[0] = sums[0] * fade + weight
            sums[1] = sums[1] * fade * fade + weight * weight
            for link in range(2):
                wrong = weight if rows.is_wrong[row, link] else 0.0
                loss = -np.log(max(rows.chances[row, link], LEAST_CHANCE))
                sums[2 + 2 * link] = sums[2 + 2 * link] * fade + wrong
                sums[3 + 2 * link] = sums[3 + 2 * link] * fade + weight * loss
        for place in range(out_class_weights.size):
            out_class_weights[place] *= fades[2]
        out_class_weights[rows.targets[row]] += weight
