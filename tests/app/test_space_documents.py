"""Spaces in a model's document, or columns of panels of their own: what is refused."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from askless.app.documents.model import model_from_json
from askless.app.documents.panel_checks import MAX_COVARIED
from askless.core.model.model import Model
from askless.core.model.routes import MAIN
from tests.app.test_panel_documents import cut, fitted, place_of, refused, set_at
from tests.documents import document_of, through_json
from tests.panels import make_ladder, make_route
from tests.sessions import small_ensemble


@pytest.fixture(scope="module")
def text() -> str:
    return json.dumps(document_of(fitted(2)))


@pytest.fixture
def document(text) -> dict[str, Any]:
    """The document of a model of two classes, anew for each damage."""
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.fixture
def older(document) -> dict[str, Any]:
    """The same as a model whose blends have columns of their own, and no rises."""
    panels = document["panels"]
    (space,) = panels.pop("spaces")
    del space["covariance"]
    for panel in panels["panels"]:
        del panel["rises"]
        if panel["blend"] is not None:
            del panel["blend"]["trees"]["shares"]
            read = space["features"]
            picks = [
                place
                for idx in panel["features"]
                for place, one in enumerate(read)
                if one == idx
            ]
            panel["blend"]["columns"] = {
                name: [values[place] for place in picks]
                for name, values in space.items()
            }
    return document


def empty_lists(columns: dict[str, Any]) -> dict[str, Any]:
    return {name: [] for name in columns}


def test_older_document_tells_the_same_of_features_that_are_all_known(text, older):
    one, two = (
        model_from_json(these).ensemble.panels for these in (json.loads(text), older)
    )
    values = np.random.default_rng(0).integers(0, 3, (9, 4)).astype(float)

    assert (one.can_hide, two.can_hide) == (True, False)
    for panel, other in zip(one.panels, two.panels, strict=True):
        told = panel.logits(values, one.starts)
        np.testing.assert_array_equal(other.logits(values, two.starts), told)


@pytest.mark.parametrize(
    ("path", "change", "field"),
    [
        ("columns", None, "columns"),
        ("columns", empty_lists, "columns"),
        ("columns.features.0", 99, "columns.features"),
        ("columns.features", cut, "columns"),
        ("columns.codes.0", -3, "columns.codes"),
        ("columns.lows.0", math.nan, "columns.lows"),
        ("columns.highs.0", math.inf, "columns.highs"),
        ("columns.means", cut, "columns"),
        ("columns.scales.0", 0.0, "columns.scales"),
        ("columns.scales.0", -1.0, "columns.scales"),
    ],
)
def test_damaged_columns_are_refused_by_field(older, path, change, field):
    place = place_of(older)
    set_at(older, f"panels.panels.{place}.blend.{path}", change)

    where = f"model.panels.panels[{place}].blend.{field}"
    assert any(one.startswith(where) for one in refused(older))


def swap_diagonal(upper: list[float]) -> list[float]:
    """A first variance that is negative."""
    return [-1.0, *upper[1:]]


def identity(size: int) -> list[float]:
    """The upper half of a matrix without correlations."""
    return np.eye(size)[np.triu_indices(size)].tolist()


def dependent(upper: list[float]) -> list[float]:
    """Columns that are all one and the same."""
    return [1.0] * len(upper)


@pytest.mark.parametrize(
    ("path", "change", "field"),
    [
        ("covariance", cut, "covariance"),
        ("covariance", swap_diagonal, "covariance"),
        ("covariance", dependent, "covariance"),
        ("covariance", identity(40), "covariance"),
        ("covariance", identity(MAX_COVARIED + 1), "covariance"),
        ("covariance", None, "covariance"),
        ("covariance.0", math.nan, "covariance"),
        ("covariance.0", math.inf, "covariance"),
        ("features", cut, ""),
        ("scales", cut, ""),
        ("scales.0", 0.0, "scales"),
        ("means.0", math.nan, "means"),
        ("codes.0", -3, "codes"),
        ("features.0", -1, "features"),
    ],
)
def test_damaged_space_is_refused_by_field(document, path, change, field):
    set_at(document, f"panels.spaces.0.{path}", change)

    where = "model.panels.spaces[0]" + (f".{field}" if field else "")
    assert any(one.startswith(where) for one in refused(document))


def test_covariance_of_no_column_is_read_as_columns_that_go_with_no_other(document):
    document["panels"]["spaces"][0]["covariance"] = []

    (space,) = model_from_json(document).ensemble.panels.spaces

    assert (space.places < 0).all()
    assert space.hide(np.ones(4, np.bool_)).predicted.size == 0


@pytest.mark.parametrize("n_spaces", [2, 3])
def test_more_spaces_than_parts_are_refused(document, n_spaces):
    panels = document["panels"]
    panels["spaces"] *= n_spaces

    assert refused(document) == ["model.panels.spaces"]


def test_rises_of_some_panels_alone_are_refused(document):
    del document["panels"]["panels"][place_of(document)]["rises"]

    assert refused(document) == ["model.panels.panels"]


def test_blend_without_columns_or_a_space_is_refused(document):
    document["panels"]["spaces"] = []

    (field,) = refused(document)

    assert field.endswith(".blend.columns")


def test_blend_with_columns_beside_a_space_is_refused(document):
    place, (space,) = place_of(document), document["panels"]["spaces"]
    own = {name: one for name, one in space.items() if name != "covariance"}
    document["panels"]["panels"][place]["blend"]["columns"] = own

    assert refused(document) == [f"model.panels.panels[{place}].blend.columns"]


def test_blend_whose_space_has_none_of_its_features_is_refused(document):
    place, (space,) = place_of(document), document["panels"]["spaces"]
    space["features"] = [99] * len(space["features"])

    assert f"model.panels.panels[{place}].blend" in refused(document)


def widen(columns: dict[str, Any], blend: dict[str, Any], n_columns, n_kernels) -> None:
    """Give a blend many columns, and kernels of one wave on them."""
    for name in columns.keys() - {"covariance"}:
        columns[name] = columns[name][:1] * n_columns
    kernel = blend["ridges"][0]
    kernel["stretches"] = [1.0] * n_columns
    kernel["coefficients"] = kernel["coefficients"][:2]
    blend["ridges"] = [kernel] * n_kernels
    blend["weights"] = [0.5] * (1 + n_kernels)


DRAWS = pytest.mark.parametrize(
    ("n_columns", "n_kernels", "field"),
    [
        (12_000, 1, "model.panels.panels[{}].blend.ridges[0]"),
        (11_000, 9, "model.panels.panels"),
    ],
)


@DRAWS
def test_kernels_that_draw_without_bound_are_refused(
    older, n_columns, n_kernels, field
):
    place = place_of(older)
    blend = older["panels"]["panels"][place]["blend"]
    widen(blend["columns"], blend, n_columns, n_kernels)

    assert refused(older) == [field.format(place)]


@DRAWS
def test_kernels_on_a_wide_space_are_refused(document, n_columns, n_kernels, field):
    panels, (space,) = document["panels"]["panels"], document["panels"]["spaces"]
    place = place_of(document)
    widen(space, panels[place]["blend"], n_columns, n_kernels)
    space["features"] = panels[place]["features"][:1] * n_columns
    space["covariance"] = [1.0]
    # Others that read that feature have as many columns, and no ridges.
    for panel in panels:
        if panel is not panels[place] and panel["blend"] is not None:
            panel["blend"] |= {"ridges": [], "weights": [1.0]}

    assert field.format(place) in refused(document)


@pytest.fixture
def parted() -> dict[str, Any]:
    """The document of a ladder of two parts or more, each with a space of its own."""
    ensemble = small_ensemble([1, 1, 1], policy="panels")
    ladder = make_ladder(ensemble, [(0, 1)], can_hide=True)
    parted = make_route(replace(ensemble, panels=ladder), 0)
    return document_of(Model("m", replace(ensemble, panels=parted), "y"))


def test_each_part_of_a_route_has_its_space(parted):
    model = model_from_json(parted)

    ladder = model.ensemble.panels
    assert len(ladder.spaces) == 1 + len(set(ladder.route.parts) - {MAIN})
    assert through_json(model) == model
    for panel, part in zip(ladder.panels, ladder.route.parts, strict=True):
        order = [MAIN, *sorted(set(ladder.route.parts) - {MAIN})]
        if panel.blend is not None:
            space = ladder.spaces[order.index(part)]
            assert panel.blend.columns.covariance is space.covariance


def test_fewer_spaces_than_parts_are_refused(parted):
    parted["panels"]["spaces"].pop()

    assert refused(parted) == ["model.panels.spaces"]


def test_parts_that_are_not_one_for_each_panel_are_refused(parted):
    parted["panels"]["route"]["parts"].append(0)

    assert "model.panels.route.parts" in refused(parted)
