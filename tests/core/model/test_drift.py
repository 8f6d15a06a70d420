"""Answers beside the rows of training, as far as a model knows these."""

import math
from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.catalogue import UNSEEN, Catalogue, Feature
from askless.core.model.drift import measure_drift
from askless.core.model.figures import wilson_interval
from askless.core.model.ladder.columns import Columns
from tests.panels import make_ladder
from tests.small import ensemble_of

CATALOGUE = Catalogue(
    (
        Feature("age", value_range=(20.0, 80.0)),
        Feature("sex", "category", categories=("female", "male")),
        Feature("smokes", "boolean"),
        Feature("site", "category", categories=("a", "b", "c", "d")),
        Feature("bmi"),
    )
)
NUMBER = -1


@pytest.fixture
def ensemble():
    """A model whose panels know a mean, and the shares of some values."""
    made = ensemble_of([], CATALOGUE)
    ladder = make_ladder(made, [(0, 1, 2, 3, 4)])
    panels = [
        replace(panel, blend=replace(blend, columns=replace_columns(blend.columns)))
        for panel in ladder.panels
        if (blend := panel.blend) is not None
    ]
    return replace(made, panels=replace(ladder, panels=tuple(panels)))


def replace_columns(columns: Columns) -> Columns:
    told = [(0, NUMBER, 50.0), (1, 1, 0.75), (2, NUMBER, 0.25), (3, 0, 0.5)]
    idxs, codes, means = (np.array(one) for one in zip(*told, strict=True))
    ends = {"lows": means - 1.0, "highs": means + 1.0, "means": means}
    ends["scales"] = np.full(len(told), 2.0)
    return replace(columns, feature_idxs=idxs, codes=codes, **ends)


def test_a_number_has_its_means_and_what_is_outside(ensemble):
    found = measure_drift(ensemble, 0, np.array([30.0, 90.0, 60.0, 10.0]))

    assert (found.mean, found.training_mean, found.psi) == (47.5, 50.0, None)
    assert found.outside.value == 0.5
    assert found.outside.interval == wilson_interval(0.5, 4)


def test_a_number_of_which_nothing_is_known_has_its_mean_alone(ensemble):
    found = measure_drift(ensemble, 4, np.array([1.0, 2.0]))

    assert (found.n_values, found.mean) == (2, 1.5)
    assert (found.outside, found.training_mean) == (None, None)


@pytest.mark.parametrize(
    ("feature_idx", "shares"), [(1, (0.25, 0.75)), (2, (0.75, 0.25))]
)
def test_index_is_of_the_shares_here_and_in_training(ensemble, feature_idx, shares):
    values = np.array([0.0, 0.0, 0.0, 1.0])
    here = (3.5 / 5, 1.5 / 5)

    found = measure_drift(ensemble, feature_idx, values)

    expected = sum((a - t) * math.log(a / t) for a, t in zip(here, shares, strict=True))
    assert found.psi == pytest.approx(expected)
    assert (found.mean, found.training_mean) == (None, None)


def test_unseen_categories_are_outside_and_no_part_of_the_index(ensemble):
    values = np.array([UNSEEN, 0.0, 1.0, 1.0, 1.0])

    found = measure_drift(ensemble, 1, values)
    without = measure_drift(ensemble, 1, values[1:])

    assert found.outside.value == 0.2
    assert found.psi == without.psi


def test_shares_that_are_not_all_known_have_no_index(ensemble):
    assert measure_drift(ensemble, 3, np.array([0.0, 1.0])).psi is None


def test_a_model_without_panels_knows_no_shares():
    found = measure_drift(ensemble_of([], CATALOGUE), 2, np.array([0.0, 1.0]))

    assert (found.outside, found.psi) == (None, None)
