"""Interpolate class-conditional tables between simple ones, by their counts alone."""

import numpy as np

from askless.core.kernels.jit import kernel
from askless.core.kernels.tables import TINY

# A number of fewer bins is neither smoothed nor given bells.
LEAST_SMOOTHED = 5

# Tables that are mixed: own, three smoothed, two bells, pooled, uniform, parent's.
N_MIXED = 9

# Passes of the smoother (1/4, 1/2, 1/4) after which a table is taken; of a quick one.
# As arrays: each literal would give the smoother a signature of its own.
PASSES, QUICK_PASSES = np.array([1, 3, 8]), np.array([3])

# Least variance of a bell, and bounds of its exponent.
LEAST_VARIANCE, MOST_EXPONENT = 0.01, 30.0

# Least chance of a cell, the rows that each weight begins with, and the rows that the
# parent's shares and tables count for.
FLOOR, START_ROWS, SHARE_ROWS, PARENT_ROWS = 1e-5, 0.5, 3.0, 10.0


@kernel
def smooth_counts(counts, n_bins, n_passes, out_smoothed):
    """Share the counts of a number with adjacent bins, reflected at the ends.

    counts: (n_cells, n_classes), of which the first n_bins are smoothed into
    out_smoothed: (n_bins, n_classes). Each pass weighs (1/4, 1/2, 1/4).
    """
    for target in range(counts.shape[1]):
        for place in range(n_bins):
            out_smoothed[place, target] = counts[place, target]
        for _ in range(n_passes):
            before = out_smoothed[0, target]
            for place in range(n_bins):
                smoothed = out_smoothed[place, target]
                after = out_smoothed[min(place + 1, n_bins - 1), target]
                out_smoothed[place, target] = 0.25 * (before + after) + 0.5 * smoothed
                before = smoothed


@kernel
def shrink_tables(counts, cells, parent, out_chances):
    """Write quick tables: smoothed counts drawn to the parent's table by ten rows.

    counts, parent, out_chances: (n_cells, n_classes). It ranks gates.
    """
    n_classes = counts.shape[1]
    for idx in range(cells.is_category.shape[0]):
        first, last = cells.starts[idx], cells.starts[idx + 1]
        n_bins = last - first - int(cells.has_missing[idx])
        smoothed = counts[first:last].copy()
        if not cells.is_category[idx] and n_bins >= LEAST_SMOOTHED:
            smooth_counts(counts[first:last], n_bins, QUICK_PASSES[0], smoothed)
        for target in range(n_classes):
            total = smoothed[:, target].sum() + PARENT_ROWS
            for place in range(last - first):
                drawn = PARENT_ROWS * parent[first + place, target]
                chance = (smoothed[place, target] + drawn) / total
                out_chances[first + place, target] = max(chance, FLOOR)


@kernel
def bell_variance(sums, target):
    """Return mean and variance of a class; sums: (n_classes, 3), n, sum z, sum z^2."""
    n, s1, s2 = sums[target]
    mean = s1 / (n + 1.0)
    return mean, (s2 - 2.0 * mean * s1 + n * mean * mean + 1.0) / (n + 1.0)


@kernel
def common_variance(sums):
    """Return the mean variance of the classes, weighted by their rows."""
    total, rows = 0.0, 0.0
    for target in range(sums.shape[0]):
        _, variance = bell_variance(sums, target)
        n = max(sums[target, 0], 1e-3)
        total, rows = total + n * variance, rows + n
    return total / rows


@kernel
def bell_height(z, mean, variance):
    """Return the ratio of a normal density to the standard one."""
    variance = max(variance, LEAST_VARIANCE)
    exponent = 0.5 * z * z - 0.5 * (z - mean) ** 2 / variance
    exponent = min(max(exponent, -MOST_EXPONENT), MOST_EXPONENT)
    return np.exp(exponent) / np.sqrt(variance)


@kernel
def write_bells(counts, scores, is_own, out_whole, out_left):
    """Write the bell of each class over the bins of a number.

    counts: (n_bins, n_classes); scores: (n_bins,), normal scores of the bins. Each
    class has its own variance if is_own, else all have one. out_whole and out_left:
    (n_bins, n_classes), the chances by all rows, and without one row of that cell.
    """
    n_bins, n_classes = counts.shape
    sums = np.zeros((n_classes, 3))
    totals = np.zeros(n_bins)
    for place in range(n_bins):
        z = scores[place]
        for target in range(n_classes):
            count = counts[place, target]
            totals[place] += count
            sums[target, 0] += count
            sums[target, 1] += count * z
            sums[target, 2] += count * z * z
    shared = common_variance(sums)
    for target in range(n_classes):
        mean, variance = bell_variance(sums, target)
        norm = 0.0
        for place in range(n_bins):
            height = bell_height(scores[place], mean, variance if is_own else shared)
            out_whole[place, target] = totals[place] * height
            norm += out_whole[place, target]
        n, s1, s2 = sums[target]
        for place in range(n_bins):
            z = scores[place]
            sums[target, 0] = max(n - 1.0, 0.0)
            sums[target, 1] = s1 - z
            sums[target, 2] = max(s2 - z * z, 0.0)
            mean, variance = bell_variance(sums, target)
            if not is_own:
                variance = common_variance(sums)
            height = bell_height(z, mean, variance)
            out_left[place, target] = totals[place] * height / max(norm, TINY)
            out_whole[place, target] /= max(norm, TINY)
        sums[target, 0], sums[target, 1], sums[target, 2] = n, s1, s2


@kernel
def add_responsibilities(count, left, weights, shares, out_gained):
    """Add the rows of one cell and class to the tables that explain them.

    left, weights: (n_mixed,); shares: room for as many.
    """
    total = 0.0
    for number in range(left.shape[0]):
        shares[number] = weights[number] * left[number]
        total += shares[number]
    factor = count / max(total, TINY)
    for number in range(left.shape[0]):
        out_gained[number] += shares[number] * factor


@kernel
def fit_mixture_weights(counts, left, n_steps, out_weights):
    """Fit the weights of mixed tables by steps of EM: deleted interpolation.

    counts: (n_cells, n_classes); left: (n_cells, n_classes, n_mixed), the chance of a
    row of each cell by each table without the row. out_weights: (n_mixed,), equal at
    first; the likelihood of the rows that are left out is maximised.
    """
    n_mixed = out_weights.shape[0]
    out_weights[:] = 1.0 / n_mixed
    gained, shares = np.empty(n_mixed), np.empty(n_mixed)
    for _ in range(n_steps):
        gained[:] = START_ROWS
        for cell in range(counts.shape[0]):
            for target in range(counts.shape[1]):
                count = counts[cell, target]
                add_responsibilities(
                    count, left[cell, target], out_weights, shares, gained
                )
        total = gained.sum()
        for number in range(n_mixed):
            out_weights[number] = gained[number] / total


@kernel
def self_share(n_bins, place, n_passes):
    """Return the share of a bin that the smoother leaves in it; 1 past the bins."""
    if place >= n_bins:
        return 1.0
    unit, spread = np.zeros((n_bins, 1)), np.empty((n_bins, 1))
    unit[place] = 1.0
    smooth_counts(unit, n_bins, n_passes, spread)
    return spread[place, 0]


@kernel
def add_own_table(counts, n_bins, n_passes, out_whole, out_left):
    """Write the table of a class's own counts, smoothed so many times.

    counts: those of one feature. out_whole, out_left: (n_cells, n_classes), by all
    rows, and without one row of the cell. A row that is left out takes its own share of
    the smoother with it.
    """
    n_cells, n_classes = counts.shape
    smoothed = counts.copy()
    smooth_counts(counts, n_bins, n_passes, smoothed)
    for place in range(n_cells):
        own = self_share(n_bins, place, n_passes)
        for target in range(n_classes):
            total = counts[:, target].sum()
            count = smoothed[place, target]
            out_whole[place, target] = count / max(total, 1.0)
            count_left = max(count - own, 0.0)
            out_left[place, target] = count_left / max(total - 1.0, 1.0)


@kernel
def leave_to_missing(n_bins, lost, out_table):
    """Leave a share of each class to the missing cell, which stands past the bins."""
    for place in range(out_table.shape[0]):
        for target in range(out_table.shape[1]):
            if place < n_bins:
                out_table[place, target] *= 1.0 - lost
            else:
                out_table[place, target] = lost


@kernel
def add_bells(counts, n_bins, scores, out_whole, out_left):
    """Write two tables of bells, of one variance and of one by class.

    counts: (n_cells, n_classes) of one feature; a missing cell has its pooled chance.
    out_whole, out_left: (2, n_cells, n_classes).
    """
    lost = counts[n_bins:].sum() / max(counts.sum(), TINY)
    for number in range(2):
        whole, left = out_whole[number], out_left[number]
        write_bells(counts[:n_bins], scores, number == 1, whole, left)
        leave_to_missing(n_bins, lost, whole)
        leave_to_missing(n_bins, lost, left)


@kernel
def add_pooled_table(counts, out_whole, out_left):
    """Write the table of all classes together, by all rows and without one."""
    n_cells = counts.shape[0]
    total = counts.sum() + 0.5 * n_cells
    for place in range(n_cells):
        pooled = counts[place].sum() + 0.5
        out_whole[place] = pooled / total
        out_left[place] = max(pooled - 1.0, 0.0) / max(total - 1.0, 1.0)


@kernel
def copy_table(table, out_table):
    """Copy a table (n_cells, n_classes); as an assignment it compiles slowly."""
    for place in range(table.shape[0]):
        for target in range(table.shape[1]):
            out_table[place, target] = table[place, target]


@kernel
def write_component_tables(counts, n_bins, bins, parent, out_whole, out_left):
    """Write the tables of a feature that are mixed; return how many there are.

    counts, parent: (n_cells, n_classes), parent of no cells where there is none; bins:
    normal scores, of no bin where nothing is smoothed. out_whole, out_left: (N_MIXED,
    n_cells, n_classes).
    """
    add_own_table(counts, n_bins, np.int64(0), out_whole[0], out_left[0])
    n_mixed = 1
    if bins.shape[0] > 0:
        for n_passes in PASSES:
            whole, left = out_whole[n_mixed], out_left[n_mixed]
            add_own_table(counts, n_bins, n_passes, whole, left)
            n_mixed += 1
        add_bells(counts, n_bins, bins, out_whole[n_mixed:], out_left[n_mixed:])
        n_mixed += 2
    add_pooled_table(counts, out_whole[n_mixed], out_left[n_mixed])
    out_whole[n_mixed + 1] = 1.0 / counts.shape[0]
    out_left[n_mixed + 1] = 1.0 / counts.shape[0]
    n_mixed += 2
    if parent.shape[0] > 0:
        copy_table(parent, out_whole[n_mixed])
        copy_table(parent, out_left[n_mixed])
        n_mixed += 1
    return n_mixed


@kernel
def order_by_cell(tables, out_by_cell):
    """Put what tables say of one cell side by side: (n_cells, n_classes, n_mixed)."""
    n_cells, n_classes, n_mixed = out_by_cell.shape
    for place in range(n_cells):
        for target in range(n_classes):
            for number in range(n_mixed):
                out_by_cell[place, target, number] = tables[number, place, target]


@kernel
def add_weighted_tables(weights, tables, out_chances):
    """Write the weighted sum of tables, at least FLOOR.

    weights: (n_mixed,), of the first tables (N_MIXED, n_cells, n_classes). As an
    expression of arrays it takes seconds to compile.
    """
    n_cells, n_classes = out_chances.shape
    for place in range(n_cells):
        for target in range(n_classes):
            chance = 0.0
            for number in range(weights.shape[0]):
                chance += weights[number] * tables[number, place, target]
            out_chances[place, target] = max(chance, FLOOR)


@kernel
def mix_tables(counts, cells, scores, parent, n_steps, out_chances):
    """Write interpolated tables: of each feature a mixture of simple ones.

    counts: (n_cells, n_classes); scores: (n_cells,), normal scores of the bins of
    numbers; parent: (n_cells, n_classes), or of no cells where there is none.
    out_chances: (n_cells, n_classes), the chance of each cell given the class.
    """
    n_classes = counts.shape[1]
    for idx in range(cells.is_category.shape[0]):
        first, last = cells.starts[idx], cells.starts[idx + 1]
        n_bins = last - first - int(cells.has_missing[idx])
        is_smooth = not cells.is_category[idx] and n_bins >= LEAST_SMOOTHED
        bins = scores[first : first + (n_bins if is_smooth else 0)]
        whole = np.empty((N_MIXED, last - first, n_classes))
        left = np.empty((N_MIXED, last - first, n_classes))
        cell_counts, above = counts[first:last], parent[first:last]
        n_mixed = write_component_tables(cell_counts, n_bins, bins, above, whole, left)
        by_cell = np.empty((last - first, n_classes, n_mixed))
        order_by_cell(left, by_cell)
        weights = np.empty(n_mixed)
        fit_mixture_weights(cell_counts, by_cell, n_steps, weights)
        add_weighted_tables(weights, whole, out_chances[first:last])
