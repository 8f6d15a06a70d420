"""Weak hypotheses to and from JSON-able values."""

from __future__ import annotations

from collections.abc import Sequence

from core.codec.nodes import MAX_FLOAT, Json, Node
from core.model.hypotheses import LEAF, Hypothesis, Product, Stump, Tree
from core.table.catalogue import Feature

MAX_STUMPS = 100_000


def hypothesis_to_json(hypothesis: Hypothesis) -> Json:
    """Give a weak hypothesis as JSON-able values; children as positions or null."""
    if isinstance(hypothesis, Stump):
        return {
            "kind": "stump",
            "feature": hypothesis.feature_idx,
            "cut": hypothesis.cut,
            "votes": list(hypothesis.votes),
        }
    stumps = [hypothesis_to_json(stump) for stump in hypothesis.stumps]
    if isinstance(hypothesis, Product):
        return {"kind": "product", "stumps": stumps}
    children = [
        [None if child == LEAF else child for child in pair]
        for pair in hypothesis.children
    ]
    tree: Json = {"kind": "tree", "stumps": stumps, "children": children}
    if hypothesis.below_votes is not None:
        tree["below_votes"] = [list(votes) for votes in hypothesis.below_votes]
    return tree


def read_hypothesis(
    node: Node, features: Sequence[Feature], n_outputs: int
) -> Hypothesis:
    """Read a weak hypothesis; its features, categories and children must exist."""
    kind = node.choice("kind", ("stump", "tree", "product"))
    if kind == "stump":
        return read_stump(node, features, n_outputs)
    stumps = tuple(read_stump(one, features, n_outputs) for one in node.nodes("stumps"))
    node.require(1 <= len(stumps) <= MAX_STUMPS, "stumps", f"must be 1 to {MAX_STUMPS}")
    if kind == "product":
        return Product(stumps)
    below_votes = None
    if node.get("below_votes") is not None:
        rows = node.items("below_votes")
        node.require(
            len(rows) == len(stumps), "below_votes", "must be one for each stump"
        )
        below_votes = tuple(
            read_votes(Node({"votes": row}, f"{node.where}.below_votes"), n_outputs)
            for row in rows
        )
    return Tree(stumps, read_children(node, len(stumps)), below_votes)


def read_children(node: Node, n_stumps: int) -> tuple[tuple[int, int], ...]:
    """Read where a tree goes on: each stump but the root is the child of one before."""
    pairs = node.items("children")
    rule = "must give two places for each stump: null, or a later stump, each once"
    children: list[tuple[int, int]] = []
    for position, pair in enumerate(pairs):
        is_pair = isinstance(pair, list) and len(pair) == 2
        node.require(is_pair, "children", rule)
        for child in pair:
            is_later = type(child) is int and position < child < n_stumps
            node.require(child is None or is_later, "children", rule)
        above, below = (LEAF if child is None else child for child in pair)
        children.append((above, below))
    named = sorted(child for pair in children for child in pair if child != LEAF)
    is_tree = len(children) == n_stumps and named == list(range(1, n_stumps))
    node.require(is_tree, "children", rule)
    return tuple(children)


def read_stump(node: Node, features: Sequence[Feature], n_outputs: int) -> Stump:
    """Read a stump; its feature and its category must exist."""
    feature_idx = node.integer("feature", 0, len(features) - 1)
    feature = features[feature_idx]
    is_category = feature.type == "category"
    cut = node.number("cut", -MAX_FLOAT, MAX_FLOAT)
    if is_category:
        cut = float(node.integer("cut", 0, len(feature.categories) - 1))
    return Stump(feature_idx, cut, read_votes(node, n_outputs), is_category)


def read_votes(node: Node, n_outputs: int) -> tuple[int, ...]:
    """Read one vote per output."""
    votes = tuple(node.items("votes"))
    is_signs = all(type(vote) is int and vote in (-1, 1) for vote in votes)
    rule = f"must be {n_outputs} of -1 or 1"
    node.require(is_signs and len(votes) == n_outputs, "votes", rule)
    return votes
