"""The policy `sample`: AdaBoostRS draws hypotheses in proportion to alpha."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISeedSequence

from core import kernels
from core.policies.step import Step
from core.session_arrays import SessionArrays
from core.types import Ensemble, FloatArray, IntArray, State

N_BLOCK = 1024
MAX_DRAWS = 128 * N_BLOCK


class Key(ISeedSequence):
    """A key taken as it is; given by `key=`, numpy gathers entropy too (6 us)."""

    def __init__(self, *words: int) -> None:
        self.words = words

    def generate_state(
        self, n_words: int, dtype: npt.DTypeLike = np.uint64
    ) -> npt.NDArray[Any]:
        """Give the words."""
        assert n_words == len(self.words)
        return np.array(self.words, dtype=dtype)


def uniforms(seed: int, stream: int) -> np.random.Generator:
    """Counter-based randomness of a session: Philox keyed by seed and stream."""
    key = Key(seed, stream)
    return np.random.Generator(
        np.random.Philox(key)  # type: ignore[arg-type]  # its stub knows one kind only
    )


def draw(ensemble: Ensemble, numbers: FloatArray) -> IntArray:
    """Hypotheses drawn with probability alpha/sum(alpha), with replacement."""
    sums = ensemble.alpha_sums
    drawn = sums.searchsorted(numbers * sums[-1], side="right") - 1
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
    if not (waiting_for >= 0).any():
        return Step(None, "all_known", state.n_draws)
    generator = uniforms(state.seed, state.stream)
    for start in range(0, MAX_DRAWS, N_BLOCK):
        numbers = generator.random(N_BLOCK)
        n_done = max(state.n_draws - start, 0)
        position, feature_idx = kernels.find_asking(
            numbers, n_done, ensemble.alpha_sums, waiting_for
        )
        if position >= 0:
            if arrays.prices[feature_idx] > arrays.remaining:
                return Step(None, "budget_exhausted", start + position)
            return Step(int(feature_idx), None, start + position)
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


def past_draws(ensemble: Ensemble, state: State) -> IntArray:
    """Hypotheses drawn so far, in order; (n_draws,)."""
    return draw(ensemble, uniforms(state.seed, state.stream).random(state.n_draws))
