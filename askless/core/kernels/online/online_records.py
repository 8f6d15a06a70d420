"""The records of online boosting: its state, rows to learn, and what is found."""

from typing import NamedTuple

from askless.core.arrays import BallotArray, BoolArray, FloatArray, IntArray

# Positions in `OnlineState.facts`.
WEIGHT, SCALE = 0, 1
# Positions in `OnlineState.counts`: learners, rows, rows since the last learner was
# added, how many of those there are when the next one is looked for, and 1 where the
# first cuts are those of a table.
N_LEARNERS, N_ROWS, N_SINCE, N_LOOK, HAS_TABLE = 0, 1, 2, 3, 4
# The columns of `OnlineState.stumps`.
READS_FEATURE, EQUALS = 0, 1
# The last axis of `OnlineState.bins`.
BIN_WEIGHT, MEAN, LEAST, MOST = 0, 1, 2, 3
# A sum is only divided by so large a scale: long before it overflows.
MOST_SCALE = 1e100
# Before the first row there is no weight to divide by.
TINY = 1e-300
# Cuts adapt each time that so many rows have come.
ROWS_PER_CUT = 256
# Scores beyond it are as good as sure: their exponential must not overflow.
MOST_SCORE = 500.0
# An alpha is projected to at most this (Beygelzimer, Kale and Luo 2015, Algorithm 2).
MOST_ALPHA = 2.0


class OnlineState(NamedTuple):
    """Online boosting keeps this of the rows that it has learnt.

    By feature and code: `cuts` (n_features, n_slots) are the upper ends of a number's
    codes, the last infinite, and the values of a category's, ascending; beyond
    `n_codes` (n_features,) they are infinite. `bins` (n_features, n_slots, 4) have the
    rows' weight, and the mean, least and greatest of their values. `sums` (n_features,
    n_slots, n_outputs) are the signed weights that boosting gives the rows.

    `squares` (n_features,) sum the squared weights of the rows that have a feature's
    value. `facts` are the sum of the weights of all rows, and the scale of that, of
    `sums` and of the bins' weights: all are divided by the scale, `squares` by its
    square, to be read.

    By learner: `stumps` (n_learners, 2) are feature and whether it tests for a value,
    `thresholds` (n_learners,) their cuts, `votes` (n_learners, n_outputs) the signs
    above it. `alphas` and `slopes`, sums of squared derivatives, are (n_speeds,
    n_learners); `losses` (n_speeds,) are the fading losses of each.

    `counts` are five numbers. `first_values` (n_first, n_features) and `first_signed`
    (n_first, n_outputs) hold the first rows, and none once `n_first` came.
    """

    cuts: FloatArray
    n_codes: IntArray
    bins: FloatArray
    sums: FloatArray
    squares: FloatArray
    facts: FloatArray
    stumps: IntArray
    thresholds: FloatArray
    votes: BallotArray
    alphas: FloatArray
    slopes: FloatArray
    losses: FloatArray
    counts: IntArray
    first_values: FloatArray
    first_signed: FloatArray


class OnlineRows(NamedTuple):
    """Rows to learn.

    `values` (n_samples, n_features), NaN where missing; `signed` (n_samples,
    n_outputs) are the rows' weights with the sign of each output.
    """

    values: FloatArray
    signed: FloatArray


class OnlinePace(NamedTuple):
    """How fast is learnt.

    `growth`: that of the scale from row to row; `growths` (n_speeds,): those of the
    slopes; `rate`: of the alphas; `patience`: the share of a loss that stays from row
    to row. `is_category` (n_features,).
    """

    growth: float
    growths: FloatArray
    rate: float
    patience: float
    is_category: BoolArray


class OnlineStumps(NamedTuple):
    """The best stump on each feature.

    `edges` (n_features,) are shares of the weight; `codes` (n_features,) those of the
    cuts; `gains` (n_features, n_outputs) the signed weight above less that below.
    """

    edges: FloatArray
    codes: IntArray
    gains: FloatArray
