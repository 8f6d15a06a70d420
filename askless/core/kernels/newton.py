"""Compiled growth of one small tree by second-order (Newton) steps."""

from typing import NamedTuple

import numpy as np

from askless.core.arrays import BoolArray, CodeArray, FloatArray, IntArray
from askless.core.kernels.jit import kernel

# Columns of a node: the column that it reads, the code that it cuts at, how it cuts,
# its children, and the number of training rows below and above.
READS, CODE, KIND, MISSING_BELOW, BELOW, ABOVE, N_BELOW, N_ABOVE = range(8)
N_NODE = 8
# Kinds of a node: the code or less is below; or only the code itself is.
IS_NUMBER, IS_CATEGORY = range(2)
# Codes of a column, and the place of a missing one.
N_COARSE = 64
LOST = N_COARSE - 1
# Of a histogram: gradients, their slopes and rows.
GRADIENT, SLOPE, ROWS = range(3)
N_SUMS = 3
LEAST_SLOPE = 1e-12
LEAST_GAIN = 1e-9


class CoarseTable(NamedTuple):
    """Rows as codes below `LOST`, which stands for a missing value."""

    #: (n_columns, n_rows)
    codes: CodeArray
    #: (n_columns,)
    n_codes: IntArray
    #: (n_columns,)
    is_category: BoolArray
    #: (n_columns,)
    has_missing: BoolArray


class Growth(NamedTuple):
    """Settings of the growth of trees."""

    rounds: int
    leaves: int
    #: learning rate: the factor of each leaf's step
    rate: float
    #: added to the sum of a leaf's slopes
    l2: float
    #: least number of rows of a leaf
    least_rows: int
    #: share of the rows that a round draws
    row_share: float
    #: share of the columns that a tree draws
    column_share: float
    seed: int


class Derivatives(NamedTuple):
    """Derivatives of the loss by each row's score: minus the first, and the second."""

    #: (n_rows,)
    gradients: FloatArray
    #: (n_rows,)
    slopes: FloatArray


class TreeRoom(NamedTuple):
    """Arrays that a tree is written to."""

    #: (leaves - 1, N_NODE); a child is a node, or -1 - s of the leaf s
    nodes: IntArray
    #: (leaves,)
    steps: FloatArray
    #: (n_columns,), to which the gains of its splits are added
    gains: FloatArray


@kernel
def leaf_score(gradient, slope, l2):
    """Return twice the amount by which a leaf of these sums lowers the loss."""
    return gradient * gradient / (slope + l2 + LEAST_SLOPE)


@kernel
def count_codes(table, column):
    """Return the greatest code of a column plus one; rare categories share the last."""
    return LOST if table.is_category[column] else table.n_codes[column]


@kernel
def sum_leaf(table, is_open, rows, derivatives, out_sums):
    """Sum gradients, slopes and rows by code of each open column.

    Column by column within a row: sums of one column after another would wait for one
    another where rows share a code.
    """
    for idx in np.flatnonzero(is_open):
        out_sums[idx, : count_codes(table, idx)] = 0.0
        out_sums[idx, LOST] = 0.0
    # Unsigned, so that no index needs a check for one below 0.
    columns = np.flatnonzero(is_open).astype(np.uint64)
    for place in range(rows.shape[0]):
        row = rows[place]
        gradient, slope = derivatives.gradients[row], derivatives.slopes[row]
        for column in columns:
            code = table.codes[column, row]
            out_sums[column, code, GRADIENT] += gradient
            out_sums[column, code, SLOPE] += slope
            out_sums[column, code, ROWS] += 1.0


@kernel
def add_sums(added, sums, code):
    """Add the sums of a code to others, as tuples, which cost nothing to make."""
    gradient, slope, rows = added
    return (
        gradient + sums[code, GRADIENT],
        slope + sums[code, SLOPE],
        rows + sums[code, ROWS],
    )


@kernel
def split_gain(below, total, base, growth):
    """Return the gain of a split, or 0 where a side has too few rows.

    base: the score of the leaf that is split.
    """
    gradient, slope, rows = below
    rest, rest_slope = total[GRADIENT] - gradient, total[SLOPE] - slope
    if min(rows, total[ROWS] - rows) < growth.least_rows:
        return 0.0
    return (
        leaf_score(gradient, slope, growth.l2)
        + leaf_score(rest, rest_slope, growth.l2)
        - base
    )


@kernel
def split_column(column, table, sums, leaf, growth, out_split):
    """Write the best split of a column if it gains more than the best; return the most.

    leaf: the sums of all codes, the score of the leaf and the best gain so far. Missing
    values go to the side where they gain more; where there are none, to the side of
    more rows.
    """
    total, base, best = leaf
    n_codes, is_category = table.n_codes[column], table.is_category[column]
    has_lost = sums[LOST, ROWS] > 0
    # As a number that is no literal: each literal would be a signature of its own.
    nothing, lost = (0.0, 0.0, 0.0), np.int64(LOST)
    below = nothing
    # A number has a cut less than codes: nothing is above its greatest code.
    for code in range(n_codes - (not is_category)):
        below = add_sums(nothing if is_category else below, sums, code)
        for with_lost in range(2 if has_lost else 1):
            side = add_sums(below, sums, lost) if with_lost else below
            gain = split_gain(side, total, base, growth)
            if gain > best:
                best = gain
                out_split[READS], out_split[CODE] = column, code
                out_split[KIND] = IS_CATEGORY if is_category else IS_NUMBER
                is_larger = not has_lost and 2 * side[ROWS] > total[ROWS]
                out_split[MISSING_BELOW] = with_lost == 1 or is_larger
    return best


@kernel
def sum_codes(table, column, sums):
    """Return the sums of all codes of a column: those of its leaf."""
    total = add_sums((0.0, 0.0, 0.0), sums, np.int64(LOST))
    for code in range(count_codes(table, column)):
        total = add_sums(total, sums, code)
    return total


@kernel
def choose_split(table, is_open, sums, growth, out_split):
    """Write the split of most gain and return it, 0 for none; first on a tie."""
    best = LEAST_GAIN
    # All columns have the same sums but for rounding; some column is open.
    first = np.argmax(is_open)
    total = sum_codes(table, first, sums[first])
    base = leaf_score(total[GRADIENT], total[SLOPE], growth.l2)
    for column in range(is_open.shape[0]):
        if is_open[column]:
            leaf = total, base, best
            best = split_column(column, table, sums[column], leaf, growth, out_split)
    return best if best > LEAST_GAIN else 0.0


@kernel
def goes_below(code, node):
    """Return whether a code goes below a node."""
    if code == LOST:
        return node[MISSING_BELOW] == 1
    if node[KIND] == IS_CATEGORY:
        return code == node[CODE]
    return code <= node[CODE]


@kernel
def partition_leaf(table, rows, node):
    """Reorder the rows of a leaf, those below its node first; return their number."""
    codes, is_below = table.codes[node[READS]], np.empty(N_COARSE, np.int64)
    for code in range(N_COARSE):
        is_below[code] = goes_below(code, node)
    # Read from a copy: to read what was written just now would wait.
    leaf_rows, above = rows.copy(), np.empty_like(rows)
    n_below, n_above = 0, 0
    # Each row is written to both sides and counted on one: nothing to guess.
    for row in leaf_rows:
        step = is_below[codes[row]]
        rows[n_below], above[n_above] = row, row
        n_below += step
        n_above += 1 - step
    for place in range(n_above):
        rows[n_below + place] = above[place]
    return n_below


@kernel
def write_steps(rows, derivatives, bounds, growth, out_steps, out_moves):
    """Write the Newton step of each leaf, and that of each of its rows.

    bounds: (n_leaves, 2), ranges of `rows`. out_moves: as long as all rows.
    """
    for leaf in range(bounds.shape[0]):
        gradient, slope = 0.0, 0.0
        leaf_rows = rows[bounds[leaf, 0] : bounds[leaf, 1]]
        for row in leaf_rows:
            gradient += derivatives.gradients[row]
            slope += derivatives.slopes[row]
        step = growth.rate * gradient / (slope + growth.l2 + LEAST_SLOPE)
        out_steps[leaf] = step
        for row in leaf_rows:
            out_moves[row] = step


@kernel
def grow_tree(table, rows, derivatives, growth, is_open, out_tree):
    """Grow a tree, splitting the leaf of largest gain first; return its leaves' bounds.

    rows: positions of the training rows, which are reordered by leaf; the bounds,
    (n_leaves, 2), are the ranges of each.

    A tree of three leaves; leaf 0 is everything at first::

        split 0 splits leaf 0: node 0, below it leaf 0, above it leaf 1
        split 1 splits leaf 1: node 1, below it leaf 1, above it leaf 2
        nodes: 0 (below -1, above 1), 1 (below -2, above -3)
    """
    n_leaves, n_columns = growth.leaves, table.codes.shape[0]
    sums = np.empty((n_leaves, n_columns, N_COARSE, N_SUMS))
    bounds = np.zeros((n_leaves, 2), np.int64)
    splits = np.zeros((n_leaves, N_NODE), np.int64)
    gains = np.zeros(n_leaves)
    # Where each leaf hangs: its node and side.
    hangs = np.full((n_leaves, 2), -1)
    bounds[0, 1] = rows.shape[0]
    sum_leaf(table, is_open, rows, derivatives, sums[0])
    gains[0] = choose_split(table, is_open, sums[0], growth, splits[0])
    node = 0
    while node < n_leaves - 1 and gains.max() > 0.0:
        leaf, other = np.argmax(gains), node + 1
        for part in range(N_NODE):
            out_tree.nodes[node, part] = splits[leaf, part]
        out_tree.gains[splits[leaf, READS]] += gains[leaf]
        # The first leaf hangs nowhere; its node is the root.
        if hangs[leaf, 0] >= 0:
            out_tree.nodes[hangs[leaf, 0], hangs[leaf, 1]] = node
        start, stop = bounds[leaf]
        middle = start + partition_leaf(table, rows[start:stop], out_tree.nodes[node])
        out_tree.nodes[node, N_BELOW] = middle - start
        out_tree.nodes[node, N_ABOVE] = stop - middle
        bounds[leaf, 1], bounds[other, 0], bounds[other, 1] = middle, middle, stop
        hangs[leaf, 0], hangs[leaf, 1] = node, BELOW
        hangs[other, 0], hangs[other, 1] = node, ABOVE
        out_tree.nodes[node, BELOW] = -1 - leaf
        out_tree.nodes[node, ABOVE] = -1 - other
        node += 1
        if node < n_leaves - 1:
            sum_new_leaves(
                table, is_open, rows, derivatives, (sums, bounds, leaf, other)
            )
            for leaf_idx in (leaf, other):
                gains[leaf_idx] = choose_split(
                    table, is_open, sums[leaf_idx], growth, splits[leaf_idx]
                )
    return bounds[: node + 1]


@kernel
def subtract_sums(sums, last, out_sums):
    """Subtract sums by code from others, for codes below `last` and for `LOST`."""
    for sum_idx in range(N_SUMS):
        out_sums[LOST, sum_idx] -= sums[LOST, sum_idx]
        for code in range(last):
            out_sums[code, sum_idx] -= sums[code, sum_idx]


@kernel
def copy_sums(sums, out_sums):
    """Copy sums (n_columns, n_codes, N_SUMS); as an assignment they compile slowly."""
    for column in range(sums.shape[0]):
        for code in range(sums.shape[1]):
            for sum_idx in range(N_SUMS):
                out_sums[column, code, sum_idx] = sums[column, code, sum_idx]


@kernel
def sum_new_leaves(table, is_open, rows, derivatives, leaves):
    """Sum the smaller of two new leaves; the larger is the parent less the smaller."""
    sums, bounds, leaf, other = leaves
    sizes = bounds[:, 1] - bounds[:, 0]
    small, large = (leaf, other) if sizes[leaf] <= sizes[other] else (other, leaf)
    leaf_rows = rows[bounds[small, 0] : bounds[small, 1]]
    if small == leaf:
        copy_sums(sums[leaf], sums[other])
    sum_leaf(table, is_open, leaf_rows, derivatives, sums[small])
    for column in range(is_open.shape[0]):
        if is_open[column]:
            last = count_codes(table, column)
            subtract_sums(sums[small, column], last, sums[large, column])


@kernel
def find_children(nodes):
    """Return the child of each node by the code that it reads; (n_nodes, N_COARSE)."""
    children = np.empty((nodes.shape[0], N_COARSE), np.int64)
    for node_idx in range(nodes.shape[0]):
        node = nodes[node_idx]
        for code in range(N_COARSE):
            children[node_idx, code] = node[BELOW if goes_below(code, node) else ABOVE]
    return children


@kernel
def leaf_of(table, row, nodes, children):
    """Return the leaf that a row ends in; `children` are those of `find_children`."""
    # A tree without nodes is the leaf 0, whose child number is -1.
    node_idx = 0 if nodes.shape[0] > 0 else -1
    while node_idx >= 0:
        node_idx = children[node_idx, table.codes[nodes[node_idx, READS], row]]
    return -1 - node_idx
