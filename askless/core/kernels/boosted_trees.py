"""Compiled gradient boosting of small trees, and the gains of single columns."""

import numpy as np

from askless.core.kernels.jit import kernel
from askless.core.kernels.newton import (
    N_COARSE,
    Derivatives,
    TreeRoom,
    find_children,
    grow_tree,
    leaf_of,
    leaf_score,
    write_steps,
)

# Constants of SplitMix64 (Steele, Lea and Flood 2014).
GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFT_1, SHIFT_2, SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)
TO_SHARE, N_SHARES = np.uint64(11), 2.0**53

# Stumps that are tried per column: the best of many would be luck.
N_CUTS = 12


@kernel
def draw_shares(size, state):
    """Draw numbers from [0, 1) and advance the state, uint64 (1,), which wraps around.

    Callers silence the warning of uncompiled code.
    """
    shares, begin = np.empty(size), state[0]
    for idx in range(size):
        mixed = begin + GAMMA * np.uint64(idx + 1)
        mixed = (mixed ^ (mixed >> SHIFT_1)) * MIX_1
        mixed = (mixed ^ (mixed >> SHIFT_2)) * MIX_2
        mixed = mixed ^ (mixed >> SHIFT_3)
        shares[idx] = np.float64(mixed >> TO_SHARE) / N_SHARES
    state[0] = begin + GAMMA * np.uint64(size)
    return shares


@kernel
def draw_share(share, state, out_is_drawn):
    """Mark a random share of items as drawn, at least one."""
    size = out_is_drawn.shape[0]
    # Selection sampling: each item is drawn with chance n_left / (size - idx).
    n_left = max(1, int(share * size + 0.5))
    shares = draw_shares(size, state)
    for idx in range(size):
        # Each item waits for the one before, and whole numbers are compared faster.
        is_drawn = int(shares[idx] * (size - idx)) < n_left
        out_is_drawn[idx] = is_drawn
        n_left -= is_drawn


@kernel
def write_class_chances(rows, scores, out_chances):
    """Write class probabilities of some rows by output, (n_outputs, n_rows)."""
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
def write_gradients(rows, chances, targets, weights, output, out_pulls):
    """Write the derivatives of some rows' log-loss by an output's score."""
    n_outputs = chances.shape[0]
    # LogitBoost's K/(K - 1) for K classes; see `boost_trees`.
    factor = 1.0 if n_outputs == 1 else n_outputs / (n_outputs - 1.0)
    positive = 1 if n_outputs == 1 else output
    for place in range(rows.shape[0]):
        row = rows[place]
        chance = chances[output, row]
        target = 1.0 if targets[row] == positive else 0.0
        slope = weights[row] * factor * chance * (1.0 - chance)
        out_pulls.gradients[row] = weights[row] * (target - chance)
        out_pulls.slopes[row] = slope


@kernel
def write_moves(table, rows, nodes, steps, out_moves):
    """Write the step of the leaf that each of some rows ends in."""
    children = find_children(nodes)
    for row in rows:
        out_moves[row] = steps[leaf_of(table, row, nodes, children)]


@kernel
def boost_trees(table, targets, weights, growth, out_scores, out_trees):
    """Boost trees on the rows of positive weight; return each tree's number of nodes.

    targets: (n_rows,), class positions; weights: (n_rows,), of mean about 1.
    out_scores: (n_outputs, n_rows), the start; updated for every row, also for those
    without weight. out_trees: a `TreeRoom` whose nodes are (rounds,
    n_outputs, leaves - 1, N_NODE) and whose steps are (rounds, n_outputs, leaves).
    Returns int64 (rounds, n_outputs).

    Notes
    -----
    Friedman, Hastie and Tibshirani (2000), LogitBoost, on trees grown by the gain of
    Chen and Guestrin (2016), the best leaf first; of several classes one tree each, its
    slope times K/(K - 1).
    """
    n_outputs, n_rows = out_scores.shape
    state = np.full(1, np.uint64(growth.seed))
    is_open = np.ones(table.codes.shape[0], np.bool_)
    # Unsigned, so that no index needs a check for one below 0.
    members = np.flatnonzero(weights > 0).astype(np.uint64)
    others = np.flatnonzero(weights <= 0).astype(np.uint64)
    is_drawn = np.ones(members.shape[0], np.bool_)
    derivatives = Derivatives(np.zeros(n_rows), np.zeros(n_rows))
    sizes = np.zeros((growth.rounds, n_outputs), np.int64)
    moves, chances = np.zeros((2, n_outputs, n_rows))
    for number in range(growth.rounds):
        if growth.row_share < 1.0:
            draw_share(growth.row_share, state, is_drawn)
        write_class_chances(members, out_scores, chances)
        for output in range(n_outputs):
            if growth.column_share < 1.0:
                draw_share(growth.column_share, state, is_open)
            rows = members[is_drawn]
            write_gradients(rows, chances, targets, weights, output, derivatives)
            nodes, steps = (
                out_trees.nodes[number, output],
                out_trees.steps[number, output],
            )
            tree = TreeRoom(nodes, steps, out_trees.gains)
            bounds = grow_tree(table, rows, derivatives, growth, is_open, tree)
            size = bounds.shape[0] - 1
            sizes[number, output] = size
            write_steps(rows, derivatives, bounds, growth, steps, moves[output])
            undrawn = np.concatenate((members[~is_drawn], others))
            write_moves(table, undrawn, nodes[:size], steps, moves[output])
        # After all outputs, since a round's chances are those before it.
        for output in range(n_outputs):
            for row in range(n_rows):
                out_scores[output, row] += moves[output, row]
    return sizes


@kernel
def sum_halves(codes, half, gradients, slopes, out_sums):
    """Sum gradients and slopes by half and code, (2, N_COARSE, 2)."""
    out_sums[:] = 0.0
    for row in range(codes.shape[0]):
        out_sums[half[row], codes[row], 0] += gradients[row]
        out_sums[half[row], codes[row], 1] += slopes[row]


@kernel
def gain_of_stump(sums, n_codes, is_category, l2):
    """Return the largest gain of a stump on sums by code, (N_COARSE, 2)."""
    gradient, slope = sums[:, 0].sum(), sums[:, 1].sum()
    base, most = leaf_score(gradient, slope, l2), 0.0
    stride = 1 if is_category else max(1, n_codes // N_CUTS)
    below = below_slope = 0.0
    for code in range(n_codes):
        # A number's sums run up to the code; a category's are those of the code alone.
        if is_category:
            below = below_slope = 0.0
        below += sums[code, 0]
        below_slope += sums[code, 1]
        if (code + 1) % stride == 0:
            gain = leaf_score(below, below_slope, l2)
            gain += leaf_score(gradient - below, slope - below_slope, l2)
            most = max(most, gain - base)
    return most


@kernel
def write_stump_gains(table, derivatives, halves, l2, split_cost, out_gains):
    """Write the gain of the best stump on each column, on all rows or on halves.

    derivatives: (n_outputs, n_rows); the gains of outputs are summed. halves: (n_parts,
    n_rows), 0 or 1; from the second part on there is a stump in each half, which costs
    `split_cost`. out_gains: (n_columns,).
    """
    sums = np.empty((2, N_COARSE, 2))
    out_gains[:] = 0.0
    for column in range(table.codes.shape[0]):
        codes, n_codes = table.codes[column], table.n_codes[column]
        is_category = table.is_category[column]
        for part_idx in range(halves.shape[0]):
            gain = -split_cost if part_idx > 0 else 0.0
            for output in range(derivatives.gradients.shape[0]):
                gradients, slopes = (
                    derivatives.gradients[output],
                    derivatives.slopes[output],
                )
                sum_halves(codes, halves[part_idx], gradients, slopes, sums)
                gain += gain_of_stump(sums[0], n_codes, is_category, l2)
                gain += gain_of_stump(sums[1], n_codes, is_category, l2)
            out_gains[column] = max(out_gains[column], gain)
