"""The panels of a model's document: sets of features with what predicts from each."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from app.documents.blends import (
    BlendShape,
    Idx,
    Number,
    SpaceShape,
    blend_to_json,
    build_blend,
    build_space,
    space_to_json,
)
from app.documents.routes import RouteShape, build_route, route_to_json
from app.documents.shape import Many, StoredShape
from app.documents.stopping import StoppingShape, build_stopping, stopping_to_json
from core.model.blends import Blend
from core.model.columns import Columns
from core.model.panels import Panel, PanelLadder
from core.model.routes import MAIN

# Ten times what a training makes: questions weigh each panel by every feature.
MAX_PANELS = 10_000


class PanelShape(StoredShape):
    feature_idxs: Many[Idx] = Field(alias="features")
    loss: Annotated[float, Field(ge=0, le=1e6)]
    may_lack: Many[Idx]
    #: of each feature; older files have none
    rises: Many[Annotated[float, Field(ge=0, le=1e6)]] | None = None
    blend: BlendShape | None = None


class PanelLadderShape(StoredShape):
    starts: Many[Number]
    panels: Annotated[Many[PanelShape], Field(min_length=1, max_length=MAX_PANELS)]
    #: of the main panels, then of those of each part of the route
    spaces: Many[SpaceShape] = ()
    stopping: StoppingShape | None = None
    route: RouteShape | None = None


def panels_to_json(ladder: PanelLadder) -> dict[str, Any]:
    """Return panels as JSON-able values."""
    has_spaces = bool(ladder.spaces)
    told: dict[str, Any] = {
        "starts": ladder.starts.tolist(),
        "panels": [
            panel_to_json(panel, has_columns=not has_spaces) for panel in ladder.panels
        ],
    }
    if has_spaces:
        told["spaces"] = [space_to_json(one) for one in ladder.spaces]
    if ladder.stopping is not None:
        told["stopping"] = stopping_to_json(ladder.stopping)
    if ladder.route is not None:
        told["route"] = route_to_json(ladder.route)
    return told


def panel_to_json(panel: Panel, *, has_columns: bool) -> dict[str, Any]:
    """Return a panel as JSON-able values."""
    told: dict[str, Any] = {
        "features": list(panel.feature_idxs),
        "loss": panel.loss,
        "may_lack": sorted(panel.may_lack),
        "blend": None,
    }
    if panel.rises is not None:
        told["rises"] = list(panel.rises)
    if panel.blend is not None:
        told["blend"] = blend_to_json(panel.blend, has_columns=has_columns)
    return told


def build_panels(shape: PanelLadderShape | None) -> PanelLadder | None:
    """Return panels from their document, which `check_panels` has found right."""
    if shape is None:
        return None
    spaces = tuple(build_space(one) for one in shape.spaces)
    panels = tuple(
        Panel(
            feature_idxs=one.feature_idxs,
            loss=one.loss,
            may_lack=frozenset(one.may_lack),
            blend=build_panel_blend(one, spaces, place),
            rises=one.rises,
        )
        for one, place in zip(shape.panels, find_spaces(shape), strict=True)
    )
    starts = np.array(shape.starts, np.float64)
    stopping, route = build_stopping(shape.stopping), build_route(shape.route)
    return PanelLadder(panels, starts, stopping, route, spaces)


def find_spaces(shape: PanelLadderShape) -> list[int]:
    """Return the position of each panel's space: by its part of the route."""
    if shape.route is None:
        return [0] * len(shape.panels)
    order = [MAIN, *sorted(set(shape.route.parts) - {MAIN})]
    return [order.index(part) for part in shape.route.parts]


def build_panel_blend(
    shape: PanelShape, spaces: Sequence[Columns], place: int
) -> Blend | None:
    """Return the blend of a panel, if it has one; `place` is that of its space."""
    if shape.blend is None:
        return None
    columns = spaces[place].take(shape.feature_idxs) if spaces else None
    return build_blend(shape.blend, columns)
