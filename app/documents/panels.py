"""The panels of a model's document: sets of features with what predicts from each."""

from dataclasses import fields
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from app.documents.routes import RouteShape, build_route, route_to_json
from app.documents.shape import Many, StoredShape
from app.documents.stopping import StoppingShape, build_stopping, stopping_to_json
from core import kernels
from core.model.panels import (
    Blend,
    Columns,
    KernelRidge,
    LogisticRidge,
    Panel,
    PanelLadder,
    Trees,
)

# Ten times what a training makes: questions weigh each panel by every feature.
MAX_PANELS = 10_000

Idx = Annotated[int, Field(ge=0, le=2**31)]
Node = Annotated[int, Field(ge=-(2**31), le=2**31)]
Number = Annotated[float, Field(ge=-1e300, le=1e300)]
Positive = Annotated[float, Field(gt=0, le=1e300)]


class ColumnsShape(StoredShape):
    feature_idxs: Many[Idx] = Field(alias="features")
    codes: Many[Annotated[int, Field(ge=-2, le=2**31)]]
    lows: Many[Number]
    highs: Many[Number]
    means: Many[Number]
    scales: Many[Positive]


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
    columns: ColumnsShape
    trees: TreesShape
    ridges: Many[RidgeShape]
    weights: Many[Annotated[float, Field(ge=0, le=1e6)]]


class PanelShape(StoredShape):
    feature_idxs: Many[Idx] = Field(alias="features")
    loss: Annotated[float, Field(ge=0, le=1e6)]
    may_lack: Many[Idx]
    blend: BlendShape | None = None


class PanelLadderShape(StoredShape):
    starts: Many[Number]
    panels: Annotated[Many[PanelShape], Field(min_length=1, max_length=MAX_PANELS)]
    stopping: StoppingShape | None = None
    route: RouteShape | None = None


def panels_to_json(ladder: PanelLadder) -> dict[str, Any]:
    """Return panels as JSON-able values."""
    told: dict[str, Any] = {
        "starts": ladder.starts.tolist(),
        "panels": [panel_to_json(panel) for panel in ladder.panels],
    }
    if ladder.stopping is not None:
        told["stopping"] = stopping_to_json(ladder.stopping)
    if ladder.route is not None:
        told["route"] = route_to_json(ladder.route)
    return told


def panel_to_json(panel: Panel) -> dict[str, Any]:
    """Return a panel as JSON-able values."""
    blend = panel.blend
    told: dict[str, Any] = {
        "features": list(panel.feature_idxs),
        "loss": panel.loss,
        "may_lack": sorted(panel.may_lack),
        "blend": None,
    }
    if blend is not None:
        columns = listed(blend.columns)
        told["blend"] = {
            "columns": {"features": columns.pop("feature_idxs"), **columns},
            "trees": trees_to_json(blend.trees),
            "ridges": [
                listed(ridge) | ({} if isinstance(ridge, KernelRidge) else LOGISTIC)
                for ridge in blend.ridges
            ],
            "weights": blend.weights.tolist(),
        }
    return told


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
    }


def build_panels(shape: PanelLadderShape | None) -> PanelLadder | None:
    """Return panels from their document, which `check_panels` has found right."""
    if shape is None:
        return None
    panels = tuple(
        Panel(
            feature_idxs=one.feature_idxs,
            loss=one.loss,
            may_lack=frozenset(one.may_lack),
            blend=None if one.blend is None else build_blend(one.blend),
        )
        for one in shape.panels
    )
    starts = np.array(shape.starts, np.float64)
    stopping, route = build_stopping(shape.stopping), build_route(shape.route)
    return PanelLadder(panels, starts, stopping, route)


def build_blend(shape: BlendShape) -> Blend:
    """Return a blend from its document."""
    return Blend(
        columns=build_columns(shape.columns),
        trees=build_trees(shape.trees),
        ridges=tuple(build_ridge(one) for one in shape.ridges),
        weights=np.array(shape.weights, np.float64),
    )


def build_columns(shape: ColumnsShape) -> Columns:
    """Return columns from their document."""
    floats = [shape.lows, shape.highs, shape.means, shape.scales]
    return Columns(
        np.array(shape.feature_idxs, np.int64),
        np.array(shape.codes, np.int64),
        *(np.array(one, np.float64) for one in floats),
    )


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
