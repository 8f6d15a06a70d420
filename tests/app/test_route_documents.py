"""A route in a model's document: the way there and back."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from askless.app.documents.model.model import model_from_json
from askless.core.model.ladder.panels import PanelLadder
from askless.core.model.ladder.routes import MAIN, Route, Split
from askless.core.model.model import Model
from tests import strategies
from tests.documents import document_of, through_json
from tests.panels import make_ladder, with_routes
from tests.sessions import small_ensemble


@pytest.fixture
def document() -> dict[str, Any]:
    """The document of a ladder that two features part, the larger of them decides."""
    ensemble = small_ensemble([1, 1, 1], policy="panels")
    ladder = make_ladder(ensemble, [(0, 1)], can_hide=True)
    whole = ladder.panels[0]
    parts = np.array([MAIN] * len(ladder.panels) + [0, 1])
    route = Route(Split((0, 1), "largest", np.empty(0)), parts, 0, None)
    routed = PanelLadder(
        (*ladder.panels, whole, whole), ladder.starts, None, route, ladder.spaces * 3
    )
    return document_of(Model("m", replace(ensemble, panels=routed), "y"))


@given(with_routes(strategies.ensembles(max_hypotheses=1)))
def test_any_route_survives_the_round_trip(ensemble):
    model = Model("m", ensemble, "target")

    assert through_json(model) == model


def test_route_of_several_features_survives_the_round_trip(document):
    model = model_from_json(document)

    assert model.ensemble.panels.route.split.kind == "largest"
    assert document_of(model) == document


def test_model_without_a_route_has_no_word_of_it(document):
    panels = document["panels"]
    del panels["route"], panels["panels"][-2:], panels["spaces"][1:]

    model = model_from_json(document)

    assert model.ensemble.panels.route is None
    assert "route" not in document_of(model)["panels"]
