"""Blends in a model's document: columns, trees and ridges that predict."""

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from app.documents.shape import Many, StoredShape
from core import kernels
from core.arrays import FloatArray
from core.model.blends import Blend, KernelRidge, LogisticRidge, Trees
from core.model.columns import ALONE, Columns

Idx = Annotated[int, Field(ge=0, le=2**31)]
Node = Annotated[int, Field(ge=-(2**31), le=2**31)]
Number = Annotated[float, Field(ge=-1e300, le=1e300)]
Positive = Annotated[float, Field(gt=0, le=1e300)]
Share = Annotated[float, Field(ge=0, le=1)]


class ColumnsShape(StoredShape):
    feature_idxs: Many[Idx] = Field(alias="features")
    codes: Many[Annotated[int, Field(ge=-2, le=2**31)]]
    lows: Many[Number]
    highs: Many[Number]
    means: Many[Number]
    scales: Many[Positive]


class SpaceShape(ColumnsShape):
    """Columns, and row by row the upper half of the covariance of the first of them."""

    covariance: Many[Number]


class TreesShape(StoredShape):
    """Nodes one after the other; a child below 0 is -1 - s of the step s."""

    starts: Many[Number]
    features: Many[Idx]
    cuts: Many[Number]
    is_category: Many[bool]
    missing_below: Many[bool]
    below: Many[Node]
    above: Many[Node]
    roots: Many[Node]
    outputs: Many[Idx]
    steps: Many[Number]
    #: of rows that came to a node, those that went below; older files have none
    shares: Many[Share] | None = None


class KernelShape(StoredShape):
    kind: Literal["laplace", "gauss"]
    width: Positive
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)]
    stretches: Many[Number]
    coefficients: Many[Many[Number]]
    offsets: Many[Number]
    slope: Number


class LogisticShape(StoredShape):
    kind: Literal["logistic"]
    coefficients: Many[Many[Number]]
    offsets: Many[Number]


RidgeShape = Annotated[KernelShape | LogisticShape, Field(discriminator="kind")]


class BlendShape(StoredShape):
    #: of older files; else they are those of a space
    columns: ColumnsShape | None = None
    trees: TreesShape
    ridges: Many[RidgeShape]
    weights: Many[Annotated[float, Field(ge=0, le=1e6)]]


def blend_to_json(blend: Blend, *, has_columns: bool) -> dict[str, Any]:
    """Return a blend as JSON-able values, its columns only if they are no space's."""
    told: dict[str, Any] = {
        "trees": trees_to_json(blend.trees),
        "ridges": [
            listed(ridge) | ({} if isinstance(ridge, KernelRidge) else LOGISTIC)
            for ridge in blend.ridges
        ],
        "weights": blend.weights.tolist(),
    }
    if has_columns:
        told["columns"] = columns_to_json(blend.columns)
    return told


def columns_to_json(columns: Columns) -> dict[str, Any]:
    """Return columns as JSON-able values."""
    told = listed(columns)
    del told["places"], told["covariance"]
    return {"features": told.pop("feature_idxs"), **told}


def space_to_json(space: Columns) -> dict[str, Any]:
    """Return columns and their covariance as JSON-able values."""
    covariance = space.covariance
    assert covariance is not None, "a space has one"
    upper = covariance[np.triu_indices(len(covariance))]
    return columns_to_json(space) | {"covariance": upper.tolist()}


LOGISTIC = {"kind": "logistic"}


def listed(holder: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, arrays as lists."""
    values = {one.name: getattr(holder, one.name) for one in fields(holder)}
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in values.items()
    }


def trees_to_json(trees: Trees) -> dict[str, Any]:
    """Return trees as JSON-able values."""
    served = trees.served
    nodes = served.nodes
    return {
        "starts": trees.starts.tolist(),
        "features": nodes[:, kernels.READS].tolist(),
        "cuts": served.cuts.tolist(),
        "is_category": (nodes[:, kernels.KIND] == kernels.IS_CATEGORY).tolist(),
        "missing_below": (nodes[:, kernels.MISSING_BELOW] == 1).tolist(),
        "below": nodes[:, kernels.BELOW].tolist(),
        "above": nodes[:, kernels.ABOVE].tolist(),
        "roots": served.roots.tolist(),
        "outputs": served.outputs.tolist(),
        "steps": served.steps.tolist(),
        "shares": served.shares.tolist(),
    }


def build_blend(shape: BlendShape, columns: Columns | None) -> Blend:
    """Return a blend from its document; None: it has its columns itself."""
    if shape.columns is not None:
        columns = build_columns(shape.columns)
    assert columns is not None, "`check_panels` has found some"
    return Blend(
        columns=columns,
        trees=build_trees(shape.trees),
        ridges=tuple(build_ridge(one) for one in shape.ridges),
        weights=np.array(shape.weights, np.float64),
    )


def build_columns(shape: ColumnsShape) -> Columns:
    """Return columns from their document."""
    return Columns(
        np.array(shape.feature_idxs, np.int64),
        np.array(shape.codes, np.int64),
        np.array(shape.lows, np.float64),
        np.array(shape.highs, np.float64),
        np.array(shape.means, np.float64),
        np.array(shape.scales, np.float64),
    )


def build_space(shape: SpaceShape) -> Columns:
    """Return columns and their covariance from their document."""
    covariance = square(shape.covariance)
    assert covariance is not None, "it was checked"
    places = np.arange(len(shape.codes))
    places[len(covariance) :] = ALONE
    return replace(build_columns(shape), places=places, covariance=covariance)


def square(upper: Sequence[float]) -> FloatArray | None:
    """Return the symmetric matrix of an upper half; None where it is none."""
    size = math.isqrt(2 * len(upper))
    if size * (size + 1) // 2 != len(upper):
        return None
    whole = np.zeros((size, size))
    whole[np.triu_indices(size)] = upper
    return whole + np.triu(whole, 1).T


def build_trees(shape: TreesShape) -> Trees:
    """Return trees from their document."""
    nodes = np.zeros((len(shape.features), kernels.N_NODE), np.int64)
    nodes[:, kernels.READS] = shape.features
    nodes[:, kernels.KIND] = np.where(
        shape.is_category, kernels.IS_CATEGORY, kernels.IS_NUMBER
    )
    nodes[:, kernels.MISSING_BELOW] = shape.missing_below
    nodes[:, kernels.BELOW] = shape.below
    nodes[:, kernels.ABOVE] = shape.above
    served = kernels.ServedTrees(
        nodes,
        np.array(shape.cuts, np.float64),
        np.array(shape.roots, np.int64),
        np.array(shape.outputs, np.int64),
        np.array(shape.steps, np.float64),
        np.array(shape.shares or [0.5] * len(nodes), np.float64),
    )
    return Trees(np.array(shape.starts, np.float64), served)


def build_ridge(shape: KernelShape | LogisticShape) -> KernelRidge | LogisticRidge:
    """Return a ridge from its document."""
    coefficients = np.array(shape.coefficients, np.float64)
    offsets = np.array(shape.offsets, np.float64)
    if isinstance(shape, LogisticShape):
        return LogisticRidge(coefficients, offsets)
    return KernelRidge(
        kind=shape.kind,
        width=shape.width,
        seed=shape.seed,
        stretches=np.array(shape.stretches, np.float64),
        coefficients=coefficients,
        offsets=offsets,
        slope=shape.slope,
    )
