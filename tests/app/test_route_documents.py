"""A route in a model's document: the way there and back, and what is refused."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from askless.app.documents.model import model_from_json
from askless.core.model.model import Model
from askless.core.model.routes import Split
from tests import strategies
from tests.app.test_panel_documents import refused, set_at
from tests.core.session.test_routes import by_cut, routed
from tests.documents import document_of, through_json
from tests.panels import with_routes


@pytest.fixture
def document() -> dict[str, Any]:
    return document_of(Model("m", by_cut(up_to=60), "y"))


@given(with_routes(strategies.ensembles(max_hypotheses=1)))
def test_any_route_survives_the_round_trip(ensemble):
    model = Model("m", ensemble, "target")

    assert through_json(model) == model


def test_route_of_several_features_survives_the_round_trip():
    model = Model("m", routed(Split((0, 3), "largest", np.empty(0))), "y")

    assert through_json(model) == model


def test_model_without_a_route_has_no_word_of_it(document):
    panels = document["panels"]
    del panels["route"], panels["panels"][2:]

    model = model_from_json(document)

    assert model.ensemble.panels.route is None
    assert "route" not in document_of(model)["panels"]


@pytest.mark.parametrize(
    ("path", "change", "field"),
    [
        ("features", [], "features"),
        ("features", [99], "features"),
        ("features", [0, 0], "features"),
        ("features", [0, 1], "kind"),
        ("features", [1], "parts"),
        ("kind", "largest", "kind"),
        ("kind", "other", "kind"),
        ("points", [], "points"),
        ("points", [0.5, 0.5], "points"),
        ("points.0", math.nan, "points[0]"),
        ("parts", lambda parts: parts[:-1], "parts"),
        ("parts", lambda parts: parts[::-1], "parts"),
        ("parts", [-1] * 6, "parts"),
        ("parts", [0] * 6, "parts"),
        ("parts", [-1, -1, 0, 0, 1, 2], "parts"),
        ("parts", [-1, 0, 0, 0, 1, 1], "parts"),
        ("parts.5", -2, "parts[5]"),
        ("parts.5", 0, "parts"),
        ("least_budget_micros", -1, "least_budget_micros"),
        ("least_budget_micros", 0.5, "least_budget_micros"),
        ("up_to_micros", 3, "up_to_micros"),
    ],
)
def test_damaged_route_is_refused_by_field(document, path, change, field):
    set_at(document, f"panels.route.{path}", change)

    assert f"model.panels.route.{field}" in refused(document)
