"""Weak hypotheses in stored documents: each kind is one class."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from askless.app.documents.shape import Many
from askless.app.documents.stored import StoredShape
from askless.core.catalogue.catalogue import Feature
from askless.core.errors import Refusal
from askless.core.model.hypotheses import LEAF, Hypothesis, Product, Stump, Tree

MAX_STUMPS = 100_000

Votes = Many[Annotated[int, Field(ge=-1, le=1)]]
Alpha = Annotated[float, Field(ge=1e-300, le=1e6)] | None
Child = Annotated[int, Field(ge=1)] | None
Pair = Annotated[Many[Child], Field(min_length=2, max_length=2)]


class HypothesisShape(StoredShape):
    """A weak hypothesis; in a model also its alpha."""

    #: The class of core whose values it stores.
    holds: ClassVar[type[Hypothesis]]

    @classmethod
    def of_hypothesis(cls, hypothesis: Any, alpha: float | None) -> "HypothesisShape":
        """Build the shape of core's hypothesis."""
        return cls.of(hypothesis, alpha=alpha)

    @abstractmethod
    def check(
        self, features: Sequence[Feature], n_outputs: int, where: str
    ) -> Iterator[Refusal]:
        """Yield refusals of the hypothesis; `where` begins every path."""

    @abstractmethod
    def build(self, features: Sequence[Feature]) -> Hypothesis:
        """Return core's hypothesis; `check` must have passed."""


class StumpShape(HypothesisShape):
    holds = Stump

    kind: Literal["stump"] = "stump"
    feature_idx: int = Field(ge=0)
    cut: float
    votes: Votes
    alpha: Alpha = None

    def check(
        self, features: Sequence[Feature], n_outputs: int, where: str
    ) -> Iterator[Refusal]:
        if self.feature_idx >= len(features):
            yield Refusal(f"{where}.feature", f"must be from 0 to {len(features) - 1}")
        elif not is_valid_cut(self.cut, features[self.feature_idx]):
            yield Refusal(f"{where}.cut", "must be a category's position")
        if not are_valid_votes(self.votes, n_outputs):
            yield Refusal(f"{where}.votes", f"must be {n_outputs} of -1 or 1")

    def build(self, features: Sequence[Feature]) -> Stump:
        is_category = features[self.feature_idx].type == "category"
        return Stump(self.feature_idx, self.cut, self.votes, is_category)


Stumps = Annotated[Many[StumpShape], Field(min_length=1, max_length=MAX_STUMPS)]


class ProductShape(HypothesisShape):
    holds = Product

    kind: Literal["product"] = "product"
    stumps: Stumps
    alpha: Alpha = None

    def check(
        self, features: Sequence[Feature], n_outputs: int, where: str
    ) -> Iterator[Refusal]:
        for position, stump in enumerate(self.stumps):
            yield from stump.check(features, n_outputs, f"{where}.stumps[{position}]")

    def build(self, features: Sequence[Feature]) -> Product:
        return Product(tuple(stump.build(features) for stump in self.stumps))


class TreeShape(HypothesisShape):
    """A tree; a child is the position of a stump, or null where a path ends."""

    holds = Tree

    kind: Literal["tree"] = "tree"
    stumps: Stumps
    children: Many[Pair]
    below_votes: Many[Votes] | None = None
    alpha: Alpha = None

    @classmethod
    def of_hypothesis(cls, hypothesis: Any, alpha: float | None) -> "TreeShape":
        children = [
            [None if child == LEAF else child for child in pair]
            for pair in hypothesis.children
        ]
        return cls.of(hypothesis, children=children, alpha=alpha)

    def check(
        self, features: Sequence[Feature], n_outputs: int, where: str
    ) -> Iterator[Refusal]:
        for position, stump in enumerate(self.stumps):
            yield from stump.check(features, n_outputs, f"{where}.stumps[{position}]")
        if not self._is_tree():
            rule = (
                "must give two places for each stump: null, or a later stump, each once"
            )
            yield Refusal(f"{where}.children", rule)
        if self.below_votes is None:
            return
        if len(self.below_votes) != len(self.stumps):
            yield Refusal(f"{where}.below_votes", "must be one for each stump")
        for position, votes in enumerate(self.below_votes):
            if not are_valid_votes(votes, n_outputs):
                place = f"{where}.below_votes[{position}]"
                yield Refusal(place, f"must be {n_outputs} of -1 or 1")

    def _is_tree(self) -> bool:
        """Return whether each stump but the root is a child of one earlier stump."""
        n_stumps = len(self.stumps)
        children = sorted(child for pair in self.children for child in pair if child)
        is_forward = all(
            child is None or child > position
            for position, pair in enumerate(self.children)
            for child in pair
        )
        is_complete = children == list(range(1, n_stumps))
        return is_complete and is_forward and len(self.children) == n_stumps

    def build(self, features: Sequence[Feature]) -> Tree:
        children = tuple(
            (LEAF if above is None else above, LEAF if below is None else below)
            for above, below in self.children
        )
        stumps = tuple(stump.build(features) for stump in self.stumps)
        return Tree(stumps, children, self.below_votes)


Kinds = StumpShape | TreeShape | ProductShape
StoredHypothesis = Annotated[Kinds, Field(discriminator="kind")]
SHAPES: dict[type[Hypothesis], type[HypothesisShape]] = {
    kind.holds: kind for kind in get_args(Kinds)
}


def hypothesis_shape(
    hypothesis: Hypothesis, alpha: float | None = None
) -> HypothesisShape:
    """Return the shape of a hypothesis; in a model it has its alpha too."""
    return SHAPES[type(hypothesis)].of_hypothesis(hypothesis, alpha)


def is_valid_cut(cut: float, feature: Feature) -> bool:
    """Return whether a stump may cut there: at any number, or at a category's code."""
    return feature.type != "category" or cut in range(len(feature.categories))


def are_valid_votes(votes: Sequence[int], n_outputs: int) -> bool:
    """Return whether votes are -1 or 1, one for each output."""
    return len(votes) == n_outputs and 0 not in votes
