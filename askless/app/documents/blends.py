"""Blends in a model's document: columns, trees and ridges that predict."""

from typing import Annotated, Any

import numpy as np
from annotated_types import Interval
from pydantic import Field

from askless.app.documents.shape import Many
from askless.app.documents.stored import Stored, StoredShape, write
from askless.core import kernels
from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.model.blends import Blend, KernelRidge, LogisticRidge, Trees
from askless.core.model.columns import Columns
from askless.core.model.ranges import Numbers, Positions, Shares

Nodes = Annotated[IntArray, Interval(ge=-(2**31), le=2**31)]


class TreesShape(StoredShape):
    """Arrays with one entry for each node; a child -1 - s means the step s."""

    starts: Stored[Numbers]
    features: Stored[Positions]
    cuts: Stored[Numbers]
    is_category: Stored[BoolArray]
    missing_below: Stored[BoolArray]
    below: Stored[Nodes]
    above: Stored[Nodes]
    roots: Stored[Nodes]
    outputs: Stored[Positions]
    steps: Stored[Numbers]
    #: share of the rows at a node that went below; older files have none
    shares: Stored[Shares] | None = None


Ridge = Annotated[
    Stored[KernelRidge] | Stored[LogisticRidge], Field(discriminator="kind")
]


class BlendShape(StoredShape):
    #: in older files; newer ones have them in a space
    columns: Stored[Columns] | None = None
    trees: TreesShape
    ridges: Many[Ridge]
    weights: Stored[Annotated[FloatArray, Interval(ge=0, le=1e6)]]


def blend_to_json(blend: Blend, *, has_columns: bool) -> dict[str, Any]:
    """Return a blend as JSON-able values, with its columns unless a space has them."""
    document = {
        "trees": trees_to_json(blend.trees),
        "ridges": write(blend.ridges),
        "weights": write(blend.weights),
    }
    return document | ({"columns": write(blend.columns)} if has_columns else {})


def trees_to_json(trees: Trees) -> dict[str, Any]:
    """Return trees as JSON-able values."""
    served, nodes = trees.served, trees.served.nodes
    arrays = {
        "starts": trees.starts,
        "features": nodes[:, kernels.READS],
        "cuts": served.cuts,
        "is_category": nodes[:, kernels.KIND] == kernels.IS_CATEGORY,
        "missing_below": nodes[:, kernels.MISSING_BELOW] == 1,
        "below": nodes[:, kernels.BELOW],
        "above": nodes[:, kernels.ABOVE],
        "roots": served.roots,
        "outputs": served.outputs,
        "steps": served.steps,
        "shares": served.shares,
    }
    return {name: array.tolist() for name, array in arrays.items()}


def build_blend(shape: BlendShape, columns: Columns | None) -> Blend:
    """Return a blend; `columns` are those of its space, None where it has its own."""
    if shape.columns is not None:
        columns = shape.columns
    assert columns is not None, "`check_columns` refuses a blend without any"
    return Blend(columns, build_trees(shape.trees), shape.ridges, shape.weights)


def build_trees(shape: TreesShape) -> Trees:
    """Return trees as kernels read them."""
    nodes = np.zeros((len(shape.features), kernels.N_NODE), np.int64)
    nodes[:, kernels.READS] = shape.features
    nodes[:, kernels.KIND] = np.where(
        shape.is_category, kernels.IS_CATEGORY, kernels.IS_NUMBER
    )
    nodes[:, kernels.MISSING_BELOW] = shape.missing_below
    nodes[:, kernels.BELOW] = shape.below
    nodes[:, kernels.ABOVE] = shape.above
    # Older files have no shares: as many rows count as below as above.
    shares = np.full(len(nodes), 0.5) if shape.shares is None else shape.shares
    served = kernels.ServedTrees(
        nodes, shape.cuts, shape.roots, shape.outputs, shape.steps, shares
    )
    return Trees(shape.starts, served)
