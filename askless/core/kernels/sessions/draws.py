"""Draws of hypotheses in proportion to alpha, and their votes."""

import numpy as np

from askless.core.kernels.jit import kernel
from askless.core.kernels.sessions.paths import vote_at

# Philox 4x64: what words are multiplied by, and what is added to the key each round.
FACTORS = np.array([0xD2E7470EE14C6C93, 0xCA5A826395121157], np.uint64)
STEPS = np.array([0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B], np.uint64)
N_ROUNDS = 10
N_WORDS = 4
HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
# Of 64 bits a double in [0, 1) has the upper 53.
SHIFT = np.uint64(11)
UNIT = 1.0 / (1 << 53)


@kernel
def high_word(factor, other):
    """Return the upper half of the 128 bits of a product of two uint64."""
    low, high = factor & LOW, factor >> HALF
    other_low, other_high = other & LOW, other >> HALF
    middle = high * other_low + ((low * other_low) >> HALF)
    cross = low * other_high + (middle & LOW)
    return high * other_high + (middle >> HALF) + (cross >> HALF)


@kernel
def draw_uniforms(seed, streams, is_drawn, start, out):
    """Write numbers in [0, 1) from `start` on, each row from its own stream.

    The generator is Philox 4x64-10 (Salmon et al. 2011) with the key (seed, stream);
    the numbers are those of numpy's `Generator(Philox(key=...)).random()`. streams:
    uint64 (n_rows,); is_drawn: (n_rows,), other rows are skipped; start: a multiple of
    4, as is n_draws; out: (n_rows, n_draws). Integers wrap, of which uncompiled numpy
    would warn.
    """
    # numpy advances the counter before each block, so that its first one is 1.
    first = np.uint64(start // N_WORDS + 1)
    for row in range(out.shape[0]):
        if not is_drawn[row]:
            continue
        for block in range(out.shape[1] // N_WORDS):
            one, two = first + np.uint64(block), np.uint64(0)
            three, four = np.uint64(0), np.uint64(0)
            key, other_key = seed, streams[row]
            for _ in range(N_ROUNDS):
                upper = high_word(FACTORS[0], one)
                lower = FACTORS[0] * one
                other_upper = high_word(FACTORS[1], three)
                other_lower = FACTORS[1] * three
                one, two = other_upper ^ two ^ key, other_lower
                three, four = upper ^ four ^ other_key, lower
                key, other_key = key + STEPS[0], other_key + STEPS[1]
            place = N_WORDS * block
            out[row, place] = (one >> SHIFT) * UNIT
            out[row, place + 1] = (two >> SHIFT) * UNIT
            out[row, place + 2] = (three >> SHIFT) * UNIT
            out[row, place + 3] = (four >> SHIFT) * UNIT


@kernel
def draw_hypothesis(uniform, alpha_sums):
    """Return the hypothesis that a number in [0, 1) draws, each by alpha/sum(alpha)."""
    h = np.searchsorted(alpha_sums, uniform * alpha_sums[-1], side="right") - 1
    # By rounding the product may reach the last sum.
    return min(h, alpha_sums.shape[0] - 2)


@kernel
def first_waiting_draw(uniforms, n_done, alpha_sums, waiting_for):
    """Return the first draw whose hypothesis waits for a feature, and that hypothesis.

    uniforms: (n_draws,) in [0, 1), of which the first `n_done` are skipped;
    waiting_for: (n_hypotheses,), the feature or -1. The draw is a position in
    `uniforms`; -1 twice if no hypothesis waits.
    """
    for position in range(n_done, uniforms.shape[0]):
        h = draw_hypothesis(uniforms[position], alpha_sums)
        if waiting_for[h] >= 0:
            return position, h
    return -1, -1


@kernel
def tally_draws(uniforms, alpha_sums, ends, paths, out_votes):
    """Sum the votes of the drawn hypotheses, +1 or -1 each, as far as values are known.

    uniforms: (n_draws,); ends: (n_hypotheses,), as from `follow_path`. out_votes:
    (n_outputs,), 0 before. Returns how many draws have a vote, and the alpha of all
    hypotheses that have one, drawn or not.
    """
    _, nodes, _, weighted_votes, alphas = paths
    counts = np.zeros(ends.shape[0], np.int64)
    for uniform in uniforms:
        counts[draw_hypothesis(uniform, alpha_sums)] += 1
    n_voted = 0
    known = 0.0
    for h in range(ends.shape[0]):
        vote = vote_at(ends[h], nodes)
        if vote > 0:
            n_voted += counts[h]
            known += alphas[h]
            for output in range(out_votes.shape[0]):
                out_votes[output] += counts[h] * np.sign(weighted_votes[vote, output])
    return n_voted, known
