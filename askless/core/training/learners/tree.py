"""The learner `tree`: stumps asked one after the other, grown leaf by leaf."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from askless.core.model.hypotheses import LEAF, Stump, Tree
from askless.core.training.learner import (
    Choice,
    Learner,
    RoundSearch,
    argmax_first,
    choose_candidate,
    is_significantly_better,
    make_stump,
)
from askless.core.training.shards.histograms import Candidates
from askless.core.training.shards.weights import Place


@dataclass(frozen=True)
class Leaf:
    """Rows that end in one place: beside stump `parent`, on `side` 0 (above) or 1."""

    parent: int
    side: int
    place: Place
    candidates: Candidates


class GrowingTree:
    """A tree while it grows; `leaves` but for the two newest, below the last stump."""

    def __init__(self, search: RoundSearch, roots: Candidates, position: int) -> None:
        self.leaves: list[Leaf] = []
        self.edge = 0.0
        self.present = float(roots.presents[position])
        self.stumps: list[Stump] = []
        self.codes: list[int] = []
        self.children: list[list[int]] = []
        self._search = search
        self.add(search.weights.root_place(), roots, position)

    @property
    def feature_idxs(self) -> tuple[int, ...]:
        """Features that the tree reads so far."""
        return tuple(dict.fromkeys(stump.feature_idx for stump in self.stumps))

    def add(self, place: Place, candidates: Candidates, position: int) -> None:
        """Append a candidate as a stump that splits the rows of a place."""
        self.place = place
        self.edge += float(candidates.edges[position])
        self.stumps.append(
            make_stump(self._search.weights.binned, candidates, position)
        )
        self.codes.append(int(candidates.cuts[position]))
        self.children.append([LEAF, LEAF])

    def search_splits(self) -> None:
        """Search for the stumps that could split the two newest leaves."""
        stump, weights = self.stumps[-1], self._search.weights
        places = weights.split(self.place, stump.feature_idx, self.codes[-1])
        # Below its cut a stump votes the opposite.
        against = tuple(-vote for vote in stump.votes)
        for side, votes in enumerate((stump.votes, against)):
            place = places[side]
            search_place = partial(weights.search_splits, place, votes)
            candidates = self._search.search_picked(search_place)
            self.leaves.append(Leaf(len(self.stumps) - 1, side, place, candidates))

    def split(self, leaf: Leaf, position: int) -> None:
        """Split a leaf by one of its candidates."""
        self.leaves = [
            growing_leaf for growing_leaf in self.leaves if growing_leaf is not leaf
        ]
        self.children[leaf.parent][leaf.side] = len(self.stumps)
        self.add(leaf.place, leaf.candidates, position)

    def to_choice(self) -> Choice:
        """Return the tree; a stump where it has one only."""
        codes = tuple(self.codes)
        if len(self.stumps) == 1:
            return Choice(self.stumps[0], self.edge, self.present, codes)
        children = tuple((above, below) for above, below in self.children)
        tree = Tree(tuple(self.stumps), children)
        return Choice(tree, self.edge, self.present, codes)


@dataclass(frozen=True)
class TreeLearner(Learner):
    """Grows a tree of at most `leaves` leaves by what the rule makes of it.

    Notes
    -----
    Kegl and Busa-Fekete (2009), section 2.1: the stump optimiser looks for the
    stump that improves the edge of a leaf most, and the leaf of largest improvement
    is split, here of largest score by the rule with the edge and the costs of the
    tree that comes of it. A split that lowers the score is not made, so where
    features cost, a tree may stay smaller; with `adaboost` it has `leaves` leaves
    unless no split improves its edge. Ties go to the older leaf (above before
    below), then to the lowest feature.
    """

    name: ClassVar[str] = "tree"

    leaves: int

    @property
    def n_places(self) -> int:
        """One place for each leaf, since the sums of every leaf are kept."""
        return self.leaves

    def fit(self, search: RoundSearch, roots: Candidates) -> Choice | None:
        """Return the tree; a stump where no split improves it."""
        scorer = search.scorer
        position, score = choose_candidate(roots, scorer)
        if position < 0:
            return None
        tree = GrowingTree(search, roots, position)
        while len(tree.stumps) + 1 < self.leaves:
            tree.search_splits()
            already = tree.feature_idxs
            choices = [
                choose_candidate(
                    leaf.candidates, scorer, tree.edge, tree.present, already
                )
                for leaf in tree.leaves
            ]
            best = argmax_first(np.array([leaf_score for _, leaf_score in choices]))
            position, best_score = choices[best]
            if not is_significantly_better(best_score, score):
                break
            score = best_score
            tree.split(tree.leaves[best], position)
        return tree.to_choice()
