"""Whether the parts of panels in a model's document fit one another."""

from collections.abc import Iterator

import numpy as np

from app.documents.panels import (
    BlendShape,
    KernelShape,
    PanelLadderShape,
    RidgeShape,
    TreesShape,
)
from app.documents.routes import check_route
from app.documents.stopping import check_stopping
from core.errors import Refusal
from core.model.routes import MAIN

# Numbers that the waves of a kernel are drawn from, and those of a model: a short
# document could ask for any amount of memory.
MAX_DRAWS, MAX_ALL_DRAWS = 2**27, 2**30


def check_panels(
    shape: PanelLadderShape | None, n_features: int, n_outputs: int
) -> Iterator[Refusal]:
    """Yield what is wrong with panels: parts that don't fit one another."""
    if shape is None:
        return
    where = "model.panels"
    if len(shape.starts) != n_outputs:
        yield Refusal(f"{where}.starts", f"must be {n_outputs} numbers")
    if not any(not one.feature_idxs for one in shape.panels):
        yield Refusal(f"{where}.panels", "must have one without features")
    for position, one in enumerate(shape.panels):
        place = f"{where}.panels[{position}]"
        idxs = set(one.feature_idxs)
        if len(idxs) < len(one.feature_idxs) or max(idxs, default=0) >= n_features:
            rule = f"must be different positions below {n_features}"
            yield Refusal(f"{place}.features", rule)
        if not idxs.issuperset(one.may_lack):
            yield Refusal(f"{place}.may_lack", "must be among the features")
        if (one.blend is None) != (not idxs):
            yield Refusal(f"{place}.blend", "is there exactly where features are")
        elif one.blend is not None:
            yield from check_blend(one.blend, idxs, n_outputs, f"{place}.blend")
    blends = (one.blend for one in shape.panels if one.blend is not None)
    n_draws = (count_draws(one, ridge) for one in blends for ridge in one.ridges)
    if sum(n_draws) > MAX_ALL_DRAWS:
        rule = "must have fewer kernels, or these fewer columns"
        yield Refusal(f"{where}.panels", rule)
    n_main = len(shape.panels)
    if shape.route is not None:
        n_main = list(shape.route.parts).count(MAIN)
    yield from check_stopping(shape.stopping, n_main, f"{where}.stopping")
    sets = [set(one.feature_idxs) for one in shape.panels]
    yield from check_route(shape.route, sets, n_features)


def check_blend(
    shape: BlendShape, idxs: set[int], n_outputs: int, where: str
) -> Iterator[Refusal]:
    """Yield what is wrong with a blend of some features."""
    columns = dict(shape.columns)
    n_columns = len(shape.columns.feature_idxs)
    if {len(one) for one in columns.values()} != {n_columns} or not n_columns:
        yield Refusal(f"{where}.columns", "lists must be of one length, not empty")
    if not idxs.issuperset(shape.columns.feature_idxs):
        yield Refusal(f"{where}.columns.features", "must be among those of the panel")
    if len(shape.weights) != 1 + len(shape.ridges):
        rule = "must be one for the trees and one for each ridge"
        yield Refusal(f"{where}.weights", rule)
    for number, ridge in enumerate(shape.ridges):
        place = f"{where}.ridges[{number}]"
        n_rows, is_kernel = n_columns, isinstance(ridge, KernelShape)
        if isinstance(ridge, KernelShape):
            n_rows = len(ridge.coefficients)
            if count_draws(shape, ridge) > MAX_DRAWS:
                yield Refusal(place, "must have fewer columns or coefficients")
            if len(ridge.stretches) != n_columns:
                yield Refusal(f"{place}.stretches", f"must be {n_columns} numbers")
        is_even = n_rows % 2 == 0 and n_rows > 0 if is_kernel else True
        widths = {len(ridge.offsets), *map(len, ridge.coefficients)}
        if widths != {n_outputs} or len(ridge.coefficients) != n_rows or not is_even:
            rule = f"must be rows of {n_outputs} numbers, as many as it has inputs"
            yield Refusal(f"{place}.coefficients", rule)
    yield from check_trees(shape.trees, idxs, n_outputs, f"{where}.trees")


def count_draws(shape: BlendShape, ridge: RidgeShape) -> int:
    """Return how many numbers a ridge draws: blocks of its columns squared."""
    if not isinstance(ridge, KernelShape):
        return 0
    n_columns = len(shape.columns.feature_idxs)
    return n_columns * max(n_columns, len(ridge.coefficients) // 2)


def check_trees(
    shape: TreesShape, idxs: set[int], n_outputs: int, where: str
) -> Iterator[Refusal]:
    """Yield what is wrong with trees: a child comes after its node, so all end.

    And after one node only: trees that share nodes would make a short document one of
    endless work.
    """
    n_nodes, n_steps = len(shape.features), len(shape.steps)
    per_node = shape.cuts, shape.is_category, shape.missing_below
    if {*map(len, (*per_node, shape.below, shape.above)), n_nodes} != {n_nodes}:
        yield Refusal(where, "lists of nodes must be of one length")
        return
    if not idxs.issuperset(shape.features):
        yield Refusal(f"{where}.features", "must be among those of the panel")
    if len(shape.roots) != len(shape.outputs) or len(shape.starts) != n_outputs:
        yield Refusal(where, f"must have an output per root, and {n_outputs} starts")
    if max(shape.outputs, default=0) >= n_outputs:
        yield Refusal(f"{where}.outputs", f"must be below {n_outputs}")
    below, above, own = np.array(shape.below), np.array(shape.above), np.arange(n_nodes)
    children = np.concatenate((below, above, np.array(shape.roots)))
    after = np.concatenate((own, own, np.full(len(shape.roots), -1)))
    is_node = children >= 0
    is_wrong = np.where(
        is_node, (children <= after) | (children >= n_nodes), children < -n_steps
    )
    if is_wrong.any():
        yield Refusal(where, "a child must be a later node, or a step that is there")
    elif np.unique(children[is_node]).size < is_node.sum():
        yield Refusal(where, "a node must be the child of one node, or a root")
