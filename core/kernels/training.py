"""Compiled steps of a boosting round: find the best stumps, reweight the rows.

Codes are uint8, one row per feature; `MISSING` marks a missing value. Weights are
signed: the weight of a row times its class (+1 or -1).
"""

import numpy as np
from numba import prange

from core.kernels.jit import kernel, parallel_kernel

MISSING = np.uint8(255)
N_HISTOGRAM = 256
BLOCK = 4
N_WORD = 8
BYTE = np.uint64(255)
ENCODE_BLOCK = 8


@parallel_kernel
def encode(values, cuts, cut_starts, out_codes):
    """Code every value by binary search among its feature's cuts.

    values: (n_samples, n_features); cuts: flat, those of feature f from
    cut_starts[f] to cut_starts[f + 1], ascending, at most 255. The code of a number is
    how many cuts lie below it, of a category its position. out_codes: (n_features,
    n_samples).
    """
    n_samples, n_features = values.shape
    n_blocks = (n_features + ENCODE_BLOCK - 1) // ENCODE_BLOCK
    for block in prange(n_blocks):
        start = block * ENCODE_BLOCK
        stop = min(start + ENCODE_BLOCK, n_features)
        # Padded to one length, the search takes the same steps for every value and
        # needs no branch; eight features share each line of the cache.
        tables = np.full((ENCODE_BLOCK, N_HISTOGRAM), np.inf)
        for feature_idx in range(start, stop):
            for idx in range(cut_starts[feature_idx], cut_starts[feature_idx + 1]):
                tables[feature_idx - start, idx - cut_starts[feature_idx]] = cuts[idx]
        for row in range(n_samples):
            for feature_idx in range(start, stop):
                value = values[row, feature_idx]
                table = tables[feature_idx - start]
                code = 0
                for power in range(7, -1, -1):
                    step = 1 << power
                    code += step * (table[code + step - 1] < value)
                out_codes[feature_idx, row] = MISSING if np.isnan(value) else code


@kernel
def add_block(codes, start, signed_weights, out_sums):
    """Sum signed weights by code for `BLOCK` features from `start` on.

    Eight codes of a feature are loaded as one word, lowest byte first (numba knows
    little-endian processors only); four features share each load of the weights, and
    their additions don't wait for one another. Every sum is taken in the order of the
    rows. out_sums: (BLOCK * N_HISTOGRAM,); of one dimension, so that the offset
    of a feature is a constant.
    """
    n_samples = signed_weights.shape[0]
    n_words = n_samples // N_WORD
    stop = n_words * N_WORD
    words_0 = codes[start, :stop].view(np.uint64)
    words_1 = codes[start + 1, :stop].view(np.uint64)
    words_2 = codes[start + 2, :stop].view(np.uint64)
    words_3 = codes[start + 3, :stop].view(np.uint64)
    for word in range(n_words):
        word_0 = words_0[word]
        word_1 = words_1[word]
        word_2 = words_2[word]
        word_3 = words_3[word]
        for byte in range(N_WORD):
            shift = np.uint64(8 * byte)
            weight = signed_weights[N_WORD * word + byte]
            out_sums[np.int64((word_0 >> shift) & BYTE)] += weight
            out_sums[N_HISTOGRAM + np.int64((word_1 >> shift) & BYTE)] += weight
            out_sums[2 * N_HISTOGRAM + np.int64((word_2 >> shift) & BYTE)] += weight
            out_sums[3 * N_HISTOGRAM + np.int64((word_3 >> shift) & BYTE)] += weight
    for row in range(stop, n_samples):
        for idx in range(BLOCK):
            code = np.int64(codes[start + idx, row])
            out_sums[N_HISTOGRAM * idx + code] += signed_weights[row]


@kernel
def add_one(feature_codes, signed_weights, out_sums):
    """Sum signed weights by code for one feature, in the order of `add_block`.

    feature_codes: (n_samples,); out_sums: (N_HISTOGRAM,).
    """
    for row in range(signed_weights.shape[0]):
        out_sums[feature_codes[row]] += signed_weights[row]


@kernel
def present_weight(feature_codes, signed_weights):
    """Sum the unsigned weights of the rows where a feature is not missing."""
    total = 0.0
    for row in range(signed_weights.shape[0]):
        if feature_codes[row] != MISSING:
            total += abs(signed_weights[row])
    return total


@kernel
def scan(sums, n_codes, is_category, out_edges, out_cuts, out_votes, feature_idx):
    """Find the stump of largest absolute edge from one feature's sums by code.

    sums: (N_HISTOGRAM,). A number is cut between two codes, a category at one
    code; the lowest cut wins a tie.
    """
    total = 0.0
    for code in range(n_codes):
        total += sums[code]
    best = 0.0
    best_cut = -1
    best_vote = 1
    below = 0.0
    for code in range(n_codes if is_category else n_codes - 1):
        here = sums[code]
        below += here
        # A category votes on its own sum against the rest, a number on the sum
        # above the cut against the sum below.
        edge = 2.0 * here - total if is_category else total - 2.0 * below
        if abs(edge) > best:
            best = abs(edge)
            best_cut = code
            best_vote = 1 if edge > 0.0 else -1
    out_edges[feature_idx] = best
    out_cuts[feature_idx] = best_cut
    out_votes[feature_idx] = best_vote


@kernel
def search_block(
    block,
    codes,
    n_codes,
    is_category,
    has_missing,
    signed_weights,
    out_edges,
    out_cuts,
    out_votes,
    out_presents,
):
    """Find the best stump on each feature of one block; see `best_stumps`."""
    start = block * BLOCK
    stop = min(start + BLOCK, codes.shape[0])
    sums = np.zeros(BLOCK * N_HISTOGRAM)
    if stop - start == BLOCK:
        add_block(codes, start, signed_weights, sums)
    else:
        for feature_idx in range(start, stop):
            first = (feature_idx - start) * N_HISTOGRAM
            add_one(
                codes[feature_idx], signed_weights, sums[first : first + N_HISTOGRAM]
            )
    for feature_idx in range(start, stop):
        first = (feature_idx - start) * N_HISTOGRAM
        scan(
            sums[first : first + N_HISTOGRAM],
            n_codes[feature_idx],
            is_category[feature_idx],
            out_edges,
            out_cuts,
            out_votes,
            feature_idx,
        )
        out_presents[feature_idx] = 1.0
        if has_missing[feature_idx]:
            out_presents[feature_idx] = present_weight(
                codes[feature_idx], signed_weights
            )


@kernel
def best_stumps(
    codes,
    n_codes,
    is_category,
    has_missing,
    signed_weights,
    out_edges,
    out_cuts,
    out_votes,
    out_presents,
):
    """Find the stump of largest absolute edge on every feature.

    codes: (n_features, n_samples); n_codes, is_category, has_missing:
    (n_features,); signed_weights: (n_samples,) with absolute sum 1. Outputs, all
    (n_features,): edge >= 0, cut code (-1: none), vote above the cut, and the
    weight of the rows where the feature is present.
    """
    for block in range((codes.shape[0] + BLOCK - 1) // BLOCK):
        search_block(
            block,
            codes,
            n_codes,
            is_category,
            has_missing,
            signed_weights,
            out_edges,
            out_cuts,
            out_votes,
            out_presents,
        )


@parallel_kernel
def best_stumps_parallel(
    codes,
    n_codes,
    is_category,
    has_missing,
    signed_weights,
    out_edges,
    out_cuts,
    out_votes,
    out_presents,
):
    """Do as `best_stumps` on all cores; the same result to the bit."""
    for block in prange((codes.shape[0] + BLOCK - 1) // BLOCK):
        search_block(
            np.int64(block),
            codes,
            n_codes,
            is_category,
            has_missing,
            signed_weights,
            out_edges,
            out_cuts,
            out_votes,
            out_presents,
        )


@kernel
def reweight(feature_codes, is_category, cut, vote, alpha, out_signed_weights):
    """Apply D(i) exp(-alpha y h(x)) and normalise; return the normaliser.

    feature_codes: (n_samples,) of the stump's feature. Missing rows keep their
    weight before the normalisation. out_signed_weights: (n_samples,), in place.
    """
    right = np.exp(-alpha)
    wrong = np.exp(alpha)
    n_samples = out_signed_weights.shape[0]
    total = 0.0
    for row in range(n_samples):
        code = feature_codes[row]
        weight = out_signed_weights[row]
        if code != MISSING:
            is_above = code == cut if is_category else code > cut
            is_up = is_above == (vote > 0)
            weight *= right if is_up == (weight > 0.0) else wrong
            out_signed_weights[row] = weight
        total += abs(weight)
    scale = 1.0 / total
    for row in range(n_samples):
        out_signed_weights[row] *= scale
    return total
