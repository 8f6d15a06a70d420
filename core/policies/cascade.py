"""The policy `cascade`: stage after stage, until one rejects."""

from __future__ import annotations

import numpy as np

from core import kernels
from core.policies import ordered
from core.policies.step import Step
from core.session_arrays import SessionArrays
from core.types import Ensemble, IntArray, State


def find_next(ensemble: Ensemble, state: State, arrays: SessionArrays) -> Step:
    """Ask as `ordered` does, unless a stage is known to reject.

    A stage is judged once all its hypotheses have voted or can't any more.
    """
    if count_passed(ensemble, arrays) < 0:
        return Step(None, "rejected_early")
    return ordered.find_next(ensemble, state, arrays)


def count_passed(ensemble: Ensemble, arrays: SessionArrays) -> int:
    """How many stages a session has passed; -1 - that, once the next has rejected."""
    paths = ensemble.paths
    ends = np.empty(paths.roots.size, dtype=np.int64)
    kernels.follow_all(
        arrays.values, arrays.status, paths.roots, paths.nodes, paths.cuts, ends
    )
    return judge(ensemble, ends)


def judge(ensemble: Ensemble, ends: IntArray) -> int:
    """`count_passed` from where the hypotheses' paths have come to."""
    votes = ensemble.weighted_votes[:, 0]
    start = 0
    for stage, (stop, threshold) in enumerate(
        zip(ensemble.stage_ends.tolist(), ensemble.thresholds.tolist(), strict=True)
    ):
        part = ends[start:stop]
        if (part >= 0).any():
            return stage
        if votes[~part].sum() < threshold:
            return -1 - stage
        start = stop
    return len(ensemble.stage_ends)
