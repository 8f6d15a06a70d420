"""Draws of hypotheses in proportion to alpha, and their votes."""

import numpy as np

from core.kernels.jit import kernel
from core.kernels.paths import vote_at


@kernel
def draw(uniform, alpha_sums):
    """Hypothesis that a number in [0, 1) draws, with probability alpha/sum(alpha)."""
    h = np.searchsorted(alpha_sums, uniform * alpha_sums[-1], side="right") - 1
    return min(h, alpha_sums.shape[0] - 2)


@kernel
def find_asking(uniforms, n_done, alpha_sums, waiting_for):
    """Position of the first draw whose hypothesis waits for a feature, and which it is.

    uniforms: (n_draws,) in [0, 1), of which `n_done` are done with; waiting_for:
    (n_hypotheses,), the feature or -1. Returns -1 twice if none does.
    """
    for position in range(n_done, uniforms.shape[0]):
        h = draw(uniforms[position], alpha_sums)
        if waiting_for[h] >= 0:
            return position, h
    return -1, -1


@kernel
def tally_draws(uniforms, alpha_sums, ends, paths, out_votes):
    """Count the votes of what is drawn, +1 or -1 each, as far as values are known.

    uniforms: (n_draws,); ends: (n_hypotheses,), as from `follow`. out_votes:
    (n_outputs,), 0 before. Returns how many draws have a vote, and the alpha of all
    hypotheses that have one, drawn or not.
    """
    _, nodes, _, weighted_votes, alphas = paths
    counts = np.zeros(ends.shape[0], np.int64)
    for uniform in uniforms:
        counts[draw(uniform, alpha_sums)] += 1
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
