"""Compiled steps of a boosting round for votes of several outputs, or some rows.

Codes are uint8, one row per feature; `MISSING` marks a missing value. Weights are
signed, (n_samples, n_outputs): the weight of a row and class times +1 or -1.
"""

import numpy as np
from numba import prange

from core.kernels.jit import kernel, parallel_kernel

MISSING = np.uint8(255)

# Features that share their buffers, and are searched by one thread.
BLOCK = 16

# Columns of the array of nodes (see `core.model.paths.Paths`).
FEATURE, IS_CATEGORY, ABOVE, BELOW, HERE = range(5)


@kernel
def add_rows(feature_codes, rows, signed_weights, out_sums):
    """Sum signed weights by code and output for one feature, over some rows.

    feature_codes: (n_samples,); rows: (n_rows,); out_sums: (n_codes, n_outputs).
    """
    n_outputs = signed_weights.shape[1]
    for row in rows:
        code = feature_codes[row]
        if code != MISSING:
            for output in range(n_outputs):
                out_sums[code, output] += signed_weights[row, output]


@kernel
def count_rows(feature_codes, rows, out_counts):
    """Count rows by code for one feature; out_counts: (n_codes,)."""
    for row in rows:
        code = feature_codes[row]
        if code != MISSING:
            out_counts[code] += 1


@kernel
def present_weight(feature_codes, rows, signed_weights):
    """Sum the unsigned weights of the rows where a feature is not missing."""
    total = 0.0
    for row in rows:
        if feature_codes[row] != MISSING:
            for output in range(signed_weights.shape[1]):
                total += abs(signed_weights[row, output])
    return total


@kernel
def scan_outputs(sums, counts, is_category, votes_before, totals, below):
    """Find the stump of largest gain from one feature's sums by code.

    sums: (n_codes, n_outputs); counts: (n_codes,), how many rows have each code: of
    a leaf's some may have none, and a cut must have rows on both sides. votes_before:
    (n_outputs,), what the rows vote now; totals, below: (n_outputs,), overwritten.
    The gain is the edge sum |sum of weights on either side's vote| over the outputs,
    less that of the votes before. Returns the gain and the cut; 0 and -1 where there
    is none.
    """
    n_codes, n_outputs = sums.shape
    totals[:] = 0.0
    for code in range(n_codes):
        for output in range(n_outputs):
            totals[output] += sums[code, output]
    before = 0.0
    for output in range(n_outputs):
        before += votes_before[output] * totals[output]
    best = 0.0
    best_cut = -1
    below[:] = 0.0
    n_rows = counts.sum()
    n_below = 0
    for code in range(n_codes if is_category else n_codes - 1):
        edge = 0.0
        n_below = counts[code] if is_category else n_below + counts[code]
        for output in range(n_outputs):
            if is_category:
                below[output] = sums[code, output]
            else:
                below[output] += sums[code, output]
            edge += abs(totals[output] - 2.0 * below[output])
        if edge - before > best and 0 < n_below < n_rows:
            best = edge - before
            best_cut = code
    return best, best_cut


@kernel
def search_block(
    block,
    codes,
    n_codes,
    is_category,
    has_missing,
    feature_idxs,
    rows,
    signed_weights,
    votes_before,
    is_leaf,
    out_edges,
    out_cuts,
    out_presents,
):
    """Find the best stump on each feature of one block; see `best_output_stumps`."""
    n_outputs = signed_weights.shape[1]
    sums = np.empty((256, n_outputs))
    totals = np.empty(n_outputs)
    below = np.empty(n_outputs)
    counts = np.ones(256, np.int64)
    start = block * BLOCK
    for position in range(start, min(start + BLOCK, feature_idxs.shape[0])):
        f = feature_idxs[position]
        feature_sums = sums[: n_codes[f]]
        feature_sums[:] = 0.0
        add_rows(codes[f], rows, signed_weights, feature_sums)
        if is_leaf:
            counts[:] = 0
            count_rows(codes[f], rows, counts)
        out_edges[position], out_cuts[position] = scan_outputs(
            feature_sums,
            counts[: n_codes[f]],
            is_category[f],
            votes_before,
            totals,
            below,
        )
        out_presents[position] = 1.0
        if has_missing[f]:
            out_presents[position] = present_weight(codes[f], rows, signed_weights)


@kernel
def best_output_stumps(
    codes,
    n_codes,
    is_category,
    has_missing,
    feature_idxs,
    rows,
    signed_weights,
    votes_before,
    is_leaf,
    out_edges,
    out_cuts,
    out_presents,
):
    """Find, on each of some features, the stump of largest gain over some rows.

    codes: (n_features, n_samples); feature_idxs: (n_candidates,); rows: (n_rows,);
    votes_before: (n_outputs,), 0 for a first stump, whose gain is its edge.
    Outputs, all (n_candidates,): gain >= 0, cut code (-1: none), and the weight of
    the rows where the feature is present.
    """
    for block in range((feature_idxs.shape[0] + BLOCK - 1) // BLOCK):
        search_block(
            block,
            codes,
            n_codes,
            is_category,
            has_missing,
            feature_idxs,
            rows,
            signed_weights,
            votes_before,
            is_leaf,
            out_edges,
            out_cuts,
            out_presents,
        )


@parallel_kernel
def best_output_stumps_parallel(
    codes,
    n_codes,
    is_category,
    has_missing,
    feature_idxs,
    rows,
    signed_weights,
    votes_before,
    is_leaf,
    out_edges,
    out_cuts,
    out_presents,
):
    """Do as `best_output_stumps` on all cores; the same result to the bit."""
    for block in prange((feature_idxs.shape[0] + BLOCK - 1) // BLOCK):
        search_block(
            np.int64(block),
            codes,
            n_codes,
            is_category,
            has_missing,
            feature_idxs,
            rows,
            signed_weights,
            votes_before,
            is_leaf,
            out_edges,
            out_cuts,
            out_presents,
        )


@kernel
def sum_sides(feature_codes, is_category, cut, rows, signed_weights, out_sums):
    """Sum signed weights above the cut less those below it, by output.

    out_sums: (n_outputs,), 0 before; their signs are the best votes.
    """
    for row in rows:
        code = feature_codes[row]
        if code != MISSING:
            is_above = code == cut if is_category else code > cut
            for output in range(signed_weights.shape[1]):
                weight = signed_weights[row, output]
                out_sums[output] += weight if is_above else -weight


@kernel
def end_rows(codes, nodes, cuts, out_ends):
    """Follow every row through the nodes of one hypothesis to its vote.

    codes: (n_features, n_samples); nodes: (n_nodes, 5); cuts: (n_nodes,) as codes.
    out_ends: (n_samples,), positions of votes.
    """
    for row in range(codes.shape[1]):
        node = 0
        while node >= 0:
            code = codes[nodes[node, FEATURE], row]
            if code == MISSING:
                node = ~nodes[node, HERE]
            else:
                cut = cuts[node]
                is_above = code == cut if nodes[node, IS_CATEGORY] else code > cut
                node = nodes[node, ABOVE] if is_above else nodes[node, BELOW]
        out_ends[row] = ~node


@kernel
def reweight_outputs(ends, votes, alpha, out_signed_weights):
    """Apply D(i, l) exp(-alpha y_l h_l(x)) and normalise; return the normaliser.

    ends: (n_samples,), the vote of each row; votes: (n_votes, n_outputs), +1, -1 or
    0. out_signed_weights: (n_samples, n_outputs), in place.
    """
    right = np.exp(-alpha)
    wrong = np.exp(alpha)
    n_samples, n_outputs = out_signed_weights.shape
    total = 0.0
    for row in range(n_samples):
        end = ends[row]
        for output in range(n_outputs):
            vote = votes[end, output]
            weight = out_signed_weights[row, output]
            if vote != 0.0:
                weight *= right if (vote > 0.0) == (weight > 0.0) else wrong
                out_signed_weights[row, output] = weight
            total += abs(weight)
    scale = 1.0 / total
    for row in range(n_samples):
        for output in range(n_outputs):
            out_signed_weights[row, output] *= scale
    return total
