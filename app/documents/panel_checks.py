"""Whether the parts of panels in a model's document fit one another."""

from collections.abc import Iterator

import numpy as np

from app.documents.blends import (
    BlendShape,
    ColumnsShape,
    KernelShape,
    RidgeShape,
    SpaceShape,
    TreesShape,
    square,
)
from app.documents.panels import PanelLadderShape, PanelShape, find_spaces
from app.documents.routes import check_route
from app.documents.stopping import check_stopping
from core.arrays import FloatArray
from core.errors import Refusal
from core.model.routes import MAIN

# Numbers that the waves of a kernel are drawn from, and those of a model: a short
# document could ask for any amount of memory.
MAX_DRAWS, MAX_ALL_DRAWS = 2**27, 2**30

# Numbers of a covariance: that of a training has some 33,000.
MAX_COVARIANCE = 2**18


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
        if one.rises is not None and len(one.rises) != len(one.feature_idxs):
            yield Refusal(f"{place}.rises", "must be one number for each feature")
        if (one.blend is None) != (not idxs):
            yield Refusal(f"{place}.blend", "is there exactly where features are")
        elif one.blend is not None:
            yield from check_blend(one.blend, idxs, n_outputs, f"{place}.blend")
    if len({one.rises is None for one in shape.panels}) > 1:
        yield Refusal(f"{where}.panels", "must all have rises, or none")
    n_main = len(shape.panels)
    if shape.route is not None:
        n_main = list(shape.route.parts).count(MAIN)
    yield from check_stopping(shape.stopping, n_main, f"{where}.stopping")
    sets = [set(one.feature_idxs) for one in shape.panels]
    yield from check_route(shape.route, sets, n_features)
    yield from check_columns(shape, where)


def check_columns(shape: PanelLadderShape, where: str) -> Iterator[Refusal]:
    """Yield what is wrong with spaces, with blends' columns and what reads them."""
    n_parts = len({MAIN, *(() if shape.route is None else shape.route.parts)})
    if len(shape.spaces) not in (0, n_parts):
        yield Refusal(f"{where}.spaces", f"must be {n_parts}, or none")
        return
    if shape.route is not None and len(shape.route.parts) != len(shape.panels):
        return
    for number, space in enumerate(shape.spaces):
        yield from check_space(space, f"{where}.spaces[{number}]")
    n_draws, pairs = 0, zip(shape.panels, find_spaces(shape), strict=True)
    for position, (one, place) in enumerate(pairs):
        if one.blend is None:
            continue
        at = f"{where}.panels[{position}].blend"
        if (one.blend.columns is None) != bool(shape.spaces):
            rule = "is there exactly where there are no spaces"
            yield Refusal(f"{at}.columns", rule)
            return
        if one.blend.columns is None:
            read = shape.spaces[place].feature_idxs
            n_columns = sum(idx in one.feature_idxs for idx in read)
            if not n_columns:
                yield Refusal(at, "must read a column of its space")
        else:
            yield from check_own_columns(one, one.blend.columns, f"{at}.columns")
            n_columns = len(one.blend.columns.feature_idxs)
        yield from check_ridges(one.blend, n_columns, at)
        n_draws += sum(count_draws(n_columns, ridge) for ridge in one.blend.ridges)
    if n_draws > MAX_ALL_DRAWS:
        rule = "must have fewer kernels, or these fewer columns"
        yield Refusal(f"{where}.panels", rule)


def check_own_columns(
    panel: PanelShape, shape: ColumnsShape, where: str
) -> Iterator[Refusal]:
    """Yield what is wrong with the columns that a blend has of its own."""
    n_columns = len(shape.feature_idxs)
    if {len(one) for one in dict(shape).values()} != {n_columns} or not n_columns:
        yield Refusal(where, "lists must be of one length, not empty")
    if not set(panel.feature_idxs).issuperset(shape.feature_idxs):
        yield Refusal(f"{where}.features", "must be among those of the panel")


def check_space(shape: SpaceShape, where: str) -> Iterator[Refusal]:
    """Yield what is wrong with the columns of many panels."""
    told = dict(shape)
    upper, n_columns = told.pop("covariance"), len(shape.feature_idxs)
    if {len(one) for one in told.values()} != {n_columns}:
        yield Refusal(where, "lists must be of one length, but the covariance")
    covariance = square(upper) if len(upper) <= MAX_COVARIANCE else None
    if covariance is None or len(covariance) > n_columns:
        rule = "must be the upper half of a matrix of the first columns"
        yield Refusal(f"{where}.covariance", rule)
    elif not is_positive(covariance):
        yield Refusal(f"{where}.covariance", "must be positive definite")


def is_positive(covariance: FloatArray) -> bool:
    """Return whether a matrix is positive definite: columns can be told by others."""
    try:
        np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return False
    return True


def check_blend(
    shape: BlendShape, idxs: set[int], n_outputs: int, where: str
) -> Iterator[Refusal]:
    """Yield what is wrong with a blend of some features, but for its columns."""
    if len(shape.weights) != 1 + len(shape.ridges):
        rule = "must be one for the trees and one for each ridge"
        yield Refusal(f"{where}.weights", rule)
    for number, ridge in enumerate(shape.ridges):
        widths = {len(ridge.offsets), *map(len, ridge.coefficients)}
        if widths != {n_outputs}:
            rule = f"must be rows of {n_outputs} numbers, as many as it has inputs"
            yield Refusal(f"{where}.ridges[{number}].coefficients", rule)
    yield from check_trees(shape.trees, idxs, n_outputs, f"{where}.trees")


def check_ridges(shape: BlendShape, n_columns: int, where: str) -> Iterator[Refusal]:
    """Yield what is wrong with ridges on so many columns."""
    for number, ridge in enumerate(shape.ridges):
        place, n_rows = f"{where}.ridges[{number}]", len(ridge.coefficients)
        is_right = n_rows == n_columns
        if isinstance(ridge, KernelShape):
            is_right = n_rows % 2 == 0 and n_rows > 0
            if count_draws(n_columns, ridge) > MAX_DRAWS:
                yield Refusal(place, "must have fewer columns or coefficients")
            if len(ridge.stretches) != n_columns:
                yield Refusal(f"{place}.stretches", f"must be {n_columns} numbers")
        if not is_right:
            rule = "must be as many rows as it has inputs"
            yield Refusal(f"{place}.coefficients", rule)


def count_draws(n_columns: int, ridge: RidgeShape) -> int:
    """Return how many numbers a ridge draws: blocks of its columns squared."""
    if not isinstance(ridge, KernelShape):
        return 0
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
    if shape.shares is not None and len(shape.shares) != n_nodes:
        yield Refusal(f"{where}.shares", "must be one for each node")
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
