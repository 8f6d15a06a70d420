"""Predictors with features hidden: against draws of what is hidden, and plain trees."""

import math
from dataclasses import replace

import numpy as np
import pytest

from askless.core import kernels
from askless.core.model.ladder.blends import (
    KernelRidge,
    LogisticRidge,
    Trees,
    to_chances,
)
from askless.core.model.ladder.columns import Columns
from tests.panels import make_hiding_blend, make_space

N_FEATURES, N_DRAWS = 5, 40_000


@pytest.fixture
def columns() -> Columns:
    """Six columns of five features; the last, a flag, is in no covariance."""
    return make_space(range(N_FEATURES), [1], np.random.default_rng(7))


def flags(*idxs: int) -> np.ndarray:
    found = np.zeros(N_FEATURES, np.bool_)
    found[list(idxs)] = True
    return found


def draw(columns: Columns, hidden_idxs, laid: np.ndarray) -> np.ndarray:
    """Rows (N_DRAWS, n_columns) whose hidden columns are drawn given the others."""
    is_out = np.isin(columns.feature_idxs, hidden_idxs)
    n_columns, covaried = is_out.size, columns.covariance
    whole = np.eye(n_columns)
    whole[: len(covaried), : len(covaried)] = covaried
    inner = np.linalg.inv(whole[np.ix_(~is_out, ~is_out)])
    across = whole[np.ix_(is_out, ~is_out)]
    variance = whole[np.ix_(is_out, is_out)] - across @ inner @ across.T
    mean = across @ inner @ laid[~is_out]
    rows = np.tile(laid, (N_DRAWS, 1))
    generator = np.random.default_rng(3)
    rows[:, is_out] = generator.multivariate_normal(mean, variance, N_DRAWS)
    return rows


HIDDEN = pytest.mark.parametrize("idxs", [(0,), (1,), (1, 3), (0, 2, 4), range(5)])


@HIDDEN
def test_kernel_ridge_tells_the_mean_over_what_is_hidden(columns, idxs):
    random = np.random.default_rng(2)
    ridge = KernelRidge(
        kind="laplace",
        width=2.0,
        seed=1,
        stretches=np.linspace(0.5, 1.5, 6),
        coefficients=random.normal(size=(40, 2)),
        offsets=np.array([0.3, -0.2]),
        slope=1.3,
    )
    laid = random.normal(size=6)
    hidden = columns.hide(flags(*idxs))

    told = ridge.logits(hidden.fill(laid), ridge.compute_damping(hidden))

    drawn = ridge.logits(draw(columns, idxs, laid))
    errors = drawn.std(axis=0) / math.sqrt(N_DRAWS)
    assert (np.abs(told - drawn.mean(axis=0)) < 4 * errors + 1e-9).all()


@HIDDEN
def test_logistic_ridge_tells_about_the_mean_chance_over_what_is_hidden(columns, idxs):
    random = np.random.default_rng(5)
    ridge = LogisticRidge(random.normal(size=(6, 1)), np.array([0.4]))
    laid = random.normal(size=6)
    hidden = columns.hide(flags(*idxs))

    told = to_chances(ridge.logits(hidden.fill(laid), ridge.compute_damping(hidden)))

    drawn = to_chances(ridge.logits(draw(columns, idxs, laid))).mean(axis=0)
    # MacKay's approximation is good to two hundredths.
    np.testing.assert_allclose(told, drawn, atol=0.02)


def test_nothing_hidden_damps_nothing(columns):
    blend = make_hiding_blend(columns, 2, np.random.default_rng(0))

    hiding = blend.hide(flags())

    assert [damping.tolist() for damping in hiding.dampings] == [[1.0] * 2, [1.0] * 8]


def random_trees(n_nodes: int, n_trees: int, seed: int) -> Trees:
    """Trees of any shape on the features, two outputs, shares of any size."""
    random = np.random.default_rng(seed)
    nodes, roots, n_steps = [], [], 0
    for _ in range(n_trees):
        first = len(nodes)
        tree = np.zeros((n_nodes, kernels.N_NODE), np.int64)
        hangs = []
        for number in range(n_nodes):
            if number:
                parent, side = hangs.pop(random.integers(len(hangs)))
                tree[parent, side] = first + number
            hangs += [(number, kernels.BELOW), (number, kernels.ABOVE)]
        for parent, side in hangs:
            tree[parent, side] = -1 - n_steps
            n_steps += 1
        tree[:, kernels.READS] = random.integers(0, N_FEATURES, n_nodes)
        tree[:, kernels.KIND] = random.integers(0, 2, n_nodes)
        tree[:, kernels.MISSING_BELOW] = random.integers(0, 2, n_nodes)
        nodes += list(tree)
        roots.append(first)
    served = kernels.ServedTrees(
        np.array(nodes),
        random.integers(0, 3, len(nodes)).astype(float),
        np.array(roots),
        random.integers(0, 2, n_trees),
        random.normal(size=n_steps),
        random.integers(0, 1001, len(nodes)) / 1000,
    )
    return Trees(np.array([0.5, -0.5]), served)


def naive_step(served, here, row, hidden):
    """Step of a tree from a node on, the mean of both ways where it is hidden."""
    if here < 0:
        return served.steps[-1 - here]
    node, cut = served.nodes[here], served.cuts[here]
    below, above = (
        naive_step(served, node[side], row, hidden)
        for side in (kernels.BELOW, kernels.ABOVE)
    )
    if node[kernels.READS] in hidden:
        return served.shares[here] * below + (1 - served.shares[here]) * above
    value = row[node[kernels.READS]]
    if math.isnan(value):
        return below if node[kernels.MISSING_BELOW] else above
    if node[kernels.KIND] == kernels.IS_CATEGORY:
        return below if value == cut else above
    return below if value <= cut else above


def naive_logits(trees: Trees, rows, hidden):
    told = np.tile(trees.starts, (len(rows), 1))
    served = trees.served
    for place, row in enumerate(rows):
        for root, output in zip(served.roots, served.outputs, strict=True):
            told[place, output] += naive_step(served, root, row, hidden)
    return told


@pytest.fixture
def rows() -> np.ndarray:
    random = np.random.default_rng(0)
    return random.choice([0.0, 1.0, 2.0, 3.0, math.nan], size=(12, N_FEATURES))


@pytest.mark.parametrize("idxs", [(), (0,), (1, 3), range(5)])
@pytest.mark.parametrize("n_nodes", [1, 2, 7])
def test_trees_go_both_ways_at_hidden_features(rows, n_nodes, idxs):
    trees = random_trees(n_nodes, 4, n_nodes)

    told = trees.logits(rows, flags(*idxs))

    np.testing.assert_allclose(told, naive_logits(trees, rows, set(idxs)), atol=1e-12)


def test_trees_of_which_all_is_hidden_tell_the_same_of_every_row(rows):
    told = random_trees(5, 3, 1).logits(rows, flags(*range(5)))

    assert (told == told[0]).all()


def test_trees_of_which_nothing_is_hidden_tell_the_same_bits(rows):
    trees = random_trees(6, 4, 2)

    np.testing.assert_array_equal(trees.logits(rows, flags()), trees.logits(rows))


def test_value_of_a_hidden_feature_changes_no_tree(rows):
    trees, other = random_trees(6, 4, 3), rows.copy()
    other[:, 2] = math.nan

    one, two = (trees.logits(these, flags(2)) for these in (rows, other))

    np.testing.assert_array_equal(one, two)


def test_blend_adds_up_its_predictors_with_features_hidden(columns, rows):
    blend = make_hiding_blend(columns, 2, np.random.default_rng(0))
    hiding = blend.hide(flags(0, 3))

    told = blend.logits(rows, hiding)

    filled = columns.hide(flags(0, 3)).fill(columns.standardise(rows))
    parts = [blend.trees.logits(rows, flags(0, 3))]
    parts += [
        ridge.logits(filled, ridge.compute_damping(hiding.columns))
        for ridge in blend.ridges
    ]
    np.testing.assert_allclose(told, np.einsum("p,pnk->nk", blend.weights, parts))


def test_hidden_value_changes_no_prediction(columns, rows):
    blend = make_hiding_blend(columns, 2, np.random.default_rng(0))
    other = rows.copy()
    other[:, [1, 3]] = 2.5
    hiding = blend.hide(flags(1, 3))

    one, two = (blend.logits(these, hiding) for these in (rows, other))

    np.testing.assert_array_equal(one, two)


def test_ridge_that_weighs_nothing_is_passed_over_with_features_hidden(columns, rows):
    blend = make_hiding_blend(columns, 2, np.random.default_rng(0))
    blend = replace(blend, weights=np.array([0.5, 0.0, 0.0]))
    is_hidden = flags(1)

    told = blend.logits(rows, blend.hide(is_hidden))

    np.testing.assert_array_equal(told, 0.5 * blend.trees.logits(rows, is_hidden))
