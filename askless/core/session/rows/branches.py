"""Group rows whose sessions are the same so far; split them where they differ."""

from dataclasses import dataclass, replace

import numpy as np

from askless.core.arrays import BoolArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.session.answers import list_revealed
from askless.core.session.rows.walks import SimulatedRows, reveal
from askless.core.session.state import State


@dataclass(frozen=True, slots=True)
class Branch:
    """Rows whose sessions have asked the same, with the same cells missing."""

    row_idxs: IntArray
    state: State
    ranks: IntArray
    #: questions so far; a bundle is one
    n_steps: int

    def keep(self, is_kept: BoolArray) -> "Branch":
        """Return some of its rows."""
        return replace(self, row_idxs=self.row_idxs[is_kept])


def split_branch(
    ensemble: Ensemble, simulated: SimulatedRows, branch: Branch, feature_idx: int
) -> list[Branch]:
    """Reveal a feature, or the rest of its bundle; split the rows by the outcome.

    Rows stay together if the same cells are missing.
    """
    revealed = list_revealed(ensemble.catalogue, branch.state, feature_idx)
    values = simulated.values[branch.row_idxs]
    keys = [np.isnan(values[:, idx]).astype(np.int64) for idx in revealed]
    patterns, which = np.unique(np.array(keys).T, axis=0, return_inverse=True)
    parts = []
    for number in range(len(patterns)):
        rows = branch.row_idxs[which.reshape(-1) == number]
        ranks = branch.ranks.copy()
        state = reveal(
            ensemble, branch.state, feature_idx, simulated.values[rows[0]], ranks
        )
        parts.append(Branch(rows, state, ranks, branch.n_steps + 1))
    return parts
