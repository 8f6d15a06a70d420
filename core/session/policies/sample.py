"""The policy `sample`: AdaBoostRS draws hypotheses in proportion to alpha."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISeedSequence

from core import kernels
from core.arrays import FloatArray, IntArray
from core.model.ensemble import Ensemble
from core.session.arrays import SessionArrays
from core.session.policies.step import Step
from core.session.policies.waiting import find_waiting
from core.session.state import State

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
    path, a product only if all its factors can be paid. Ends at the first draw whose
    price exceeds what remains (the paper ends as soon as any could), or when no
    hypothesis waits for a feature. After `MAX_DRAWS` draws what was never drawn counts
    as not needed.
    """
    waiting = find_waiting(ensemble, arrays)
    if not (waiting.feature_idxs >= 0).any():
        return Step(None, "all_known", state.n_draws)
    generator = uniforms(state.seed, state.stream)
    for start in range(0, MAX_DRAWS, N_BLOCK):
        numbers = generator.random(N_BLOCK)
        n_done = max(state.n_draws - start, 0)
        position, h = kernels.find_asking(
            numbers, n_done, ensemble.alpha_sums, waiting.feature_idxs
        )
        if position >= 0:
            if not waiting.is_payable[h]:
                return Step(None, "budget_exhausted", start + position)
            return Step(int(waiting.feature_idxs[h]), None, start + position)
    return Step(None, "all_known", MAX_DRAWS)


def past_draws(ensemble: Ensemble, state: State) -> IntArray:
    """Hypotheses drawn so far, in order; (n_draws,)."""
    return draw(ensemble, uniforms(state.seed, state.stream).random(state.n_draws))
