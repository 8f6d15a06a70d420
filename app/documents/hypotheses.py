"""Weak hypotheses in stored documents; children are positions or null."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from app.documents.shape import Many
from app.documents.stored import StoredShape
from core.errors import Refusal
from core.model.hypotheses import LEAF, Hypothesis, Product, Stump, Tree
from core.table.catalogue import Feature

MAX_STUMPS = 100_000

Votes = Many[Annotated[int, Field(ge=-1, le=1)]]
Alpha = Annotated[float, Field(ge=1e-300, le=1e6)] | None
Child = Annotated[int, Field(ge=1)] | None
Pair = Annotated[Many[Child], Field(min_length=2, max_length=2)]


class StumpShape(StoredShape):
    kind: Literal["stump"] = "stump"
    feature_idx: int = Field(ge=0)
    cut: float
    votes: Votes
    alpha: Alpha = None


Stumps = Annotated[Many[StumpShape], Field(min_length=1, max_length=MAX_STUMPS)]


class TreeShape(StoredShape):
    kind: Literal["tree"] = "tree"
    stumps: Stumps
    children: Many[Pair]
    below_votes: Many[Votes] | None = None
    alpha: Alpha = None


class ProductShape(StoredShape):
    kind: Literal["product"] = "product"
    stumps: Stumps
    alpha: Alpha = None


HypothesisShape = Annotated[
    StumpShape | TreeShape | ProductShape, Field(discriminator="kind")
]


def hypothesis_shape(one: Hypothesis, alpha: float | None = None) -> HypothesisShape:
    """Return the shape of a hypothesis; a model stores its alpha there too."""
    if isinstance(one, Stump):
        return StumpShape.of(one, alpha=alpha)
    if isinstance(one, Product):
        return ProductShape.of(one, alpha=alpha)
    children = [
        [None if child == LEAF else child for child in pair] for pair in one.children
    ]
    return TreeShape.of(one, children=children, alpha=alpha)


def check_hypothesis(
    shape: HypothesisShape, features: Sequence[Feature], n_outputs: int, where: str
) -> Iterator[Refusal]:
    """Yield what is wrong with a hypothesis; `where` begins every path."""
    if isinstance(shape, StumpShape):
        yield from check_stump(shape, features, n_outputs, where)
        return
    for position, one in enumerate(shape.stumps):
        yield from check_stump(one, features, n_outputs, f"{where}.stumps[{position}]")
    if isinstance(shape, TreeShape):
        yield from check_tree(shape, n_outputs, where)


def check_tree(shape: TreeShape, n_outputs: int, where: str) -> Iterator[Refusal]:
    """Yield what is wrong with a tree; each stump but the root is a child, once."""
    n_stumps = len(shape.stumps)
    named = sorted(child for pair in shape.children for child in pair if child)
    is_onward = all(
        child is None or child > position
        for position, pair in enumerate(shape.children)
        for child in pair
    )
    is_tree = named == list(range(1, n_stumps)) and len(shape.children) == n_stumps
    if not is_tree or not is_onward:
        rule = "must give two places for each stump: null, or a later stump, each once"
        yield Refusal(f"{where}.children", rule)
    if shape.below_votes is None:
        return
    if len(shape.below_votes) != n_stumps:
        yield Refusal(f"{where}.below_votes", "must be one for each stump")
    for position, votes in enumerate(shape.below_votes):
        if len(votes) != n_outputs or 0 in votes:
            place = f"{where}.below_votes[{position}]"
            yield Refusal(place, f"must be {n_outputs} of -1 or 1")


def check_stump(
    shape: StumpShape, features: Sequence[Feature], n_outputs: int, where: str
) -> Iterator[Refusal]:
    """Yield what is wrong with a stump: its feature, its category, its votes."""
    if shape.feature_idx >= len(features):
        yield Refusal(f"{where}.feature", f"must be from 0 to {len(features) - 1}")
    elif not is_cut(shape.cut, features[shape.feature_idx]):
        yield Refusal(f"{where}.cut", "must be a category's position")
    if len(shape.votes) != n_outputs or 0 in shape.votes:
        yield Refusal(f"{where}.votes", f"must be {n_outputs} of -1 or 1")


def is_cut(cut: float, feature: Feature) -> bool:
    return feature.type != "category" or cut in range(len(feature.categories))


def build_hypothesis(shape: HypothesisShape, features: Sequence[Feature]) -> Hypothesis:
    """Return a hypothesis; `check_hypothesis` holds the rules that it keeps."""
    if isinstance(shape, StumpShape):
        return build_stump(shape, features)
    stumps = tuple(build_stump(one, features) for one in shape.stumps)
    if isinstance(shape, ProductShape):
        return Product(stumps)
    children = tuple(
        (LEAF if above is None else above, LEAF if below is None else below)
        for above, below in shape.children
    )
    return Tree(stumps, children, shape.below_votes)


def build_stump(shape: StumpShape, features: Sequence[Feature]) -> Stump:
    is_category = features[shape.feature_idx].type == "category"
    return Stump(shape.feature_idx, shape.cut, shape.votes, is_category)
