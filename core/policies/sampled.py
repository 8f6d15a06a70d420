"""The policy `sample`: AdaBoostRS draws hypotheses in proportion to alpha."""

from __future__ import annotations

import numpy as np

from core import kernels
from core.policies.step import Step
from core.session_arrays import SessionArrays
from core.types import Ensemble, FloatArray, IntArray, State

N_BLOCK = 1024
MAX_DRAWS = 128 * N_BLOCK


def uniforms(seed: int, stream: int) -> np.random.Generator:
    """Counter-based randomness of a session: Philox keyed by seed and stream."""
    key = np.array([seed, stream], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


def draw(ensemble: Ensemble, numbers: FloatArray) -> IntArray:
    """Hypotheses drawn with probability alpha/sum(alpha), with replacement."""
    sums = ensemble.alpha_sums
    drawn = np.searchsorted(sums, numbers * sums[-1], side="right") - 1
    last = len(ensemble.hypotheses) - 1
    idxs: IntArray = np.minimum(drawn, last)
    return idxs


def find_next(ensemble: Ensemble, state: State, arrays: SessionArrays) -> Step:
    """Draw until a hypothesis needs a feature (Reyzin 2010, Algorithm 2).

    Draws that need nothing unpaid are free; a tree is asked step by step along its
    path. Ends at the first draw whose price exceeds what remains (the paper ends as
    soon as any could), or when no hypothesis waits for a feature. After `MAX_DRAWS`
    draws what was never drawn counts as not needed.
    """
    waiting_for = find_waiting(ensemble, arrays)
    is_asking_any = waiting_for >= 0
    if not is_asking_any.any():
        return Step(None, "all_known", state.n_draws)
    generator = uniforms(state.seed, state.stream)
    for start in range(0, MAX_DRAWS, N_BLOCK):
        numbers = generator.random(N_BLOCK)
        if start + N_BLOCK <= state.n_draws:
            continue
        drawn = draw(ensemble, numbers)
        is_asking = is_asking_any[drawn]
        is_asking[: max(state.n_draws - start, 0)] = False
        if is_asking.any():
            position = int(np.argmax(is_asking))
            feature_idx = int(waiting_for[drawn[position]])
            if arrays.prices[feature_idx] > arrays.remaining:
                return Step(None, "budget_exhausted", start + position)
            return Step(feature_idx, None, start + position)
    return Step(None, "all_known", MAX_DRAWS)


def find_waiting(ensemble: Ensemble, arrays: SessionArrays) -> IntArray:
    """Open feature that each hypothesis' path has come to; (n_hypotheses,).

    -1 where it has ended, or waits for a result that is pending.
    """
    paths = ensemble.paths
    ends = np.empty(paths.roots.size, dtype=np.int64)
    kernels.follow_all(
        arrays.values, arrays.status, paths.roots, paths.nodes, paths.cuts, ends
    )
    features = paths.nodes[np.maximum(ends, 0), 0]
    is_open = (ends >= 0) & (arrays.status[features] == kernels.OPEN)
    waiting: IntArray = np.where(is_open, features, -1)
    return waiting


def count_draws(ensemble: Ensemble, state: State) -> IntArray:
    """How often each hypothesis was drawn so far; (n_hypotheses,)."""
    numbers = uniforms(state.seed, state.stream).random(state.n_draws)
    return np.bincount(draw(ensemble, numbers), minlength=len(ensemble.hypotheses))
