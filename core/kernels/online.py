"""Compiled online boosting: one row after the other, with a state of fixed size."""

from typing import NamedTuple

import numpy as np

from core.arrays import BallotArray, CodeArray, FloatArray, IntArray
from core.kernels.jit import kernel

# Positions in `OnlineState.facts`.
WEIGHT, SQUARES, SCALE = 0, 1, 2
# Positions in `OnlineState.counts`: learners, rows, rows since the last learner was
# added, and how many of those there are when the next one is looked for.
N_LEARNERS, N_ROWS, N_SINCE, N_LOOK = 0, 1, 2, 3
# The columns of `OnlineState.stumps`.
READS_FEATURE, CUT_CODE, EQUALS = 0, 1, 2
# A sum is only divided by so large a scale: long before it overflows.
MOST_SCALE = 1e100
# Before the first row there is no weight to divide by.
TINY = 1e-300


class OnlineState(NamedTuple):
    """Online boosting keeps this of the rows that it has learnt.

    `sums` (n_features, n_codes, n_outputs) are signed weights by code, `facts` the sum
    of the rows' weights, that of their squares, and the scale of both; all are divided
    by the scale, or its square, to be read. `stumps` (n_learners, 3), `votes`
    (n_learners, n_outputs), `alphas` and `slopes` (n_learners,), the sums of squared
    derivatives of each alpha, are those of the learners; `counts` are four numbers.
    """

    sums: FloatArray
    facts: FloatArray
    stumps: IntArray
    votes: BallotArray
    alphas: FloatArray
    slopes: FloatArray
    counts: IntArray


class OnlineRows(NamedTuple):
    """Rows to learn, as codes by feature, with the facts of each feature.

    `codes` (n_features, n_samples); a code that is not below `n_codes` is missing.
    `signed` (n_samples, n_outputs) are the rows' weights with the sign of each output.
    """

    codes: CodeArray
    n_codes: IntArray
    signed: FloatArray


@kernel
def learn_rows(rows, order, span, pace, out_state):
    """Learn rows in an order, until a stump is looked for; return the next position.

    span: the first position and the end; pace: the growth of the scale from row to
    row, and the rate of the alphas.
    """
    growth, rate = pace
    counts = out_state.counts
    sides = np.zeros(counts[N_LEARNERS])
    pulls = np.zeros(rows.signed.shape[1])
    for position in range(span[0], span[1]):
        row = order[position]
        weigh_row(rows, row, out_state, sides, pulls)
        move_alphas(sides, pulls, growth, rate, out_state)
        add_row(rows, row, pulls, growth, out_state)
        counts[N_ROWS] += 1
        counts[N_SINCE] += 1
        if counts[N_SINCE] == counts[N_LOOK]:
            return position + 1
    return span[1]


@kernel
def weigh_row(rows, row, state, out_sides, out_pulls):
    """Compute how each learner votes on a row, and the weight that the row then has.

    out_sides: +1 above a learner's cut, -1 below, 0 where the value is missing;
    out_pulls: the signed weight of each output, by the logistic loss.
    """
    out_pulls[:] = 0.0
    for learner in range(out_sides.size):
        feature = state.stumps[learner, READS_FEATURE]
        code, cut = rows.codes[feature, row], state.stumps[learner, CUT_CODE]
        side = 0.0
        if code < rows.n_codes[feature]:
            is_above = code == cut if state.stumps[learner, EQUALS] else code > cut
            side = 1.0 if is_above else -1.0
        out_sides[learner] = side
        for output in range(out_pulls.size):
            vote = state.votes[learner, output]
            out_pulls[output] += state.alphas[learner] * side * vote
    for output in range(out_pulls.size):
        signed = rows.signed[row, output]
        score = out_pulls[output] if signed > 0.0 else -out_pulls[output]
        out_pulls[output] = signed / (1.0 + np.exp(score))


@kernel
def move_alphas(sides, pulls, growth, rate, out_state):
    """Move each alpha down the derivative of the loss of a row (AdaGrad)."""
    for learner in range(sides.size):
        slope = 0.0
        for output in range(pulls.size):
            slope += pulls[output] * out_state.votes[learner, output]
        slope *= sides[learner]
        out_state.slopes[learner] = out_state.slopes[learner] / growth + slope * slope
        if slope != 0.0:
            step = rate * slope / np.sqrt(out_state.slopes[learner])
            out_state.alphas[learner] += step


@kernel
def add_row(rows, row, pulls, growth, out_state):
    """Add the weights of a row to the sums, on a scale that grows from row to row."""
    sums, facts = out_state.sums, out_state.facts
    facts[SCALE] *= growth
    if facts[SCALE] > MOST_SCALE:
        sums /= facts[SCALE]
        facts[WEIGHT] /= facts[SCALE]
        facts[SQUARES] /= facts[SCALE] * facts[SCALE]
        facts[SCALE] = 1.0
    scale = facts[SCALE]
    weight = 0.0
    for output in range(pulls.size):
        weight += abs(pulls[output]) * scale
    facts[WEIGHT] += weight
    facts[SQUARES] += weight * weight
    for feature in range(rows.n_codes.size):
        code = rows.codes[feature, row]
        if code >= rows.n_codes[feature]:
            continue
        for output in range(pulls.size):
            sums[feature, code, output] += pulls[output] * scale


class OnlineStumps(NamedTuple):
    """The best stump on each feature.

    `edges` (n_features,) are shares of the weight; `codes` (n_features,) those of the
    cuts; `gains` (n_features, n_outputs) the signed weight above less that below.
    """

    edges: FloatArray
    codes: IntArray
    gains: FloatArray


@kernel
def find_online_stumps(state, n_codes, is_category, out_found):
    """Find the best stump on each feature, by the weights of the rows so far."""
    n_outputs = state.sums.shape[2]
    total = np.empty(n_outputs)
    out_found.edges[:] = 0.0
    for feature in range(n_codes.size):
        sums = state.sums[feature]
        total[:] = 0.0
        for code in range(n_codes[feature]):
            total += sums[code]
        above = total.copy()
        # Above the last code of a number is nothing.
        n_cuts = n_codes[feature] - (0 if is_category[feature] else 1)
        for code in range(n_cuts):
            above = sums[code] if is_category[feature] else above - sums[code]
            gains = 2.0 * above - total
            edge = np.abs(gains).sum()
            if edge > out_found.edges[feature]:
                out_found.edges[feature], out_found.codes[feature] = edge, code
                out_found.gains[feature] = gains
    out_found.edges[:] /= max(state.facts[WEIGHT], TINY)
