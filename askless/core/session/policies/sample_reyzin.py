"""The policy `sample_reyzin`: end at the first draw that can't be paid."""

from dataclasses import replace

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.session.policies.ordered import Ordered
from askless.core.session.policies.sample import (
    Sample,
    count_simulated_budgets,
    draw_blocks,
    initial_sample_states,
    join_walks,
)
from askless.core.session.position import Position
from askless.core.session.rows.walks import SimulatedRows, Walks, make_ends

# Rows that are walked at a time; their numbers take 2 MB.
N_ROWS = 256


class ReyzinSample(Sample):
    """Draws as `Sample`, up to the first one that can't be paid.

    For the evidence (Reyzin 2010, Algorithm 2; the paper ends as soon as any could).
    Where some features are dear, many sessions end before their first question.
    """

    name = "sample_reyzin"
    is_fitted = False

    def halting(self, position: Position) -> IntArray:
        """Return the feature at which a draw of each hypothesis halts, or -1."""
        return position.waiting_for

    def walk(self, ensemble: Ensemble, simulated: SimulatedRows) -> Walks:
        """Simulate a session for every row under every budget, many rows at once.

        Under a smaller budget the same session ends earlier.
        """
        full = Ordered().walk(ensemble, simulated)
        # Without hypotheses there is nothing to draw: every vote is full, mark -1.
        if not ensemble.hypotheses:
            return replace(full, marks=full.marks - 1)
        n_walked = count_simulated_budgets(ensemble, simulated)
        ends = make_ends(ensemble, simulated, n_walked)
        is_known = np.zeros(simulated.values.shape, np.bool_)
        for first in range(0, len(simulated.values) if n_walked else 0, N_ROWS):
            rows = slice(first, first + N_ROWS)
            part = kernels.Ends(*(array[rows] for array in ends))
            is_known[rows] = walk_to_first_miss(ensemble, simulated, rows, part)
        known_values = np.where(is_known, simulated.values, np.nan)
        return join_walks(ensemble, full, ends, known_values[:, None, :])


def walk_to_first_miss(
    ensemble: Ensemble, simulated: SimulatedRows, rows: slice, out_ends: kernels.Ends
) -> BoolArray:
    """Simulate the sessions of some rows, one block of draws after the other.

    Fills `out_ends`; returns which values are known at the ends, (n_rows, n_features).
    """
    values, streams = simulated.values[rows], simulated.streams[rows]
    budgets = simulated.budgets[: out_ends.spent.shape[1]]
    terms = kernels.Terms(budgets, ensemble.paths, ensemble.catalogue.prices)
    carried = initial_sample_states(ensemble, out_ends.ranks)
    n_rows = values.shape[0]
    has_ended = np.zeros(n_rows, np.bool_)
    for numbers in draw_blocks(simulated.seed, streams, lambda: ~has_ended):
        draws = kernels.Draws(numbers, ensemble.alpha_sums, *ensemble.readers)
        kernels.walk_sampled(values, terms, draws, carried, has_ended, out_ends)
    for row in np.flatnonzero(~has_ended):
        # What was never drawn counts as not needed.
        counts = carried.counts[row]
        left = slice(counts[kernels.DONE], None)
        out_ends.marks[row, left] = -1
        out_ends.spent[row, left] = counts[kernels.SPENT]
        out_ends.n_asked[row, left] = counts[kernels.ASKED]
    is_known: BoolArray = carried.status == kernels.KNOWN
    return is_known
