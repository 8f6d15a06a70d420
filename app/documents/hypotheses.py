"""Weak hypotheses of a stored document; children as positions or null."""

from collections.abc import Sequence
from typing import Annotated, Literal, NoReturn

from pydantic import Field

from app.documents.shape import Many, StoredShape
from core.errors import Refusal, RefusedError
from core.model.hypotheses import LEAF, Hypothesis, Product, Stump, Tree
from core.table.catalogue import Feature

MAX_STUMPS = 100_000

Votes = Many[Annotated[int, Field(ge=-1, le=1)]]
Alpha = Annotated[float, Field(ge=1e-300, le=1e6)] | None
Child = Annotated[int, Field(ge=1)] | None
Pair = Annotated[Many[Child], Field(min_length=2, max_length=2)]


class StumpShape(StoredShape):
    kind: Literal["stump"] = "stump"
    feature_idx: int = Field(ge=0, alias="feature")
    cut: float
    votes: Votes
    alpha: Alpha = None


Stumps = Annotated[
    Many[StumpShape], Field(min_length=1, max_length=MAX_STUMPS, fail_fast=True)
]


class TreeShape(StoredShape):
    kind: Literal["tree"] = "tree"
    stumps: Stumps
    children: Annotated[Many[Pair], Field(fail_fast=True)]
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
    """Return a hypothesis as its document has it, in a model with its alpha."""
    if isinstance(one, Stump):
        return StumpShape.of(one, alpha=alpha)
    if isinstance(one, Product):
        return ProductShape.of(one, alpha=alpha)
    children = [
        [None if child == LEAF else child for child in pair] for pair in one.children
    ]
    return TreeShape.of(one, children=children, alpha=alpha)


def build_hypothesis(
    shape: HypothesisShape, features: Sequence[Feature], n_outputs: int, where: str
) -> Hypothesis:
    """Return a hypothesis whose features, categories and children exist."""
    if isinstance(shape, StumpShape):
        return build_stump(shape, features, n_outputs, where)
    stumps = tuple(
        build_stump(one, features, n_outputs, f"{where}.stumps[{position}]")
        for position, one in enumerate(shape.stumps)
    )
    if isinstance(shape, ProductShape):
        return Product(stumps)
    if len(shape.below_votes or stumps) != len(stumps):
        refuse_at(f"{where}.below_votes", "must be one for each stump")
    for votes in shape.below_votes or ():
        check_votes(votes, n_outputs, f"{where}.below_votes")
    return Tree(stumps, build_children(shape, where), shape.below_votes)


def build_children(shape: TreeShape, where: str) -> tuple[tuple[int, int], ...]:
    """Return where a tree goes on; each stump but the root is a child, once."""
    named = sorted(child for pair in shape.children for child in pair if child)
    is_tree = named == list(range(1, len(shape.stumps)))
    is_onward = all(
        child is None or child > position
        for position, pair in enumerate(shape.children)
        for child in pair
    )
    if not is_tree or not is_onward or len(shape.children) != len(shape.stumps):
        rule = "must give two places for each stump: null, or a later stump, each once"
        refuse_at(f"{where}.children", rule)
    return tuple(
        (LEAF if above is None else above, LEAF if below is None else below)
        for above, below in shape.children
    )


def build_stump(
    shape: StumpShape, features: Sequence[Feature], n_outputs: int, where: str
) -> Stump:
    """Return a stump whose feature and category exist."""
    if shape.feature_idx >= len(features):
        refuse_at(f"{where}.feature", f"must be from 0 to {len(features) - 1}")
    feature = features[shape.feature_idx]
    is_category = feature.type == "category"
    if is_category and shape.cut not in range(len(feature.categories)):
        refuse_at(f"{where}.cut", "must be a category's position")
    check_votes(shape.votes, n_outputs, where)
    return Stump(shape.feature_idx, shape.cut, shape.votes, is_category)


def check_votes(votes: Votes, n_outputs: int, where: str) -> None:
    """Refuse votes that are not one per output."""
    if len(votes) != n_outputs or 0 in votes:
        refuse_at(f"{where}.votes", f"must be {n_outputs} of -1 or 1")


def refuse_at(where: str, rule: str) -> NoReturn:
    raise RefusedError([Refusal(where, rule)])
