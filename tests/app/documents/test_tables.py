"""Class-conditional tables in a document: the same again, and refused where damaged."""

import copy
import json
from typing import Any

import pytest

from askless.app.documents.model.panel_checks import check_panels
from askless.app.documents.model.panels import (
    PanelLadderShape,
    build_panels,
    panels_to_json,
)
from askless.core.model.ladder.panels import PanelLadder
from askless.core.panels.ladders import fit_ladder
from tests.panels import shorten
from tests.small import finish, random_dataset


@pytest.fixture(scope="module")
def ladder() -> PanelLadder:
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        return finish(fit_ladder(random_dataset(3, 3, 80, n_values=6), effort="fast"))


@pytest.fixture
def document(ladder: PanelLadder) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(json.dumps(panels_to_json(ladder)))
    return copy.deepcopy(written)


def list_refused(document: dict[str, Any]) -> set[str]:
    shape = PanelLadderShape.model_validate(document)
    return {panel.field for panel in check_panels(shape, 3)}


def test_tables_are_read_as_they_were_written(
    ladder: PanelLadder, document: dict[str, Any]
) -> None:
    shape = PanelLadderShape.model_validate(document)
    read = build_panels(shape)
    assert list_refused(document) == set()
    assert read is not None
    assert read.tables == ladder.tables
    assert read.panels == ladder.panels
    assert any(panel.blend and panel.blend.tables for panel in ladder.panels)
