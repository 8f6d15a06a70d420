"""The panels of a model's document: sets of features with what predicts from each."""

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval, Len

from askless.app.documents.model.blends import BlendShape, blend_to_json, build_blend
from askless.app.documents.shape import Many
from askless.app.documents.stored import Stored, StoredShape, to_json_value
from askless.core.model.ladder.asking import Worth
from askless.core.model.ladder.columns import ALONE, Columns
from askless.core.model.ladder.emptiness import Emptiness
from askless.core.model.ladder.panels import Panel, PanelLadder
from askless.core.model.ladder.stopping import Stopping
from askless.core.model.ladder.tables import PartTables, TableMember
from askless.core.model.ranges import Below, Each, Numbers, Position

# Ten times what a training makes; asking costs panels times features.
MAX_PANELS = 10_000

Loss = Annotated[float, Interval(ge=0, le=1e6)]


class PanelShape(StoredShape):
    feature_idxs: Annotated[Many[Position], Below("features")]
    loss: Loss
    may_lack: Many[Position]
    #: one for each feature
    rises: Annotated[Many[Loss], Each("panel's features")]
    blend: BlendShape | None = None

    @property
    def sizes(self) -> dict[str, int]:
        return {"panel's features": len(self.feature_idxs)}


class PanelLadderShape(StoredShape):
    starts: Annotated[Stored[Numbers], Each("outputs")]
    panels: Annotated[Many[PanelShape], Len(1, MAX_PANELS)]
    #: the columns of all panels, in one entry
    spaces: Annotated[Many[Stored[Columns]], Len(1, 1)]
    stopping: Stored[Stopping] | None = None
    tables: Stored[PartTables] | None = None
    worth: Stored[Worth] | None = None
    emptiness: Stored[Emptiness] | None = None

    @property
    def sizes(self) -> dict[str, int]:
        return {"panels": len(self.panels)}


def panels_to_json(ladder: PanelLadder) -> dict[str, Any]:
    """Return panels as JSON-able values."""
    document = {
        "starts": to_json_value(ladder.starts),
        "panels": [panel_to_json(panel) for panel in ladder.panels],
        "spaces": to_json_value(ladder.spaces),
    }
    if ladder.stopping is not None:
        document["stopping"] = to_json_value(ladder.stopping)
    if ladder.tables is not None:
        document["tables"] = to_json_value(ladder.tables)
    if ladder.worth is not None:
        document["worth"] = to_json_value(ladder.worth)
    if ladder.emptiness is not None:
        document["emptiness"] = to_json_value(ladder.emptiness)
    return document


def panel_to_json(panel: Panel) -> dict[str, Any]:
    """Return a panel as JSON-able values."""
    return {
        "features": list(panel.feature_idxs),
        "loss": panel.loss,
        "may_lack": sorted(panel.may_lack),
        "blend": panel.blend and blend_to_json(panel.blend),
        "rises": list(panel.rises),
    }


def build_panels(shape: PanelLadderShape | None) -> PanelLadder | None:
    """Return the panels of a document that keeps the rules of `check_panels`."""
    if shape is None:
        return None
    spaces = tuple(build_space(space) for space in shape.spaces)
    panels = tuple(
        panel.to(
            Panel,
            may_lack=frozenset(panel.may_lack),
            blend=panel.blend
            and build_blend(
                panel.blend,
                spaces[0].take(panel.feature_idxs),
                None
                if shape.tables is None
                else TableMember(shape.tables, panel.feature_idxs),
            ),
        )
        for panel in shape.panels
    )
    return shape.to(PanelLadder, panels=panels, spaces=spaces)


def build_space(columns: Columns) -> Columns:
    """Return columns with each one's row in their covariance, or `ALONE`."""
    assert columns.covariance is not None, "`check_space` requires it"
    places = np.arange(columns.codes.size)
    places[len(columns.covariance) :] = ALONE
    return replace(columns, places=places)
