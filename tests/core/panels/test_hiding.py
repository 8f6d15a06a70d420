"""What is lost by held-out rows without a feature, by every predictor and by panels."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core import kernels
from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.model.ladder.blends import KernelRidge, to_chances, wave_features
from askless.core.panels.effort import LIGHT, Recipe
from askless.core.panels.predictors import blending
from askless.core.panels.predictors.blending import fit_ridges, score_trees
from askless.core.panels.predictors.chances import mean_log_loss, to_logits
from askless.core.panels.predictors.ridges import (
    LOGISTIC_PENALTIES,
    Basis,
    fit_kernel,
    fit_logistic,
    signed_targets,
    solve_logistic,
)
from askless.core.panels.predictors.trees import (
    GrownTrees,
    fit_trees,
    grow_folds,
    make_growth_settings,
    merge_ensembles,
)
from askless.core.panels.rows import PanelRows
from tests.panels import make_panel, random_rows, shorten
from tests.small import table_of

IDXS = (4, 2, 0, 5)
N_FEATURES = 6

# Several ensembles, whose chances are averaged.
TWO = Recipe(30, 30, (0.3, 1.5), ((5, 4, 0.2, 0.75, 0.6), (4, 3, 0.1, 1.0, 1.0)))

each_n_classes = pytest.mark.parametrize("n_classes", [2, 3])


def flags(*idxs: int, size: int = N_FEATURES) -> np.ndarray:
    found = np.zeros(size, np.bool_)
    found[list(idxs)] = True
    return found


def serve_exactly(rows: PanelRows, grown: GrownTrees):
    """Trees as they are served, but with shares that were not rounded."""
    nodes = [
        grown.room.nodes[place][: grown.sizes[place]]
        for place in np.ndindex(*grown.sizes.shape)
    ]
    counts = np.concatenate(nodes)[:, [kernels.N_BELOW, kernels.N_ABOVE]]
    trees = merge_ensembles(rows, grown.feature_idxs.tolist(), [grown])
    shares = counts[:, 0] / counts.sum(axis=1)
    return replace(trees, served=trees.served._replace(shares=shares))


@each_n_classes
@pytest.mark.parametrize("hidden", [(4,), (0, 2), IDXS, (1,)])
def test_trees_hide_columns_as_served_ones_do(hidden, n_classes):
    rows = random_rows(1, n_classes, 40)
    grown = fit_trees(rows, IDXS, make_growth_settings(rows, 4, 4, 0.3))
    some = np.array([7, 0, 31])

    told = grown.hide(hidden, some)

    served = serve_exactly(rows, grown)
    expected = served.logits(rows.dataset.values[some], flags(*hidden))
    np.testing.assert_allclose(told, expected, rtol=0, atol=1e-5)


@each_n_classes
def test_trees_of_which_all_is_hidden_tell_the_mean_of_the_rows_they_grew_on(n_classes):
    rows = random_rows(1, n_classes, 40)
    left_out = np.arange(0, 40, 4)
    kept = np.setdiff1d(np.arange(40), left_out)

    grown = fit_trees(rows, IDXS, make_growth_settings(rows, 4, 4, 0.3), left_out)

    told = grown.hide(IDXS, left_out)
    expected = grown.scores[:, kept].mean(axis=1)
    np.testing.assert_allclose(told, np.tile(expected, (10, 1)))


def test_shares_are_of_the_rows_that_a_tree_grew_on():
    column = np.array([0.0] * 6 + [1.0] * 2)
    rows = PanelRows(table_of([column], column), 0)

    grown = fit_trees(rows, (0,), make_growth_settings(rows, 1, 2, 0.3))

    assert merge_ensembles(rows, (0,), [grown]).served.shares.tolist() == [0.75]


@each_n_classes
def test_trees_without_nodes_have_nothing_to_hide(n_classes):
    rows = PanelRows(
        table_of([[1.0] * 9], np.arange(9) % n_classes, None, n_classes), 0
    )
    grown = fit_trees(rows, (0,), make_growth_settings(rows, 3))

    told = grown.hide((0,), np.arange(9))

    np.testing.assert_array_equal(told, grown.scores.T)


def laid_rows(n_classes: int):
    """Rows, their columns with a covariance, and folds of some of them."""
    rows = random_rows(0, n_classes, 60)
    return rows, rows.select_with_covariance(range(N_FEATURES)), rows.hold_out(3, 60)


def solve(inputs, outputs, hold):
    squares = inputs.T @ inputs + hold * np.eye(inputs.shape[1])
    return np.linalg.solve(squares, inputs.T @ outputs)


@each_n_classes
@pytest.mark.parametrize("n_waves", [10, 60])
def test_held_out_kernel_ridge_hides_columns_by_their_damped_means(n_classes, n_waves):
    rows, space, held_out = laid_rows(n_classes)
    laid, hidden = space.standardise(rows.dataset.values), space.hide(flags(1, 4))
    basis = Basis(np.ones(laid.shape[1]), n_waves, (0.3,))
    fitted = fit_kernel(rows, laid, basis, held_out)
    fold = held_out.folds[1]
    kept = np.setdiff1d(np.arange(rows.n_rows), fold)

    told = fitted.hide(hidden, 1, fold[:5])

    ridge, wanted = fitted.without(None), signed_targets(rows)
    assert isinstance(ridge, KernelRidge)
    roots = np.sqrt(rows.weights)[:, None]
    means = rows.weights @ wanted / rows.weights.sum()
    inputs = wave_features(laid, ridge.waves) * roots
    found = solve(inputs[kept], ((wanted - means) * roots)[kept], 0.3)
    waves = wave_features(hidden.fill(laid[fold[:5]]), ridge.waves)
    votes = (waves * ridge.compute_damping(hidden)) @ found
    # Waves are laid in single precision.
    np.testing.assert_allclose(told, ridge.slope * votes + ridge.offsets, atol=2e-3)


@each_n_classes
def test_held_out_logistic_ridge_hides_columns_as_that_without_the_fold(n_classes):
    rows, space, held_out = laid_rows(n_classes)
    laid, hidden = space.standardise(rows.dataset.values), space.hide(flags(2, 3))
    fitted = fit_logistic(rows, laid, held_out)

    told = fitted.hide(hidden, 2, held_out.folds[2])

    def lose(hold: float) -> float:
        logits = np.empty((rows.n_rows, rows.n_outputs))
        for fold in held_out.folds:
            one = solve_logistic(rows, laid, hold, fold)
            logits[fold] = one.logits(laid[fold])
        its = logits[held_out.row_idxs]
        return mean_log_loss(its, held_out.targets, held_out.weights)

    fold = held_out.folds[2]
    ridge = solve_logistic(rows, laid, min(LOGISTIC_PENALTIES, key=lose), fold)
    expected = ridge.logits(hidden.fill(laid[fold]), ridge.compute_damping(hidden))
    np.testing.assert_allclose(told, expected, atol=1e-3)


@pytest.fixture
def few_rounds(monkeypatch):
    shorten(monkeypatch)


def brute_loss(rows, idxs, recipe, held_out, weights, hidden, its) -> float:
    """Held-out loss of some rows with features hidden, predictor by predictor."""
    folds = [fold[np.isin(fold, its)] for fold in held_out.folds]
    growths = [
        blending.make_growth_settings(rows, *ensemble)._replace(seed=rows.seed + number)
        for number, ensemble in enumerate(recipe.ensembles)
    ]
    by_fold = [grow_folds(rows, idxs, growth, held_out) for growth in growths]
    columns = rows.select_with_covariance(idxs).take(idxs)
    gains = np.mean([grown.gains for grown in by_fold[0]], axis=0)
    ridges = [ridge for _, ridge in fit_ridges(rows, columns, gains, recipe, held_out)]
    values = rows.dataset.values
    is_hidden = flags(*hidden, size=values.shape[1])
    losses = []
    for number, fold in enumerate(folds):
        if not fold.size:
            continue
        scores = [
            serve_exactly(rows, fitted_part[number]).logits(values[fold], is_hidden)
            for fitted_part in by_fold
        ]
        told = weights[0] * to_logits(np.mean([to_chances(s) for s in scores], axis=0))
        for weight, ridge in zip(weights[1:], ridges, strict=True):
            told = told + weight * ridge.hide(columns.hide(is_hidden), number, fold)
        part = rows.targets[fold], rows.weights[fold]
        losses.append((rows.weights[fold].sum(), mean_log_loss(told, *part)))
    sums, means = np.array(losses).T
    return float(sums @ means / sums.sum())


@pytest.mark.usefixtures("few_rounds")
@each_n_classes
@pytest.mark.parametrize("recipe", [LIGHT, TWO])
def test_held_out_loss_without_a_feature_is_the_loss_and_its_rise(n_classes, recipe):
    rows = random_rows(3, n_classes, 60)
    # Each alone: what bundles have in common is told below.
    features = tuple(
        replace(feature, group=None) for feature in rows.dataset.catalogue.features
    )
    rows = PanelRows(replace(rows.dataset, catalogue=Catalogue(features)), 0)
    held_out = rows.hold_out(3, 99)

    panel = make_panel(rows, IDXS, recipe, held_out).panel

    weights, its = panel.blend.weights, held_out.row_idxs
    for idx, rise in zip(IDXS, panel.rises, strict=True):
        loss = brute_loss(rows, IDXS, recipe, held_out, weights, (idx,), its)
        assert rise == pytest.approx(max(loss - panel.loss, 0.0), abs=1e-5)


@pytest.mark.usefixtures("few_rounds")
def test_rises_are_of_as_many_rows_as_are_worth_it(monkeypatch):
    monkeypatch.setattr(blending, "RISE_ROWS", 40)
    rows = random_rows(3, 2, 60)
    held_out = rows.hold_out(3, 99)
    # Two features are measured on twenty rows, those of the first fold.
    its, idxs = held_out.folds[0], (4, 0)

    panel, logits = make_panel(rows, idxs, LIGHT, held_out)

    judges = rows.targets[its], rows.weights[its]
    before = mean_log_loss(logits[its], *judges)
    rest = rows, idxs, LIGHT, held_out, panel.blend.weights
    after = brute_loss(*rest, (4,), its)
    assert panel.rises[0] == pytest.approx(max(after - before, 0.0), abs=1e-5)


@pytest.mark.usefixtures("few_rounds")
@pytest.mark.parametrize("seed", range(4))
def test_rises_are_one_for_each_feature_and_never_below_0(seed):
    rows = random_rows(seed, 2 + seed % 2)

    panel = make_panel(rows, IDXS, LIGHT, rows.hold_out(5, 99)).panel

    assert len(panel.rises) == len(IDXS)
    assert min(panel.rises) >= 0


@pytest.mark.usefixtures("few_rounds")
def test_panel_without_its_only_feature_loses_about_as_the_class_shares():
    targets = np.arange(80) % 2
    rows = PanelRows(table_of([targets + 0.0], targets), 0)
    held_out = rows.hold_out(5, 99)

    panel = make_panel(rows, (0,), LIGHT, held_out).panel

    assert panel.loss + panel.rises[0] == pytest.approx(np.log(2), abs=0.02)


@pytest.mark.usefixtures("few_rounds")
def test_rise_of_what_tells_the_class_is_larger_than_that_of_noise():
    targets = np.arange(80) % 2
    noise = np.random.default_rng(0).integers(0, 2, 80)
    rows = PanelRows(table_of([noise, targets], targets), 0)

    panel = make_panel(rows, (0, 1), LIGHT, rows.hold_out(5, 99)).panel

    assert panel.rises[1] > 0.3 > panel.rises[0]


@pytest.mark.usefixtures("few_rounds")
def test_members_of_a_bundle_share_one_rise():
    targets = np.arange(80) % 2
    random = np.random.default_rng(0)
    columns = [np.where(random.random(80) < 0.8, targets, 1 - targets) for _ in "abc"]
    features = Feature("a", group="pack"), Feature("b"), Feature("c", group="pack")
    catalogue = Catalogue(features, (Group("pack", price=3),))
    rows = PanelRows(table_of(columns, targets, catalogue), 0)
    held_out, idxs = rows.hold_out(4, 99), (2, 1, 0)

    panel = make_panel(rows, idxs, LIGHT, held_out).panel

    last, _, first = panel.rises
    rest = rows, idxs, LIGHT, held_out, panel.blend.weights
    loss = brute_loss(*rest, (0, 2), held_out.row_idxs)
    assert first == last
    assert 2 * first == pytest.approx(loss - panel.loss, abs=1e-5)
    assert first > 0


def test_members_of_a_fee_are_hidden_each_alone():
    features = Feature("a", group="f"), Feature("b", group="f"), Feature("c")
    catalogue = Catalogue(features, (Group("f", fee=3),))
    rows = PanelRows(table_of([[0.0, 1.0]] * 3, catalogue=catalogue), 0)

    assert blending.group_bundles(rows, (2, 0, 1)) == [(2,), (0,), (1,)]


def test_panel_without_features_has_no_rises():
    rows = random_rows()

    panel = make_panel(rows, (), LIGHT, rows.hold_out(5, 99)).panel

    assert panel.rises == ()


@pytest.mark.usefixtures("few_rounds")
def test_mean_of_ensembles_is_that_of_their_chances():
    rows = random_rows(2)
    held_out = rows.hold_out(3, 99)
    growths = [
        make_growth_settings(rows, 3, 4, 0.3),
        make_growth_settings(rows, 2, 3, 0.2),
    ]

    told = score_trees([grow_folds(rows, IDXS, g, held_out) for g in growths], held_out)

    alone = [
        score_trees([grow_folds(rows, IDXS, growth, held_out)], held_out)
        for growth in growths
    ]
    chances = np.mean([to_chances(one) for one in alone], axis=0)
    np.testing.assert_allclose(to_chances(told), chances)
