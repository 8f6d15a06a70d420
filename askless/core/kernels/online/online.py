"""Compiled online boosting: one row after the other, with a state of fixed size."""

import numpy as np

from askless.core.kernels.jit import kernel
from askless.core.kernels.online.online_records import (
    BIN_WEIGHT,
    EQUALS,
    LEAST,
    MEAN,
    MOST,
    MOST_ALPHA,
    MOST_SCALE,
    MOST_SCORE,
    N_LEARNERS,
    N_LOOK,
    N_ROWS,
    N_SINCE,
    READS_FEATURE,
    ROWS_PER_CUT,
    SCALE,
    TINY,
    WEIGHT,
)


@kernel
def learn_rows(rows, span, pace, out_state, out_told):
    """Learn rows, until a stump is looked for or cuts adapt; return the next position.

    span: the first position and the end; out_told: the scores (n_samples, n_outputs)
    of each row before it was learnt, and the shares (n_samples,) of alpha that voted.
    """
    out_scores, out_shares = out_told
    counts = out_state.counts
    n_speeds, n_outputs = out_state.alphas.shape[0], rows.signed.shape[1]
    sides = np.zeros(counts[N_LEARNERS])
    shares = np.zeros(n_speeds)
    pulls = np.zeros((n_speeds + 1, n_outputs))
    for row in range(span[0], span[1]):
        compute_speed_shares(out_state.losses, shares)
        weigh_row(rows.values[row], out_state, shares, sides, pulls)
        for output in range(n_outputs):
            out_scores[row, output] = pulls[n_speeds, output]
        out_shares[row] = compute_voting_share(out_state.alphas, shares, sides)
        compute_signed_weights(rows.signed[row], pace.patience, pulls, out_state.losses)
        update_alphas(sides, pulls, pace, out_state)
        add_row(rows.values[row], rows.signed[row], pulls[n_speeds], pace, out_state)
        counts[N_ROWS] += 1
        counts[N_SINCE] += 1
        if counts[N_SINCE] == counts[N_LOOK] or counts[N_ROWS] % ROWS_PER_CUT == 0:
            return row + 1
    return span[1]


@kernel
def compute_speed_shares(losses, out_shares):
    """Compute the share of each speed: the exponential of its loss, taken away."""
    least = losses.min()
    total = 0.0
    for speed in range(losses.size):
        out_shares[speed] = np.exp(least - losses[speed])
        total += out_shares[speed]
    for speed in range(losses.size):
        out_shares[speed] /= total


@kernel
def weigh_row(values, state, shares, out_sides, out_scores):
    """Compute how each learner votes on a row, and the scores by each speed.

    out_sides: +1 above a learner's cut, -1 below, 0 where the value is missing;
    out_scores (n_speeds + 1, n_outputs): the last is that of all speeds, mixed.
    """
    n_speeds = shares.size
    out_scores[:] = 0.0
    for learner in range(out_sides.size):
        feature = state.stumps[learner, READS_FEATURE]
        value, cut = values[feature], state.thresholds[learner]
        is_category = state.stumps[learner, EQUALS] == 1
        side = 0.0
        if value == value and not (is_category and value < 0.0):
            is_above = value == cut if is_category else value > cut
            side = 1.0 if is_above else -1.0
        out_sides[learner] = side
        if side == 0.0:
            continue
        for speed in range(n_speeds):
            vote = state.alphas[speed, learner] * side
            for output in range(out_scores.shape[1]):
                out_scores[speed, output] += vote * state.votes[learner, output]
    for speed in range(n_speeds):
        for output in range(out_scores.shape[1]):
            out_scores[n_speeds, output] += shares[speed] * out_scores[speed, output]


@kernel
def compute_voting_share(alphas, shares, sides):
    """Return the share of the learners' |alpha| that votes; 0 without learners."""
    total, voting = 0.0, 0.0
    for learner in range(sides.size):
        alpha = 0.0
        for speed in range(shares.size):
            alpha += shares[speed] * alphas[speed, learner]
        total += abs(alpha)
        voting += abs(alpha * sides[learner])
    return voting / total if total > 0.0 else 0.0


@kernel
def compute_signed_weights(signed, patience, out_pulls, out_losses):
    """Replace scores by the signed weights that they leave a row, and note the losses.

    Weights and losses are logistic; out_pulls: (n_speeds + 1, n_outputs).
    """
    n_speeds = out_losses.size
    for speed in range(n_speeds + 1):
        loss = 0.0
        for output in range(signed.size):
            score = out_pulls[speed, output]
            if signed[output] < 0.0:
                score = -score
            score = min(max(score, -MOST_SCORE), MOST_SCORE)
            odds = np.exp(score)
            out_pulls[speed, output] = signed[output] / (1.0 + odds)
            loss += abs(signed[output]) * np.log1p(1.0 / odds)
        if speed < n_speeds:
            out_losses[speed] = out_losses[speed] * patience + loss


@kernel
def update_alphas(sides, pulls, pace, out_state):
    """Move each alpha down the derivative of the loss of a row (AdaGrad).

    Old squares fade, so steps don't vanish; the bound keeps alphas from growing where
    all rows are learnt, and so from standing in the way of a change.
    """
    for speed in range(out_state.alphas.shape[0]):
        growth = pace.growths[speed]
        for learner in range(sides.size):
            slope = 0.0
            for output in range(pulls.shape[1]):
                slope += pulls[speed, output] * out_state.votes[learner, output]
            slope *= sides[learner]
            squares = out_state.slopes[speed, learner] / growth + slope * slope
            out_state.slopes[speed, learner] = squares
            if slope != 0.0:
                moved = out_state.alphas[speed, learner]
                moved += pace.rate * slope / np.sqrt(squares)
                out_state.alphas[speed, learner] = min(
                    max(moved, -MOST_ALPHA), MOST_ALPHA
                )


@kernel
def code_value(value, cuts, n_codes, is_category):
    """Return the code of a value; -1 for a missing one and an unknown category."""
    if value != value:
        return -1
    low, high = 0, n_codes
    while low < high:
        middle = (low + high) // 2
        if value > cuts[middle]:
            low = middle + 1
        else:
            high = middle
    if is_category and (low == n_codes or cuts[low] != value):
        return -1
    return low


@kernel
def divide_by_scale(scale, out_sums, out_bins, out_squares):
    """Bring sums back to the scale 1; expressions of arrays compile slowly."""
    n_features, n_codes, n_outputs = out_sums.shape
    for feature in range(n_features):
        out_squares[feature] /= scale * scale
        for code in range(n_codes):
            out_bins[feature, code, BIN_WEIGHT] /= scale
            for output in range(n_outputs):
                out_sums[feature, code, output] /= scale


@kernel
def add_row(values, signed, pulls, pace, out_state):
    """Add the weights of a row to the sums, on a scale that grows from row to row."""
    sums, bins, facts = out_state.sums, out_state.bins, out_state.facts
    squares = out_state.squares
    facts[SCALE] *= pace.growth
    if facts[SCALE] > MOST_SCALE:
        divide_by_scale(facts[SCALE], sums, bins, squares)
        facts[WEIGHT] /= facts[SCALE]
        facts[SCALE] = 1.0
    scale = facts[SCALE]
    weight, pull = scale * np.abs(signed).sum(), scale * np.abs(pulls).sum()
    facts[WEIGHT] += pull
    for feature in range(values.size):
        cuts, n_codes = out_state.cuts[feature], out_state.n_codes[feature]
        value = values[feature]
        code = code_value(value, cuts, n_codes, pace.is_category[feature])
        if code < 0:
            continue
        squares[feature] += pull * pull
        for output in range(pulls.size):
            sums[feature, code, output] += pulls[output] * scale
        moments = bins[feature, code]
        moments[BIN_WEIGHT] += weight
        moments[MEAN] += (value - moments[MEAN]) * weight / moments[BIN_WEIGHT]
        moments[LEAST], moments[MOST] = (
            min(moments[LEAST], value),
            max(moments[MOST], value),
        )


@kernel
def choose_online_stumps(state, is_category, out_found):
    """Find the best stump on each feature, by the weights of the rows so far."""
    weight = max(state.facts[WEIGHT], TINY)
    for feature in range(is_category.size):
        sums = state.sums[feature, : state.n_codes[feature]]
        gains = out_found.gains[feature]
        edge, code = choose_online_cut(sums, is_category[feature], gains)
        out_found.edges[feature], out_found.codes[feature] = edge / weight, code


@kernel
def choose_online_cut(sums, is_category, out_gains):
    """Return the edge of a feature's best cut, not yet as a share, and its code.

    sums (n_codes, n_outputs); out_gains: the sums above the cut less those below.
    """
    n_codes, n_outputs = sums.shape
    total = np.zeros(n_outputs)
    for code in range(n_codes):
        for output in range(n_outputs):
            total[output] += sums[code, output]
    gains = total.copy()
    best, best_code = 0.0, 0
    # Above the last code of a number is nothing.
    for code in range(n_codes - (0 if is_category else 1)):
        edge = 0.0
        for output in range(n_outputs):
            moved = 2.0 * sums[code, output]
            if is_category:
                gains[output] = moved - total[output]
            else:
                gains[output] -= moved
            edge += abs(gains[output])
        if edge > best:
            best, best_code = edge, code
            for output in range(n_outputs):
                out_gains[output] = gains[output]
    return best, best_code
