"""Class-conditional tables: cells, their counts, the posterior and what lowers it.

A cell is a bin of a feature; the cells of all features stand one after another. Cell -1
is none: the value is not known, or its absence says nothing.
"""

from typing import NamedTuple

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.kernels.jit import kernel

# A chance below this is none, so that no logarithm is infinite.
TINY = 1e-12


class CellLayout(NamedTuple):
    """The cells of each feature, and how its values become cells."""

    #: cuts of numbers, ascending, or codes of categories, of all features
    cuts: FloatArray
    #: (n_features + 1,), where the cuts of each feature begin
    cut_starts: IntArray
    #: (n_features + 1,), where its cells begin: one more than cuts, and the missing one
    starts: IntArray
    #: (n_features,)
    is_category: BoolArray
    #: (n_features,), whether the last cell is for missing values
    has_missing: BoolArray


@kernel
def cell_of(value, idx, cells):
    """Return the cell of a feature's value, -1 for none."""
    if np.isnan(value):
        return cells.starts[idx + 1] - 1 if cells.has_missing[idx] else -1
    begin, end = cells.cut_starts[idx], cells.cut_starts[idx + 1]
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if cells.cuts[middle] < value:
            low = middle + 1
        else:
            high = middle
    if cells.is_category[idx] and (low == end or cells.cuts[low] != value):
        low = end
    return cells.starts[idx] + low - begin


@kernel
def code_cells(values, is_known, cells, out_cells):
    """Write the cell of each value, -1 for none.

    values: (n_rows, n_features); is_known: (n_features,). A category has one more cell,
    for all other codes. out_cells: int64 (n_rows, n_features).
    """
    for row in range(values.shape[0]):
        for idx in range(values.shape[1]):
            cell = -1
            if is_known[idx]:
                cell = cell_of(values[row, idx], idx, cells)
            out_cells[row, idx] = cell


@kernel
def count_cells(coded, targets, weights, row_idxs, out_counts):
    """Add the weight of each of some rows to its cells.

    coded: (n_rows, n_features), cells; out_counts: (n_cells, n_classes).
    """
    for place in range(row_idxs.shape[0]):
        row = row_idxs[place]
        for idx in range(coded.shape[1]):
            cell = coded[row, idx]
            if cell >= 0:
                out_counts[cell, targets[row]] += weights[row]


@kernel
def add_case_logs(case_cells, is_used, logs, out_logs):
    """Add the log chances of the cells of one case; a cell -1 adds nothing.

    case_cells, is_used: (n_features,), others add nothing; logs: (n_cells, n_classes).
    out_logs: (n_classes,).
    """
    for idx in range(case_cells.shape[0]):
        cell = case_cells[idx]
        if cell >= 0 and is_used[idx]:
            for target in range(out_logs.shape[0]):
                out_logs[target] += logs[cell, target]


@kernel
def add_logs(coded, row_idxs, is_used, logs, out_logs):
    """Add the log chances of the cells of some rows, as `add_case_logs`.

    coded: (n_rows, n_features); out_logs: (n_some_rows, n_classes).
    """
    for place in range(row_idxs.shape[0]):
        add_case_logs(coded[row_idxs[place]], is_used, logs, out_logs[place])


@kernel
def write_losses(logs, targets, row_idxs, out_losses):
    """Write the log-loss of some rows by their log chances, normalised here.

    logs: (n_some_rows, n_classes); targets: (n_rows,); out_losses: (n_some_rows,).
    """
    for place in range(row_idxs.shape[0]):
        most, total = logs[place].max(), 0.0
        for target in range(logs.shape[1]):
            total += np.exp(logs[place, target] - most)
        own = logs[place, targets[row_idxs[place]]]
        out_losses[place] = most + np.log(total) - own


@kernel
def normalise_logs(logs, out_chances):
    """Write the chance of each class of one case; logs, out_chances: (n_classes,)."""
    most, total = logs.max(), 0.0
    for target in range(logs.shape[0]):
        out_chances[target] = np.exp(logs[target] - most)
        total += out_chances[target]
    for target in range(logs.shape[0]):
        out_chances[target] /= total


@kernel
def compute_entropy(chances):
    """Return the entropy of a case's classes, in nats."""
    total = 0.0
    for target in range(chances.shape[0]):
        if chances[target] > TINY:
            total -= chances[target] * np.log(chances[target])
    return total


@kernel
def compute_cell_entropy(posterior, chances, first, last):
    """Return the entropy of a feature's cell, of those from first to last.

    posterior: (n_classes,); chances: (n_cells, n_classes).
    """
    total = 0.0
    for cell in range(first, last):
        chance = 0.0
        for target in range(posterior.shape[0]):
            chance += posterior[target] * chances[cell, target]
        if chance > TINY:
            total -= chance * np.log(chance)
    return total


@kernel
def write_expected_falls(posterior, chances, spreads, cells, is_open, out_falls):
    """Write by how much each open feature's value lowers the entropy on average.

    posterior: (n_classes,); chances: (n_cells, n_classes); spreads: (n_features,
    n_classes), the entropy of a feature's cell in each class. out_falls: (n_features,),
    in nats, 0 of features that are not open. The fall is the mutual information of cell
    and class, which is symmetric: so it takes one logarithm a cell, not one a class.
    """
    for idx in range(is_open.shape[0]):
        out_falls[idx] = 0.0
        if is_open[idx]:
            first, last = cells.starts[idx], cells.starts[idx + 1]
            fall = compute_cell_entropy(posterior, chances, first, last)
            for target in range(posterior.shape[0]):
                fall -= posterior[target] * spreads[idx, target]
            out_falls[idx] = max(fall, 0.0)
