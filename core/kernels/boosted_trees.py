"""Compiled gradient boosting of small trees, and what they say of rows."""

from typing import NamedTuple

import numpy as np

from core.arrays import FloatArray, IntArray
from core.kernels.jit import kernel
from core.kernels.newton import (
    ABOVE,
    BELOW,
    IS_CATEGORY,
    KIND,
    MISSING_BELOW,
    N_ABOVE,
    N_BELOW,
    N_COARSE,
    READS,
    Pulls,
    TreeRoom,
    goes_below,
    grow_tree,
    leaf_of,
    score_of,
)

# Of the draws: Steele, Lea and Flood (2014), SplitMix64.
GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFT_1, SHIFT_2, SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)
TO_SHARE, N_SHARES = np.uint64(11), 2.0**53

# Stumps that are tried to show what a column is worth: of many the best is luck.
N_CUTS = 12


class ServedTrees(NamedTuple):
    """Trees as they are read from values, all in one."""

    #: (n_nodes, N_NODE), reading features; a child is a node, or -1 - s of a step
    nodes: IntArray
    #: (n_nodes,), what a number is compared to, or the code of a category
    cuts: FloatArray
    #: (n_trees,), as a child
    roots: IntArray
    #: (n_trees,), the output that each adds to
    outputs: IntArray
    #: of all leaves
    steps: FloatArray
    #: (n_nodes,), of the rows of training that came to it the share that went below
    shares: FloatArray


@kernel
def draw_shares(size, state):
    """Draw numbers from [0, 1) and move the state on; uint64 (1,).

    All at once: arrays wrap around silently, single numbers warn where uncompiled.
    """
    states = state + GAMMA * np.arange(size + 1).astype(np.uint64)
    state[0] = states[size]
    mixed = states[1:]
    mixed = (mixed ^ (mixed >> SHIFT_1)) * MIX_1
    mixed = (mixed ^ (mixed >> SHIFT_2)) * MIX_2
    mixed = mixed ^ (mixed >> SHIFT_3)
    return (mixed >> TO_SHARE).astype(np.float64) / N_SHARES


@kernel
def draw_some(share, state, out_is_drawn):
    """Draw a share of things without repetition, at least one."""
    size = out_is_drawn.shape[0]
    wanted = max(1, int(share * size + 0.5))
    shares = draw_shares(size, state)
    for idx in range(size):
        out_is_drawn[idx] = shares[idx] * (size - idx) < wanted
        wanted -= out_is_drawn[idx]


@kernel
def tell_chances(rows, scores, out_chances):
    """Write the chance of each output's class for some rows; (n_outputs, n_rows)."""
    n_outputs = scores.shape[0]
    for place in range(rows.shape[0]):
        row = rows[place]
        if n_outputs == 1:
            out_chances[0, row] = 1.0 / (1.0 + np.exp(-scores[0, row]))
            continue
        top = scores[0, row]
        for output in range(1, n_outputs):
            top = max(top, scores[output, row])
        total = 0.0
        for output in range(n_outputs):
            out_chances[output, row] = np.exp(scores[output, row] - top)
            total += out_chances[output, row]
        for output in range(n_outputs):
            out_chances[output, row] /= total


@kernel
def pull_rows(rows, chances, targets, weights, output, out_pulls):
    """Write what the log-loss of some rows falls by with an output's score."""
    n_outputs = chances.shape[0]
    factor = 1.0 if n_outputs == 1 else n_outputs / (n_outputs - 1.0)
    wanted = 1 if n_outputs == 1 else output
    for place in range(rows.shape[0]):
        row = rows[place]
        chance = chances[output, row]
        is_wanted = 1.0 if targets[row] == wanted else 0.0
        slope = weights[row] * factor * chance * (1.0 - chance)
        out_pulls.gradients[row] = weights[row] * (is_wanted - chance)
        out_pulls.slopes[row] = slope


@kernel
def boost_trees(table, targets, weights, growth, out_scores, out_trees):
    """Boost trees on the rows of positive weight; return the nodes of each.

    targets: (n_rows,), class positions; weights: (n_rows,), of mean about 1.
    out_scores: (n_outputs, n_rows), where boosting begins; moved on for every row, also
    for those without weight. out_trees: a `TreeRoom` whose nodes are (rounds,
    n_outputs, leaves - 1, N_NODE) and whose steps are (rounds, n_outputs, leaves).
    Returns (rounds, n_outputs), the number of nodes.

    Notes
    -----
    Friedman, Hastie and Tibshirani (2000), LogitBoost, on trees grown by the gain of
    Chen and Guestrin (2016), the best leaf first; of several classes one tree each, its
    slope times K/(K - 1).
    """
    n_outputs, n_rows = out_scores.shape
    state = np.full(1, np.uint64(growth.seed))
    is_open = np.ones(table.codes.shape[0], np.bool_)
    members = np.flatnonzero(weights > 0)
    is_drawn = np.ones(members.shape[0], np.bool_)
    pulls = Pulls(np.zeros(n_rows), np.zeros(n_rows))
    sizes = np.zeros((growth.rounds, n_outputs), np.int64)
    moves, chances = np.zeros((2, n_outputs, n_rows))
    for number in range(growth.rounds):
        if growth.row_share < 1.0:
            draw_some(growth.row_share, state, is_drawn)
        tell_chances(members, out_scores, chances)
        for output in range(n_outputs):
            if growth.column_share < 1.0:
                draw_some(growth.column_share, state, is_open)
            rows = members[is_drawn]
            pull_rows(rows, chances, targets, weights, output, pulls)
            nodes, steps = (
                out_trees.nodes[number, output],
                out_trees.steps[number, output],
            )
            tree = TreeRoom(nodes, steps, out_trees.gains)
            size = grow_tree(table, rows, pulls, growth, is_open, tree)
            sizes[number, output] = size
            for row in range(n_rows):
                moves[output, row] = steps[leaf_of(table, row, size, nodes)]
        out_scores += moves
    return sizes


@kernel
def add_tree(row_values, is_hidden, tree, trees, ways, weights, out_scores):
    """Add the step of the leaf that a row comes to.

    At a hidden feature it goes both ways, by their shares. ways, weights: room for
    those still to go, (n_nodes + 1,).
    """
    ways[0], weights[0], n_ways, step = trees.roots[tree], 1.0, 1, 0.0
    while n_ways > 0:
        n_ways -= 1
        here, weight = ways[n_ways], weights[n_ways]
        while here >= 0:
            node, cut = trees.nodes[here], trees.cuts[here]
            value = row_values[node[READS]]
            if is_hidden[node[READS]]:
                share = trees.shares[here]
                ways[n_ways], weights[n_ways] = node[ABOVE], weight * (1.0 - share)
                n_ways += 1
                is_below, weight = True, weight * share
            elif np.isnan(value):
                is_below = node[MISSING_BELOW] == 1
            elif node[KIND] == IS_CATEGORY:
                is_below = value == cut
            else:
                is_below = value <= cut
            here = node[BELOW] if is_below else node[ABOVE]
        step += weight * trees.steps[-1 - here]
    out_scores[trees.outputs[tree]] += step


@kernel
def add_trees(values, is_hidden, trees, out_scores):
    """Add the steps of the leaves that rows come to; (n_rows, n_outputs).

    values: (n_rows, n_features), NaN where missing; is_hidden: (n_features,), of which
    nothing is known in any row; trees: a `ServedTrees`.
    """
    ways = np.empty(trees.nodes.shape[0] + 1, np.int64)
    weights = np.empty(trees.nodes.shape[0] + 1)
    for row in range(values.shape[0]):
        for tree in range(trees.roots.shape[0]):
            add_tree(
                values[row], is_hidden, tree, trees, ways, weights, out_scores[row]
            )


@kernel
def step_both_ways(table, row, nodes, steps, is_hidden, ways, weights):
    """Return the mean step of a row that goes both ways at nodes of hidden columns.

    nodes: (n_nodes, N_NODE), at least one. ways, weights: room, (n_leaves,).
    """
    ways[0], weights[0], n_ways, step = 0, 1.0, 1, 0.0
    while n_ways > 0:
        n_ways -= 1
        here, weight = ways[n_ways], weights[n_ways]
        while here >= 0:
            node = nodes[here]
            is_below = goes_below(table.codes[node[READS], row], node)
            if is_hidden[node[READS]]:
                share = node[N_BELOW] / (node[N_BELOW] + node[N_ABOVE])
                ways[n_ways], weights[n_ways] = node[ABOVE], weight * (1.0 - share)
                n_ways += 1
                is_below, weight = True, weight * share
            here = node[BELOW] if is_below else node[ABOVE]
        step += weight * steps[-1 - here]
    return step


@kernel
def hide_columns(table, is_hidden, rows, sizes, trees, out_changes):
    """Write how the scores of rows change where columns are hidden.

    is_hidden: (n_columns,); rows: (n_some,), positions; sizes: (rounds, n_outputs), the
    nodes of each tree of `trees`, a `TreeRoom` as `boost_trees` fills it. out_changes:
    (n_some, n_outputs). Trees that read none of them are passed over.
    """
    n_leaves = trees.steps.shape[2]
    ways, weights = np.empty(n_leaves, np.int64), np.empty(n_leaves)
    out_changes[:] = 0.0
    for number in range(sizes.shape[0]):
        for output in range(sizes.shape[1]):
            size, steps = sizes[number, output], trees.steps[number, output]
            nodes = trees.nodes[number, output, :size]
            if not is_hidden[nodes[:, READS]].any():
                continue
            for place in range(rows.shape[0]):
                step = step_both_ways(
                    table, rows[place], nodes, steps, is_hidden, ways, weights
                )
                step -= steps[leaf_of(table, rows[place], size, nodes)]
                out_changes[place, output] += step


@kernel
def sum_halves(codes, half, gradients, slopes, out_sums):
    """Sum gradients and slopes by half and code; (2, N_COARSE, 2)."""
    out_sums[:] = 0.0
    for row in range(codes.shape[0]):
        out_sums[half[row], codes[row], 0] += gradients[row]
        out_sums[half[row], codes[row], 1] += slopes[row]


@kernel
def gain_of_stump(sums, n_codes, is_category, l2):
    """Return the most that a stump gains on sums by code, (N_COARSE, 2)."""
    gradient, slope = sums[:, 0].sum(), sums[:, 1].sum()
    base, most = score_of(gradient, slope, l2), 0.0
    stride = 1 if is_category else max(1, n_codes // N_CUTS)
    below = below_slope = 0.0
    for code in range(n_codes):
        if is_category:
            below = below_slope = 0.0
        below += sums[code, 0]
        below_slope += sums[code, 1]
        if (code + 1) % stride == 0:
            gain = score_of(below, below_slope, l2)
            gain += score_of(gradient - below, slope - below_slope, l2)
            most = max(most, gain - base)
    return most


@kernel
def find_stump_gains(table, pulls, halves, l2, split_cost, out_gains):
    """Find the gain of the best stump on each column, in halves of the rows or whole.

    pulls: gradients and slopes (n_outputs, n_rows), whose gains are summed. halves:
    (n_parts, n_rows), 0 or 1; from the second part on there is a stump in each half,
    which costs `split_cost`. out_gains: (n_columns,).
    """
    sums = np.empty((2, N_COARSE, 2))
    out_gains[:] = 0.0
    for column in range(table.codes.shape[0]):
        codes, n_codes = table.codes[column], table.n_codes[column]
        is_category = table.is_category[column]
        for part_idx in range(halves.shape[0]):
            gain = -split_cost if part_idx > 0 else 0.0
            for output in range(pulls.gradients.shape[0]):
                gradients, slopes = pulls.gradients[output], pulls.slopes[output]
                sum_halves(codes, halves[part_idx], gradients, slopes, sums)
                gain += gain_of_stump(sums[0], n_codes, is_category, l2)
                gain += gain_of_stump(sums[1], n_codes, is_category, l2)
            out_gains[column] = max(out_gains[column], gain)
