"""The blend of a panel."""

import math

import numpy as np
import pytest

from askless.core.model.ladder.blends import MAX_LOGIT, LogisticRidge, to_chances
from askless.core.panels.effort import FULL, LIGHT
from askless.core.panels.predictors.blending import WIDE_COLUMNS
from askless.core.panels.predictors.chances import mean_log_loss
from askless.core.panels.rows import PanelRows
from tests.panels import make_panel, random_rows, shorten
from tests.small import table_of


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    shorten(monkeypatch)


def panel_of(rows, feature_idxs, recipe, n_judges=99):
    return make_panel(rows, feature_idxs, recipe, rows.hold_out(5, n_judges)).panel


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("recipe", "n_ridges"), [(FULL, 2), (LIGHT, 1)])
def test_blend_has_trees_and_ridges_of_its_recipe(recipe, n_ridges, n_classes):
    rows = random_rows(0, n_classes, 20)

    panel = panel_of(rows, (4, 0), recipe)

    blend = panel.blend
    assert blend.weights.size == 1 + n_ridges == 1 + len(blend.ridges)
    assert blend.weights.min() >= 0
    assert set(blend.columns.feature_idxs.tolist()) == {0, 4}


@pytest.mark.parametrize(("n_rare", "n_ridges"), [(3, 2), (2, 1)])
def test_blend_has_no_kernels_where_a_class_is_rare(n_rare, n_ridges):
    targets = (np.arange(30) < n_rare).astype(np.int64)
    rows = PanelRows(table_of([np.arange(30) % 4], targets), 0)

    ridges = panel_of(rows, (0,), FULL).blend.ridges

    assert len(ridges) == n_ridges
    assert isinstance(ridges[-1], LogisticRidge)


@pytest.mark.parametrize(
    ("n_columns", "recipe", "expected"),
    [
        (WIDE_COLUMNS, FULL, 2 * FULL.n_wide_waves),
        (WIDE_COLUMNS - 1, FULL, 2 * FULL.n_waves),
        (WIDE_COLUMNS, FULL._replace(n_wide_waves=0), 2 * FULL.n_waves),
    ],
)
def test_kernel_of_a_wide_table_has_more_waves(n_columns, recipe, expected):
    columns = np.random.default_rng(0).normal(size=(n_columns, 20))
    rows = PanelRows(table_of(columns, np.arange(20) % 2), 0)

    kernel, _ = panel_of(rows, (3, 0), recipe).blend.ridges

    assert len(kernel.coefficients) == expected


def test_panel_without_features_tells_the_class_shares():
    rows = random_rows(1)

    panel = panel_of(rows, (), FULL)

    logits = panel.logits(rows.dataset.values, rows.starts)
    np.testing.assert_allclose(to_chances(logits)[0], rows.priors)
    assert panel.loss == mean_log_loss(logits, rows.targets, rows.weights)


def test_panel_may_lack_the_features_whose_cells_are_missing_in_training():
    columns = [0, 1, 0, 1] * 4, [0.0, 1.0, 2.0, math.nan] * 4, [0, 0, 1, math.nan] * 4
    rows = PanelRows(table_of(columns), 0)

    assert panel_of(rows, (1, 0), LIGHT).may_lack == {1}


def test_panel_of_what_tells_the_class_loses_less_than_one_that_does_not():
    targets = np.arange(24) % 2
    noise = np.random.default_rng(0).integers(0, 2, 24)
    rows = PanelRows(table_of([targets, noise], targets), 0)

    losses = [panel_of(rows, (idx,), LIGHT).loss for idx in (0, 1)]

    assert losses[0] < 0.3 < losses[1]


def test_blend_is_no_surer_than_the_limit():
    rows = random_rows(0, 2, 20)
    blend = panel_of(rows, (4, 0), LIGHT).blend
    blend.weights[:] = 1e5

    logits = blend.logits(rows.dataset.values)

    assert np.abs(logits).max() == MAX_LOGIT


def test_ridge_that_weighs_nothing_is_passed_over():
    rows = random_rows(0, 2, 20)
    blend = panel_of(rows, (4, 0), LIGHT).blend
    blend.weights[1:] = 0.0

    logits = blend.logits(rows.dataset.values)

    expected = blend.weights[0] * blend.trees.logits(rows.dataset.values)
    np.testing.assert_array_equal(logits, expected)


def test_prediction_of_a_row_does_not_depend_on_the_others():
    rows = random_rows(0, 3, 20)
    panel = panel_of(rows, (5, 2, 0), LIGHT)
    values = rows.dataset.values

    alone = [panel.logits(values[row : row + 1], rows.starts)[0] for row in range(20)]

    np.testing.assert_allclose(alone, panel.logits(values, rows.starts))


@pytest.mark.parametrize("feature_idxs", [(), (4, 0)])
def test_panel_is_judged_by_held_out_rows_alone(feature_idxs):
    rows = random_rows(0, 3)
    held_out = rows.hold_out(5, 7)

    panel, logits = make_panel(rows, feature_idxs, LIGHT, held_out)

    assert logits.shape == (held_out.row_idxs.size, 3)
    assert panel.loss == mean_log_loss(logits, held_out.targets, held_out.weights)
