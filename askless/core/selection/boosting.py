"""Boost on a subset by AdaBoost, from the rows' weights or from iFS2Boost's D'."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.selection.neighbours import Neighbours, find_neighbours
from askless.core.selection.params import SelectionParams
from askless.core.selection.subset import Groups, Subset, make_groups
from askless.core.selection.table import MAX_EDGE, MIN_EDGE, TIE


@dataclass(frozen=True)
class Stumps:
    """The stump of largest edge, or a constant, chosen without the row voted on.

    `codes` (n_groups, n_columns): where a missing cell has the code `n_codes`.
    `is_cut` (n_columns, n_codes): which codes have a threshold above them.

    Notes
    -----
    Without row i the edge of h is gamma_h - D(i) y_i h(x_i). So it suffices to know
    the largest gamma_h among the stumps that vote +1, -1 and 0 on the row: for a
    column, running maxima over its thresholds from both ends. A stump against all
    values of a constant is needed: without it no subset could equal the empty one.
    """

    groups: Groups
    signs: FloatArray
    codes: IntArray
    is_cut: BoolArray

    def vote(self, D: FloatArray) -> FloatArray:
        """Return the vote on each group by the best stump of the other rows."""
        own = D * self.signs
        masses = self.groups.counts[:, None] * own
        votes = [
            self.vote_output(own[:, output], masses[:, output])
            for output in range(D.shape[1])
        ]
        return np.column_stack(votes)

    def vote_output(self, own: FloatArray, masses: FloatArray) -> FloatArray:
        """Return the votes of one output; `masses` are signed weights of groups."""
        n_columns, n_codes = self.is_cut.shape
        column_idxs = np.arange(n_columns)
        # One slot for each column and code; the last of a column is for missing cells.
        slots = self.codes + column_idxs * (n_codes + 1)
        sums = np.bincount(
            slots.ravel(), np.repeat(masses, n_columns), n_columns * (n_codes + 1)
        ).reshape(n_columns, n_codes + 1)[:, :-1]
        below = np.cumsum(sums, axis=1)
        # All weights above the threshold less those below it.
        edges = below[:, -1:] - 2 * below
        rising = np.where(self.is_cut, edges, -np.inf)
        falling = np.where(self.is_cut, -edges, -np.inf)
        constant = masses.sum()
        pluses = compute_best_edges(rising, falling)[column_idxs, self.codes]
        minuses = compute_best_edges(falling, rising)[column_idxs, self.codes]
        plus = pluses.max(axis=1, initial=constant) - own
        minus = minuses.max(axis=1, initial=-constant) + own
        # The largest edge of a stump that would abstain on the row.
        tops = np.maximum(rising, falling).max(axis=1)
        is_missing = self.codes == n_codes
        abstaining = np.where(is_missing, tops, -np.inf).max(axis=1, initial=-np.inf)
        leads = plus - minus
        is_heard = np.maximum(plus, minus) > abstaining + MIN_EDGE
        return np.where(is_heard & (np.abs(leads) > MIN_EDGE), np.sign(leads), 0.0)


def make_stumps(subset: Subset, groups: Groups) -> Stumps:
    """Return the columns of a subset as its stumps read them."""
    table, rows = subset.table, groups.rows
    columns = [c[rows] for idx in subset.feature_idxs for c in table.columns[idx]]
    codes = np.array(columns, np.int64).reshape(-1, rows.size).T
    sizes = codes.max(axis=0) + 1
    n_codes = int(sizes.max(initial=1))
    return Stumps(
        groups=groups,
        signs=table.signs[rows],
        codes=np.where(codes < 0, n_codes, codes),
        is_cut=np.arange(n_codes) < sizes[:, None] - 1,
    )


def compute_best_edges(below: FloatArray, above: FloatArray) -> FloatArray:
    """Return, by column and code, the largest edge of a stump with one vote there.

    `below` holds the edges of stumps that vote so if their cut is below the code,
    `above` if it is above; the last code (missing) has none.
    """
    n_columns, n_codes = below.shape
    best = np.full((n_columns, n_codes + 1), -np.inf)
    best[:, 1:-1] = np.maximum.accumulate(below, axis=1)[:, :-1]
    from_above = np.maximum.accumulate(above[:, ::-1], axis=1)[:, ::-1]
    best[:, :-1] = np.maximum(best[:, :-1], from_above)
    return best


@dataclass(frozen=True)
class Fit:
    """The result of boosting on a subset.

    `zs` (rounds,): Z (or Z') after each round. `concentration` is the largest sum of
    squared initial weights of an output: 1/n_samples where they are equal. `sums`
    (n_samples, n_outputs) is F.
    """

    zs: FloatArray
    n_hypotheses: int
    concentration: float
    sums: FloatArray


# A weak learner on a subset. It takes D, the weight of one row of each group, and
# returns leave-one-out votes on each group, from -1 to +1, 0 on a tie. Both are
# (n_groups, n_outputs). Votes depend on the weights alone.
Vote = Callable[[FloatArray], FloatArray]


def boost_subset(subset: Subset, params: SelectionParams) -> Fit:
    """Boost the learner on a subset, all outputs side by side.

    The subset must not be empty.

    Notes
    -----
    r = sum_i D(i) y_i h(x_i), alpha = 1/2 ln((1 + r)/(1 - r)), r at most 1 - 1e-9,
    D(i) <- D(i) exp(-alpha y_i h(x_i)) / Z_t (Sebban and Nock 1999, figure 1). A
    output ends before T rounds once r reaches 1 or r <= 1e-12. In the latter case the
    hypothesis is dropped: r < 0 comes from leaving out the row voted on, and reversing
    the vote would make a class that is in balance everywhere look perfectly known.
    """
    table, groups = subset.table, make_groups(subset)
    signs = table.signs[groups.rows]
    counts = groups.counts[:, None]
    D = reference = np.repeat(table.weights[groups.rows, None], table.n_outputs, axis=1)
    if params.method == "ifs2boost":
        D = weigh_clear_descriptions(D, signs, groups)
        if params.criterion == "z_prime":
            reference = D
    vote = make_voter(subset, groups, params)
    sums, zs = np.zeros(D.shape), np.ones(params.rounds)
    is_open = np.ones(table.n_outputs, np.bool_)
    n_hypotheses = 0
    for number in range(params.rounds):
        votes = vote(D)
        n_hypotheses += int(is_open.sum())
        edges = (counts * D * signs * votes).sum(axis=0)
        is_open &= edges > MIN_EDGE
        alphas = np.arctanh(np.where(is_open, np.minimum(edges, MAX_EDGE), 0.0))
        sums += alphas * votes
        # Later rounds keep this Z if boosting ends here.
        zs[number:] = (counts * reference * np.exp(-signs * sums)).sum(axis=0).mean()
        is_open &= edges < MAX_EDGE
        if not is_open.any():
            break
        D = D * np.exp(-alphas * signs * votes)
        D /= (counts * D).sum(axis=0)
    concentration = float((counts * reference**2).sum(axis=0).max())
    return Fit(zs, n_hypotheses, concentration, sums[groups.of_row])


def make_voter(subset: Subset, groups: Groups, params: SelectionParams) -> Vote:
    """Return the weak learner's vote function on a subset."""
    if params.learner == "stump":
        return make_stumps(subset, groups).vote
    signs = subset.table.signs[groups.rows]
    neighbours = find_neighbours(subset, params.n_neighbours)
    return Neighbours(groups, signs, *neighbours).vote


def weigh_clear_descriptions(
    D: FloatArray, signs: FloatArray, groups: Groups
) -> FloatArray:
    """Return D' of iFS2Boost: more weight to rows whose description has a clear class.

    D, `signs` and D' are (n_groups, n_outputs). D' sums to 1 over rows; it is D itself
    where no description has a clear class.

    Notes
    -----
    D'(x') = D(x') c(x') / sum_x'' D(x'') c(x''), c(x) = Delta(x) / |x|, with |x| the
    weight of the rows of description x and Delta(x) the difference between its two
    classes. This is Sebban and Nock's (1999) double sum (section 4, garbled): their
    predicate pi keeps only the description of x'. Since c is the same in all rounds,
    AdaBoost started from D'_1 yields every D'_t, and
    Z' = sum_i D'_1(i) exp(-y_i F(x_i)) is the product of all Z'_t.
    """
    masses = groups.counts[:, None] * D
    totals = np.add.reduceat(masses, groups.starts, axis=0)
    leads = np.abs(np.add.reduceat(masses * signs, groups.starts, axis=0))
    clarity = np.where(leads > TIE * totals, leads / totals, 0.0)[groups.cells]
    sums = (masses * clarity).sum(axis=0)
    return np.where(sums > 0, D * clarity / np.where(sums > 0, sums, 1.0), D)
