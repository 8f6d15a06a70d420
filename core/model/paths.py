"""Weak hypotheses laid out as the arrays of nodes that kernels follow."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.kernels import Paths
from core.model.hypotheses import LEAF, Hypothesis, Product, Stump, Tree


def lay_paths(
    hypotheses: Sequence[Hypothesis], n_outputs: int, alphas: Sequence[float] = ()
) -> Paths:
    """Lay hypotheses out as paths; without alphas each vote counts 1."""
    laying = _Laying([], [], [(0,) * n_outputs], [0])
    roots = []
    for position, hypothesis in enumerate(hypotheses):
        roots.append(len(laying.nodes))
        if isinstance(hypothesis, Product):
            laying.add_product(hypothesis, position)
        elif isinstance(hypothesis, Tree):
            laying.add_tree(hypothesis, position)
        else:
            laying.add_tree(Tree((hypothesis,), ((LEAF, LEAF),)), position)
    weights = np.array(alphas or [1.0] * len(roots), dtype=np.float64)
    votes = np.array(laying.votes, dtype=np.float64)
    if hypotheses:
        votes *= weights[laying.owners, None]
    return Paths(
        roots=np.array(roots, dtype=np.int64),
        nodes=np.array(laying.nodes, dtype=np.int64).reshape(-1, 6),
        cuts=np.array(laying.cuts, dtype=np.float64),
        votes=votes,
        alphas=weights,
    )


@dataclass
class _Laying:
    nodes: list[tuple[int, ...]]
    cuts: list[float]
    votes: list[tuple[int, ...]]
    owners: list[int]

    def add_votes(
        self, votes: tuple[int, ...], owner: int, below: tuple[int, ...] | None = None
    ) -> int:
        """Add a pair of votes, +v and by default -v; return the first's position."""
        self.votes += [votes, below or tuple(-vote for vote in votes)]
        self.owners += [owner, owner]
        return len(self.votes) - 2

    def add_node(
        self, stump: Stump, ways: Sequence[int], here: int, next_factor: int = -1
    ) -> None:
        """Add a node with the ways above its cut and below."""
        places = (*ways, here, next_factor)
        self.nodes.append((stump.feature_idx, stump.is_category, *places))
        self.cuts.append(stump.cut)

    def add_tree(self, tree: Tree, owner: int) -> None:
        """Add a tree's stumps, in their order."""
        first = len(self.nodes)
        heres = {0: 0}
        for position, (stump, children) in enumerate(
            zip(tree.stumps, tree.children, strict=True)
        ):
            below = tree.below_votes[position] if tree.below_votes else None
            ends = self.add_votes(stump.votes, owner, below)
            ways = []
            for side, child in enumerate(children):
                ways.append(~(ends + side) if child == LEAF else first + child)
                heres[child] = ends + side
            self.add_node(stump, ways, heres[position])

    def add_product(self, product: Product, owner: int) -> None:
        """Add a product: after the first stump one node for each sign so far."""
        product_votes = np.prod([stump.votes for stump in product.stumps], axis=0)
        ends = self.add_votes(tuple(product_votes.tolist()), owner)
        for position, stump in enumerate(product.stumps):
            n_signs = min(position, 1) + 1
            following = len(self.nodes) + n_signs
            is_last = position == len(product.stumps) - 1
            for sign in range(n_signs):
                ways = [
                    ~(ends + other) if is_last else following + other
                    for other in (sign, 1 - sign)
                ]
                self.add_node(stump, ways, 0, -1 if is_last else following)
