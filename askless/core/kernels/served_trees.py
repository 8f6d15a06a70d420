"""Scores of rows by boosted trees, also where columns are hidden."""

from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.kernels.jit import kernel
from askless.core.kernels.newton import (
    ABOVE,
    BELOW,
    IS_CATEGORY,
    KIND,
    MISSING_BELOW,
    N_ABOVE,
    N_BELOW,
    READS,
    find_children,
    goes_below,
    leaf_of,
)


class ServedTrees(NamedTuple):
    """Trees that read values, joined into one set of arrays."""

    #: (n_nodes, N_NODE), reading features; a child is a node, or -1 - s of a step
    nodes: IntArray
    #: (n_nodes,), the threshold of a number, or the code of a category
    cuts: FloatArray
    #: (n_trees,), as a child
    roots: IntArray
    #: (n_trees,), the output that each adds to
    outputs: IntArray
    #: (n_leaves,), the steps of all leaves
    steps: FloatArray
    #: (n_nodes,), the share of the training rows at a node that went below
    shares: FloatArray


class WaysToGo(NamedTuple):
    """Room for the branches that a row has still to follow down a tree."""

    #: (n_most,), where each goes on
    places: IntArray
    #: (n_most,), the share of the row that goes there
    weights: FloatArray


@kernel
def add_tree(row_values, is_hidden, tree, trees, to_go, out_scores):
    """Add the step of the leaf that a row ends in.

    At a hidden feature the row goes both ways, in the shares of the training rows.
    to_go: room for n_nodes + 1.
    """
    ways, weights = to_go
    ways[0], weights[0], n_ways, step = trees.roots[tree], 1.0, 1, 0.0
    while n_ways > 0:
        n_ways -= 1
        node_idx, weight = ways[n_ways], weights[n_ways]
        while node_idx >= 0:
            node, cut = trees.nodes[node_idx], trees.cuts[node_idx]
            value = row_values[node[READS]]
            if is_hidden[node[READS]]:
                # The way above waits in `to_go`; the row now goes on below.
                share = trees.shares[node_idx]
                ways[n_ways], weights[n_ways] = node[ABOVE], weight * (1.0 - share)
                n_ways += 1
                is_below, weight = True, weight * share
            elif np.isnan(value):
                is_below = node[MISSING_BELOW] == 1
            elif node[KIND] == IS_CATEGORY:
                is_below = value == cut
            else:
                is_below = value <= cut
            node_idx = node[BELOW] if is_below else node[ABOVE]
        step += weight * trees.steps[-1 - node_idx]
    out_scores[trees.outputs[tree]] += step


@kernel
def add_trees(values, is_hidden, trees, out_scores):
    """Add the steps of the leaves that rows end in to the scores.

    values: (n_rows, n_features), NaN where missing; is_hidden: (n_features,), unknown
    in every row; trees: a `ServedTrees`. out_scores: (n_rows, n_outputs).
    """
    n_most = trees.nodes.shape[0] + 1
    to_go = WaysToGo(np.empty(n_most, np.int64), np.empty(n_most))
    for row in range(values.shape[0]):
        for tree in range(trees.roots.shape[0]):
            add_tree(values[row], is_hidden, tree, trees, to_go, out_scores[row])


@kernel
def mean_step(table, row, nodes, steps, is_hidden, to_go):
    """Return the mean step of a row that goes both ways at nodes of hidden columns.

    nodes: (n_nodes, N_NODE), at least one. to_go: room for n_leaves.
    """
    ways, weights = to_go
    ways[0], weights[0], n_ways, step = 0, 1.0, 1, 0.0
    while n_ways > 0:
        n_ways -= 1
        node_idx, weight = ways[n_ways], weights[n_ways]
        while node_idx >= 0:
            node = nodes[node_idx]
            is_below = goes_below(table.codes[node[READS], row], node)
            if is_hidden[node[READS]]:
                share = node[N_BELOW] / (node[N_BELOW] + node[N_ABOVE])
                ways[n_ways], weights[n_ways] = node[ABOVE], weight * (1.0 - share)
                n_ways += 1
                is_below, weight = True, weight * share
            node_idx = node[BELOW] if is_below else node[ABOVE]
        step += weight * steps[-1 - node_idx]
    return step


@kernel
def hiding_effects(table, is_hidden, rows, sizes, trees, out_changes):
    """Write by how much the scores of rows change if columns are hidden.

    is_hidden: (n_columns,); rows: uint64 (n_some,), positions; sizes: (rounds,
    n_outputs), the nodes of each tree of `trees`, a `TreeRoom` as `boost_trees` fills
    it. out_changes: (n_some, n_outputs). Trees that read no hidden column are skipped.
    """
    n_leaves = trees.steps.shape[2]
    to_go = WaysToGo(np.empty(n_leaves, np.int64), np.empty(n_leaves))
    out_changes[:] = 0.0
    for number in range(sizes.shape[0]):
        for output in range(sizes.shape[1]):
            size, steps = sizes[number, output], trees.steps[number, output]
            nodes = trees.nodes[number, output, :size]
            if not is_hidden[nodes[:, READS]].any():
                continue
            children = find_children(nodes)
            for place in range(rows.shape[0]):
                row = rows[place]
                step = mean_step(table, row, nodes, steps, is_hidden, to_go)
                step -= steps[leaf_of(table, row, nodes, children)]
                out_changes[place, output] += step
