"""Spaces in a model's document: what is refused."""

import json
from typing import Any

import numpy as np
import pytest

from askless.app.documents.model.model import model_from_json
from askless.app.documents.model.panel_checks import MAX_COVARIED
from tests.app.test_panel_documents import fitted, place_of, refused
from tests.documents import document_of


@pytest.fixture(scope="module")
def text() -> str:
    return json.dumps(document_of(fitted(2)))


@pytest.fixture
def document(text) -> dict[str, Any]:
    """The document of a model of two classes, anew for each damage."""
    found: dict[str, Any] = json.loads(text)
    return found


def identity(size: int) -> list[float]:
    """The upper half of a matrix without correlations."""
    return np.eye(size)[np.triu_indices(size)].tolist()


def test_covariance_of_more_columns_than_may_be_is_refused(document):
    document["panels"]["spaces"][0]["covariance"] = identity(MAX_COVARIED + 1)

    assert "model.panels.spaces[0].covariance" in refused(document)


def test_covariance_that_is_not_positive_definite_is_refused(document):
    space = document["panels"]["spaces"][0]
    space["covariance"] = [1.0] * len(space["covariance"])

    assert "model.panels.spaces[0].covariance" in refused(document)


def test_covariance_of_no_column_is_read_as_columns_that_go_with_no_other(document):
    document["panels"]["spaces"][0]["covariance"] = []

    (space,) = model_from_json(document).ensemble.panels.spaces

    assert (space.places < 0).all()
    assert space.hide(np.ones(4, np.bool_)).predicted.size == 0


def widen(columns: dict[str, Any], blend: dict[str, Any], n_columns, n_kernels) -> None:
    """Give a blend many columns, and kernels of one wave on them."""
    for name in columns.keys() - {"covariance"}:
        columns[name] = columns[name][:1] * n_columns
    kernel = blend["ridges"][0]
    kernel["stretches"] = [1.0] * n_columns
    kernel["coefficients"] = kernel["coefficients"][:2]
    blend["ridges"] = [kernel] * n_kernels
    blend["weights"] = [0.5] * (1 + n_kernels)


@pytest.mark.parametrize(
    ("n_columns", "n_kernels", "field"),
    [
        (12_000, 1, "model.panels.panels[{}].blend.ridges[0]"),
        (11_000, 9, "model.panels.panels"),
    ],
)
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
