"""Votes by the best stump on a subset, chosen without the row voted on."""

from dataclasses import dataclass

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.selection.subset import Groups, Subset
from askless.core.selection.table import MIN_EDGE


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
        pluses = best_by_code(rising, falling)[column_idxs, self.codes]
        minuses = best_by_code(falling, rising)[column_idxs, self.codes]
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


def best_by_code(below: FloatArray, above: FloatArray) -> FloatArray:
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
