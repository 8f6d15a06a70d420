"""The policy `cascade`: stage after stage, until one rejects."""

from __future__ import annotations

import numpy as np

from core import kernels
from core.arrays import IntArray
from core.model.ensemble import Ensemble
from core.session.arrays import SessionArrays
from core.session.policies import ordered
from core.session.policies.step import Step
from core.session.state import State


def find_next(ensemble: Ensemble, state: State, arrays: SessionArrays) -> Step:
    """Ask as `ordered` does, unless a stage is known to reject.

    A stage is judged once all its hypotheses have voted or can't any more, if any of
    them has: of a case without a single answer it says nothing, so it doesn't reject.
    """
    if count_passed(ensemble, arrays) < 0:
        return Step(None, "rejected_early")
    return ordered.find_next(ensemble, state, arrays)


def count_passed(ensemble: Ensemble, arrays: SessionArrays) -> int:
    """How far a session has come: the stages up to the last that it has passed.

    A stage in which no hypothesis has voted, its answers being missing, is gone past
    but not passed: it counts once a later one is. -1 - s once stage s (from 0) has
    rejected.
    """
    return judge(ensemble, follow_paths(ensemble, arrays))


def follow_paths(ensemble: Ensemble, arrays: SessionArrays) -> IntArray:
    """Where the hypotheses' paths have come to; see `core.kernels.follow_all`."""
    paths = ensemble.paths
    ends = np.empty(paths.roots.size, dtype=np.int64)
    kernels.follow_all(
        arrays.values, arrays.status, paths.roots, paths.nodes, paths.cuts, ends
    )
    return ends


def judge(ensemble: Ensemble, ends: IntArray) -> int:
    """`count_passed` from where the hypotheses' paths have come to."""
    votes = ensemble.weighted_votes[:, 0]
    start = passed = 0
    for stage, (stop, threshold) in enumerate(
        zip(ensemble.stage_ends.tolist(), ensemble.thresholds.tolist(), strict=True)
    ):
        part = ends[start:stop]
        if (part >= 0).any():
            return passed
        # The first vote of all is that of a path that has come to none.
        if (~part > 0).any():
            if votes[~part].sum() < threshold:
                return -1 - stage
            passed = stage + 1
        start = stop
    return passed
