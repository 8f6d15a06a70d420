"""Define the weak hypotheses: stumps, trees and products, one class for each kind.

They write themselves as arrays of nodes and votes, which kernels follow.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np

from askless.core import kernels
from askless.core.arrays import BallotArray, BoolArray
from askless.core.codes.binning import Binned
from askless.core.kernels import Paths


@dataclass
class PathBuilder:
    """Collects the nodes and votes of hypotheses, one hypothesis after the other.

    `askless.core.kernels.Paths` describes the arrays. A node leads to the position of
    another node, or to `~vote`, where `vote` is the position of a vote.
    """

    n_outputs: int
    nodes: list[tuple[int, ...]] = field(default_factory=list)
    cuts: list[float] = field(default_factory=list)
    votes: list[tuple[int, ...]] = field(init=False)

    def __post_init__(self) -> None:
        """Begin with the vote of a hypothesis that abstains, 0 for each output."""
        self.votes = [(0,) * self.n_outputs]

    def add_votes(
        self, votes: tuple[int, ...], below: tuple[int, ...] | None = None
    ) -> int:
        """Add votes and `below`, by default their opposite; return their position."""
        self.votes += [votes, below or tuple(-vote for vote in votes)]
        return len(self.votes) - 2

    def to_paths(
        self, roots: Sequence[int], alphas: Sequence[float], owners: Sequence[int]
    ) -> Paths:
        """Return the collected nodes, and the votes times their alphas, as arrays.

        Parameters
        ----------
        roots : sequence of int, length n_hypotheses
            The first node of each hypothesis.
        alphas : sequence of float, length n_hypotheses
        owners : sequence of int, length n_votes
            The hypothesis of each vote; its alpha multiplies the vote.
        """
        weights = np.array(alphas, dtype=np.float64)
        votes = np.array(self.votes, dtype=np.float64)
        if weights.size:
            votes *= weights[np.array(owners), None]
        return Paths(
            roots=np.array(roots, dtype=np.int64),
            nodes=np.array(self.nodes, dtype=np.int64).reshape(-1, 6),
            cuts=np.array(self.cuts, dtype=np.float64),
            votes=votes,
            alphas=weights,
        )


# A child of a tree's stump that is no stump: the vote there is final.
LEAF = -1

# The vote of one output for its class.
FOR = np.ones(1, dtype=np.int8)


class Hypothesis(ABC):
    """A function h(x) made of stumps: for each output +1, -1, or 0 if it abstains."""

    __slots__ = ()

    #: Whether it abstains until all its features are known. If not, each answer may
    #: change its vote.
    needs_all_features: ClassVar[bool] = False

    @property
    @abstractmethod
    def stumps(self) -> tuple["Stump", ...]:
        """The stumps it is made of, in the order of asking."""

    @property
    def feature_idxs(self) -> tuple[int, ...]:
        """The features it may read, each once, in the order of asking."""
        return tuple(dict.fromkeys(stump.feature_idx for stump in self.stumps))

    @property
    def sole_stump(self) -> "Stump | None":
        """The stump itself if the hypothesis is one stump, else None."""
        return None

    @abstractmethod
    def write_nodes(self, paths: PathBuilder) -> None:
        """Add the nodes and votes of the hypothesis to paths; the first is its root."""

    @abstractmethod
    def votes_on(self, binned: Binned, codes: tuple[int, ...]) -> BallotArray:
        """Return the votes of the hypothesis on every row of a coded table.

        Parameters
        ----------
        binned : Binned
        codes : tuple of int
            The code of each stump's cut, as `cut_codes` returns them.

        Returns
        -------
        int8 array, shape (n_outputs, n_samples)
            +1, -1 or 0 where it abstains.
        """

    def cut_codes(self, binned: Binned) -> tuple[int, ...]:
        """Return, for each stump, the position of its cut among the table's cuts."""
        return tuple(
            int(np.searchsorted(binned.cuts[stump.feature_idx], stump.cut))
            for stump in self.stumps
        )


@dataclass(frozen=True, slots=True)
class Stump(Hypothesis):
    """A weak hypothesis on one feature, v phi(x) (Kegl and Busa-Fekete 2009).

    It votes `votes` (+1 or -1 per output) where the value exceeds `cut` (numbers,
    booleans) or equals the category code `cut` (`is_category`), -`votes` otherwise,
    0 where it is missing or a category never seen in training.
    """

    feature_idx: int
    cut: float
    votes: tuple[int, ...]
    is_category: bool = False

    @property
    def stumps(self) -> tuple["Stump", ...]:
        """The stump itself."""
        return (self,)

    @property
    def feature_idxs(self) -> tuple[int, ...]:
        """The one feature it reads."""
        return (self.feature_idx,)

    @property
    def sole_stump(self) -> "Stump":
        """The stump itself."""
        return self

    @property
    def ballots(self) -> BallotArray:
        """Its votes above the cut, int8 (n_outputs,); not to be changed."""
        return ballots_of(self.votes)

    def write_nodes(self, paths: PathBuilder) -> None:
        """Add one node, which leads to a vote on either side."""
        # The vote above the cut, and after it the one below; where the value is
        # missing vote 0, an abstention, counts.
        end = paths.add_votes(self.votes)
        self.write_node(paths, (~end, ~(end + 1)), 0)

    def write_node(
        self,
        paths: PathBuilder,
        targets: Sequence[int],
        above: int,
        next_factor: int = -1,
    ) -> None:
        """Add a node of the stump, also inside another hypothesis.

        Parameters
        ----------
        paths : PathBuilder
            Extended by one node.
        targets : sequence of 2 int
            The node, or the complement of a vote, above the cut and below.
        above : int
            Position of the vote that counts where the value is missing.
        next_factor : int
            A node of the next factor of a product; -1: none.
        """
        paths.nodes.append(
            (self.feature_idx, self.is_category, *targets, above, next_factor)
        )
        paths.cuts.append(self.cut)

    def votes_on(self, binned: Binned, codes: tuple[int, ...]) -> BallotArray:
        """Return the votes on every row."""
        return self.cast_as(self.ballots, binned, codes[0])

    def cast_as(self, votes: BallotArray, binned: Binned, code: int) -> BallotArray:
        """Return `votes` for rows above the cut, their opposite for those below.

        int8 (n_outputs, n_samples); 0 where the value is missing.
        """
        ballots = np.empty((votes.size, binned.n_samples), dtype=np.int8)
        feature_codes = binned.codes[self.feature_idx]
        kernels.write_stump_votes(feature_codes, self.is_category, code, votes, ballots)
        return ballots


@lru_cache(maxsize=256)
def ballots_of(votes: tuple[int, ...]) -> BallotArray:
    """Return votes as an array, the same one for the same votes; not to be changed."""
    return np.array(votes, dtype=np.int8)


@dataclass(frozen=True, slots=True)
class Tree(Hypothesis):
    """Stumps asked one after the other; the last one that can be read votes.

    The first is the root. `children` gives, for each, the positions of the stumps
    asked next above and below its cut, `LEAF` where its own vote is final. Where the
    root's value is missing the tree abstains; where a later one is missing, the vote
    of the stump before counts. Below its cut a stump votes the opposite, or its entry
    of `below_votes` (trees that were not boosted).
    """

    # By `field`: else the inherited property would count as a default.
    stumps: tuple[Stump, ...] = field()
    children: tuple[tuple[int, int], ...]
    below_votes: tuple[tuple[int, ...], ...] | None = None

    def write_nodes(self, paths: PathBuilder) -> None:
        """Add one node for each stump, in their order."""
        first = len(paths.nodes)
        # By stump, the vote that counts where its value is missing; 0 abstains.
        heres = {0: 0}
        for position, stump in enumerate(self.stumps):
            below = self.below_votes[position] if self.below_votes else None
            ends = paths.add_votes(stump.votes, below)
            targets = []
            # Side 0 is above the cut, 1 below, as the votes of a pair are placed.
            for side, child in enumerate(self.children[position]):
                targets.append(~(ends + side) if child == LEAF else first + child)
                heres[child] = ends + side
            stump.write_node(paths, targets, heres[position])

    def votes_on(self, binned: Binned, codes: tuple[int, ...]) -> BallotArray:
        """Return the vote of a boosted tree at the end of each row's path."""
        # Each row's position among the votes: 0 none, 2 s + 1 above stump s, 2 s + 2
        # below it.
        ends = np.zeros(binned.n_samples, dtype=np.int64)
        is_at_stump: dict[int, BoolArray] = {
            0: np.ones(binned.n_samples, dtype=np.bool_)
        }
        votes = [np.zeros(len(self.stumps[0].votes), dtype=np.int8)]
        for position, stump in enumerate(self.stumps):
            sides = stump.cast_as(FOR, binned, codes[position])[0]
            reached = is_at_stump.pop(position)
            for side, child in zip((1, -1), self.children[position], strict=True):
                is_side = reached & (sides == side)
                ends[is_side] = len(votes)
                votes.append(stump.ballots * np.int8(side))
                if child != LEAF:
                    is_at_stump[child] = is_side
        return np.take(np.array(votes).T, ends, axis=1)


@dataclass(frozen=True, slots=True)
class Product(Hypothesis):
    """Stumps whose votes are multiplied, output by output; 0 if one abstains."""

    needs_all_features: ClassVar[bool] = True

    # By `field`: else the inherited property would count as a default.
    stumps: tuple[Stump, ...] = field()

    def write_nodes(self, paths: PathBuilder) -> None:
        """Add one node for the first stump and two for each other: one for each sign.

        The sign is that of the product of the factors before.
        """
        product_votes = np.prod([stump.votes for stump in self.stumps], axis=0)
        ends = paths.add_votes(tuple(product_votes.tolist()))
        for position, stump in enumerate(self.stumps):
            # The first stump has no factors before it, so no sign.
            n_signs = min(position, 1) + 1
            following = len(paths.nodes) + n_signs
            is_last = position == len(self.stumps) - 1
            for sign in range(n_signs):
                targets = [
                    ~(ends + other) if is_last else following + other
                    # A vote below the cut turns the sign.
                    for other in (sign, 1 - sign)
                ]
                stump.write_node(paths, targets, 0, -1 if is_last else following)

    def votes_on(self, binned: Binned, codes: tuple[int, ...]) -> BallotArray:
        """Return the product of the stumps' votes on every row."""
        first, *others = self.stumps
        ballots = first.votes_on(binned, codes[:1])
        for stump, code in zip(others, codes[1:], strict=True):
            ballots *= stump.cast_as(stump.ballots, binned, code)
        return ballots


def build_paths(
    hypotheses: Sequence[Hypothesis], n_outputs: int, alphas: Sequence[float] = ()
) -> Paths:
    """Return the arrays of nodes and votes of hypotheses that kernels follow.

    Parameters
    ----------
    hypotheses : sequence of Hypothesis
    n_outputs : int
        Numbers in a vote.
    alphas : sequence of float, optional
        The weight of each hypothesis's vote; by default 1.
    """
    paths, roots, owners = PathBuilder(n_outputs), [], [0]
    for position, hypothesis in enumerate(hypotheses):
        roots.append(len(paths.nodes))
        hypothesis.write_nodes(paths)
        owners += [position] * (len(paths.votes) - len(owners))
    return paths.to_paths(roots, alphas or [1.0] * len(roots), owners)
