"""Builds the arrays of nodes and votes that kernels follow."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

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
        """Add a pair of votes and return the position of the first.

        The second is `below`, by default the opposite of `votes`.
        """
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
