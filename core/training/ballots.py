"""Votes of a hypothesis on the rows of a binned table, by its codes."""

from functools import lru_cache

import numpy as np

from core import kernels
from core.arrays import BallotArray, BoolArray
from core.model.hypotheses import LEAF, Hypothesis, Stump, Tree
from core.table.binning import Binned

FOR = np.ones(1, dtype=np.int8)


def stumps_of(hypothesis: Hypothesis) -> tuple[Stump, ...]:
    """Return the stumps that a hypothesis is made of."""
    return (hypothesis,) if isinstance(hypothesis, Stump) else hypothesis.stumps


def find_codes(binned: Binned, hypothesis: Hypothesis) -> tuple[int, ...]:
    """Return the code of each stump's cut; what was found in this run knows them."""
    return tuple(
        int(np.searchsorted(binned.cuts[one.feature_idx], one.cut))
        for one in stumps_of(hypothesis)
    )


def cast_ballots(
    binned: Binned, hypothesis: Hypothesis, codes: tuple[int, ...]
) -> BallotArray:
    """Return the votes of a boosted hypothesis on every row.

    `codes` are those of the cuts of its stumps. The votes are (n_outputs, n_samples),
    +1, -1 or 0: it abstains.
    """
    if isinstance(hypothesis, Tree):
        return cast_tree(binned, hypothesis, codes)
    first, *others = stumps_of(hypothesis)
    ballots = cast_stump(binned, first, codes[0], votes_of(first))
    for stump, code in zip(others, codes[1:], strict=True):
        ballots *= cast_stump(binned, stump, code, votes_of(stump))
    return ballots


def votes_of(stump: Stump) -> BallotArray:
    """Return a stump's votes above its cut; (n_outputs,), not to be changed."""
    return as_ballots(stump.votes)


@lru_cache(maxsize=256)
def as_ballots(votes: tuple[int, ...]) -> BallotArray:
    """Return votes as an array, the same one for the same votes."""
    return np.array(votes, dtype=np.int8)


def cast_stump(
    binned: Binned, stump: Stump, code: int, votes: BallotArray
) -> BallotArray:
    """Return the votes of a stump on every row, `votes` above its cut."""
    ballots = np.empty((votes.size, binned.n_samples), dtype=np.int8)
    feature_codes = binned.codes[stump.feature_idx]
    kernels.write_stump_votes(feature_codes, stump.is_category, code, votes, ballots)
    return ballots


def cast_tree(binned: Binned, tree: Tree, codes: tuple[int, ...]) -> BallotArray:
    """Return the votes of a boosted tree on every row: those where its path ends."""
    # Position of the vote of each row: 0 none, 2 s + 1 above stump s, 2 s + 2 below.
    ends = np.zeros(binned.n_samples, dtype=np.int64)
    is_here: dict[int, BoolArray] = {0: np.ones(binned.n_samples, dtype=np.bool_)}
    votes = [np.zeros(len(tree.stumps[0].votes), dtype=np.int8)]
    for position, stump in enumerate(tree.stumps):
        sides = cast_stump(binned, stump, codes[position], FOR)[0]
        reached = is_here.pop(position)
        for side, child in zip((1, -1), tree.children[position], strict=True):
            is_side = reached & (sides == side)
            ends[is_side] = len(votes)
            votes.append(votes_of(stump) * np.int8(side))
            if child != LEAF:
                is_here[child] = is_side
    return np.take(np.array(votes).T, ends, axis=1)
