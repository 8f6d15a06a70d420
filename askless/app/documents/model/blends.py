"""Blends in a model's document: columns, trees and ridges that predict."""

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval
from pydantic import Field

from askless.app.documents.shape import Many
from askless.app.documents.stored import Stored, StoredShape, to_json_value
from askless.core import kernels
from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.model.ladder.blends import Blend, KernelRidge, LogisticRidge, Trees
from askless.core.model.ladder.columns import Columns
from askless.core.model.ladder.tables import TableMember
from askless.core.model.ranges import Below, Each, Numbers, Positions, Shares

Nodes = Annotated[IntArray, Interval(ge=-(2**31), le=2**31)]


class TreesShape(StoredShape):
    """Arrays with one entry for each node; a child -1 - s means the step s."""

    starts: Annotated[Stored[Numbers], Each("outputs")]
    features: Annotated[Stored[Positions], Below("features")]
    cuts: Annotated[Stored[Numbers], Each("nodes")]
    is_category: Annotated[Stored[BoolArray], Each("nodes")]
    missing_below: Annotated[Stored[BoolArray], Each("nodes")]
    below: Annotated[Stored[Nodes], Each("nodes")]
    above: Annotated[Stored[Nodes], Each("nodes")]
    roots: Stored[Nodes]
    outputs: Annotated[Stored[Positions], Each("roots"), Below("outputs")]
    steps: Stored[Numbers]
    #: share of the rows at a node that went below
    shares: Annotated[Stored[Shares], Each("nodes")]

    @property
    def sizes(self) -> dict[str, int]:
        return {"nodes": len(self.features), "roots": len(self.roots)}


Ridge = Annotated[
    Stored[KernelRidge] | Stored[LogisticRidge], Field(discriminator="kind")
]


class BlendShape(StoredShape):
    trees: TreesShape
    ridges: Many[Ridge]
    weights: Stored[Annotated[FloatArray, Interval(ge=0, le=1e6)]]
    #: where it reads the tables of the panels
    tables_weight: Annotated[float, Interval(gt=0, le=1e6)] | None = None


def blend_to_json(blend: Blend) -> dict[str, Any]:
    """Return a blend as JSON-able values, without its columns: a space has them."""
    document = {
        "trees": trees_to_json(blend.trees),
        "ridges": to_json_value(blend.ridges),
        "weights": to_json_value(blend.weights),
    }
    if blend.tables is not None:
        document["tables_weight"] = blend.tables_weight
    return document


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


def build_blend(
    shape: BlendShape, columns: Columns, tables: TableMember | None
) -> Blend:
    """Return a blend; `columns` are those of its space.

    `tables` are those of its features, which it reads where it has a weight for them.
    """
    blend = Blend(columns, build_trees(shape.trees), shape.ridges, shape.weights)
    if shape.tables_weight is None:
        return blend
    return replace(blend, tables=tables, tables_weight=shape.tables_weight)


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
    served = kernels.ServedTrees(
        nodes, shape.cuts, shape.roots, shape.outputs, shape.steps, shape.shares
    )
    return Trees(shape.starts, served)
