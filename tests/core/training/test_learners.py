"""Stumps of several outputs, trees and products, against the naive training."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.catalogue.prices import Paid, hypothesis_costs
from askless.core.codes.binning import bin_values
from askless.core.model.hypotheses import LEAF, Product, Stump, Tree
from askless.core.simulation import simulate
from askless.core.training.algorithms import make_ensemble
from askless.core.training.boosting import boost, initial_weights
from askless.core.training.buying import Buyer
from askless.core.training.params import BoostParams
from tests import naive_boosting, strategies, twins
from tests.conftest import IS_COMPILED
from tests.rounds import naive_run, naive_weights, run
from tests.small import make_dataset, random_dataset

RULES = (
    "adaboost",
    "adaboost_bt_greedy",
    "adaboost_bt_smoothed",
    "hybrid",
    "speedboost",
)
LEARNERS = ("stump", "tree", "product")
CLOSE = 1e-9


def params_of(learner, algorithm="adaboost", rounds=6, size=4, **kwargs):
    return BoostParams(
        algorithm=algorithm,
        rounds=rounds,
        learner=learner,
        leaves=max(size, 2),
        factors=size,
        **kwargs,
    )


# Weights.


@pytest.mark.parametrize("kind", ["balanced", "uniform"])
@pytest.mark.parametrize(
    ("n_classes", "is_multilabel"), [(2, False), (3, False), (5, False), (3, True)]
)
def test_first_weights_are_those_of_the_paper(kind, n_classes, is_multilabel):
    dataset = random_dataset(1, n_classes, is_multilabel=is_multilabel)

    actual = initial_weights(dataset, kind)

    weights, signs = naive_weights(dataset, kind)
    np.testing.assert_allclose(actual, np.array(weights) * signs, atol=1e-15)
    assert np.abs(actual).sum() == pytest.approx(1)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("n_samples", [1, 2])
def test_constant_columns_or_one_row_train_nothing(learner, n_samples):
    values = np.array([[1.0, math.nan]] * n_samples)
    dataset = make_dataset(values, np.arange(n_samples) % 2, 2)

    assert run(dataset, params_of(learner)) == []


# One round with exact sums: ties and all, the very hypothesis of the naive learner.


def dyadic_dataset(seed, n_classes, share_missing=0.2):
    """32 rows of equal weight, few distinct values: every sum is exact."""
    dataset = random_dataset(
        seed, n_classes, n_samples=32, n_values=4, share_missing=share_missing
    )
    return replace(dataset, weights=np.full(32, 1 / 32))


# Each rule with each learner and each number of classes.
@pytest.mark.parametrize(
    ("learner", "size", "n_classes", "algorithm"),
    [
        (*learner, (2, 3, 5)[(number + idx) % 3], algorithm)
        for number, algorithm in enumerate(RULES)
        for idx, learner in enumerate((("stump", 1), ("tree", 5), ("product", 3)))
    ],
)
def test_first_round_is_the_naive_one_ties_included(
    learner, size, n_classes, algorithm
):
    params = params_of(learner, algorithm, rounds=1, size=size)

    for seed in range(4 if IS_COMPILED else 1):
        dataset = dyadic_dataset(seed, n_classes)
        (actual,) = run(dataset, params)
        (expected,) = naive_run(dataset, params)
        assert twins.to_naive(actual.hypothesis) == expected.hypothesis
        assert actual.edge == pytest.approx(expected.edge, abs=CLOSE)
        assert actual.alpha == pytest.approx(expected.alpha)
        assert actual.spent == expected.spent


# Many rounds.


def datasets_of(kind, seed):
    if kind == "multilabel":
        return random_dataset(seed, 3, is_multilabel=True)
    return random_dataset(seed, {"two": 2, "three": 3, "five": 5}[kind])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "kind", "algorithm"),
    [
        (learner, kind, RULES[(number + idx) % 5])
        for number, kind in enumerate(("two", "three", "five", "multilabel"))
        for idx, learner in enumerate(LEARNERS)
    ],
)
def test_rounds_are_the_naive_ones_up_to_ties(learner, kind, algorithm):
    check_rounds(datasets_of(kind, 7), params_of(learner, algorithm, rounds=6))


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_uniform_first_weights_give_the_naive_rounds(learner):
    dataset = random_dataset(11, 4, n_samples=40)
    check_rounds(dataset, params_of(learner, rounds=4, label_weights="uniform"))


def check_rounds(dataset, params):
    """Whether the rounds are the naive ones, or as good where those are tied."""
    rounds = run(dataset, params)

    choices = [twins.to_naive(round.hypothesis) for round in rounds]
    expected = naive_run(dataset, params, choices)
    assert len(rounds) == len(expected) > 0
    for actual, wanted in zip(rounds, expected, strict=True):
        assert actual.edge == pytest.approx(wanted.edge, abs=CLOSE)
        assert actual.alpha == pytest.approx(wanted.alpha, rel=1e-6)
        assert actual.z == pytest.approx(wanted.z, rel=1e-6)
        assert actual.spent == wanted.spent
        if wanted.hypothesis != wanted.own.hypothesis:
            assert wanted.score == pytest.approx(wanted.own.score, rel=1e-7)


@pytest.mark.parametrize("kind", ["two", "three", "multilabel"])
@pytest.mark.parametrize(("learner", "size"), [("tree", 2), ("product", 1)])
def test_smallest_tree_or_product_is_the_stump(learner, size, kind):
    dataset = datasets_of(kind, 5)

    rounds = run(dataset, params_of(learner, size=size, rounds=10))

    assert rounds == run(dataset, params_of("stump", rounds=10))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["two", "three", "multilabel"])
@pytest.mark.parametrize("learner", ["tree", "product"])
def test_edge_is_never_below_that_of_the_stump(learner, kind):
    for seed in range(10):
        dataset = datasets_of(kind, seed)
        signed = initial_weights(dataset)
        edges = [
            next(boost([(bin_values(dataset), signed)], dataset.catalogue, params)).edge
            for params in (params_of(learner, size=6), params_of("stump"))
        ]
        assert edges[0] >= edges[1]


@pytest.mark.slow
def test_more_leaves_never_lower_the_edge():
    for seed in range(10):
        dataset = random_dataset(seed, 3)
        edges = [
            run(dataset, params_of("tree", size=size, rounds=1))[0].edge
            for size in (2, 3, 4, 8)
        ]
        assert edges == sorted(edges)


def test_tree_has_as_many_leaves_as_asked_for():
    dataset = random_dataset(2, 3, n_samples=80, share_missing=0.0)

    rounds = run(dataset, params_of("tree", size=6, rounds=5))

    assert {len(round.hypothesis.stumps) for round in rounds} == {5}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("learner", LEARNERS)
def test_stored_edge_is_the_edge_of_the_hypothesis(learner, n_classes):
    dataset = random_dataset(9, n_classes, share_missing=0.4)
    signed = initial_weights(dataset)
    binned = bin_values(dataset)

    for added in run(dataset, params_of(learner, rounds=50 if IS_COMPILED else 12)):
        codes = added.hypothesis.cut_codes(binned)
        votes = added.hypothesis.votes_on(binned, codes).T
        assert (signed * votes).sum() == pytest.approx(added.edge, abs=CLOSE)
        signed = signed * np.exp(-added.alpha * np.sign(signed) * votes)
        signed /= np.abs(signed).sum()


def xor_dataset(costs):
    """The classes are f0 xor f1, with a bias that a stump on f0 finds first."""
    values = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 4, np.float64)
    targets = np.logical_xor(values[:, 0] > 0, values[:, 1] > 0).astype(int)
    weights = np.array([4.0, 1.0, 3.0, 1.0] * 4)
    catalogue = Catalogue(
        tuple(Feature(f"f{i}", cost=cost) for i, cost in enumerate(costs))
    )
    return make_dataset(values, targets, 2, weights, catalogue)


@pytest.mark.parametrize("learner", ["tree", "product"])
@pytest.mark.parametrize(("dear", "n_stumps"), [(1, 2), (10_000, 1)])
def test_dear_feature_is_left_out_where_it_costs_more_than_it_brings(
    learner, dear, n_stumps
):
    dataset = xor_dataset([10, dear])
    params = params_of(learner, "adaboost_bt_greedy", rounds=1, size=2)
    params = replace(params, leaves=4)

    (first,) = run(dataset, params)

    assert len(set(first.hypothesis.feature_idxs)) == n_stumps


def test_split_of_a_leaf_is_taken_on_a_feature_already_read_at_no_cost():
    random = np.random.default_rng(0)
    values = random.normal(size=(60, 2))
    targets = ((values[:, 0] > -0.5) & (values[:, 0] < 0.8)).astype(int)
    catalogue = Catalogue((Feature("a", cost=5), Feature("b", cost=500)))
    dataset = make_dataset(values, targets, 2, catalogue=catalogue)

    (first,) = run(dataset, params_of("tree", "adaboost_bt_greedy", rounds=1, size=3))

    assert isinstance(first.hypothesis, Tree)
    assert first.hypothesis.feature_idxs == (0,)
    assert first.spent == 5


# Costs.


def test_shared_fee_is_counted_once_with_what_is_read_already():
    features = (
        Feature("a", cost=3, group="blood"),
        Feature("b", cost=5, group="blood"),
        Feature("c", cost=7),
        Feature("d", cost=0, group="echo"),
        Feature("e", cost=0, group="echo"),
    )
    groups = (Group("blood", fee=20), Group("echo", price=90))
    catalogue = Catalogue(features, groups)
    none = np.zeros(2, np.bool_)

    actual = [
        hypothesis_costs(catalogue, none, None, already).tolist()
        for already in [(), (0,), (0, 1), (0, 3), (2,)]
    ]

    assert actual == [
        [23, 25, 7, 90, 90],
        [23, 28, 30, 113, 113],
        [28, 28, 35, 118, 118],
        [113, 118, 120, 113, 113],
        [30, 32, 7, 97, 97],
    ]


@given(st.data())
def test_costs_of_the_rules_are_the_naive_ones(data):
    catalogue = data.draw(strategies.catalogues())
    n_features = len(catalogue.features)
    idxs = st.lists(st.integers(0, n_features - 1), max_size=4, unique=True)
    already, paid = data.draw(idxs), data.draw(idxs)
    floor = data.draw(st.none() | st.integers(1, 5_000_000))
    is_group_paid = np.zeros(len(catalogue.groups), np.bool_)
    is_group_paid[[g for g in catalogue.group_idxs[paid].tolist() if g >= 0]] = True
    shop = twins.shop_of(catalogue)

    actual = hypothesis_costs(catalogue, is_group_paid, floor, tuple(already))

    assert actual.tolist() == [
        naive_boosting.cost_of(shop, paid, [*already, idx], floor)
        for idx in range(n_features)
    ]


def test_hypothesis_of_several_features_is_bought_whole():
    catalogue = Catalogue(
        (
            Feature("a", cost=3, group="blood"),
            Feature("b", cost=5, group="blood"),
            Feature("c", cost=7),
        ),
        (Group("blood", fee=20),),
    )
    buyer = Buyer(catalogue, BoostParams())
    one = [Stump(idx, 0.5, (1,)) for idx in range(3)]

    buyer.buy_features(Product((one[1], one[0])))
    buyer.buy_features(Tree((one[0], one[2]), ((1, LEAF), (LEAF, LEAF))))

    assert buyer.spent == 20 + 5 + 3 + 7
    assert buyer.paid == Paid(frozenset({0, 1, 2}), frozenset({0}))


# Ugly weights.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "n_classes"), [("stump", 3), ("tree", 3), ("product", 2)]
)
def test_very_many_rounds_of_a_tiny_table_stay_finite(learner, n_classes):
    values = np.array([[0.0, 1], [1, 0], [1, 1], [0, 0], [1, 1], [2, 0]])
    targets = np.array([0, 1, 0, 1, n_classes - 1, 0])
    dataset = make_dataset(values, targets, n_classes)
    params = params_of(learner, rounds=400, size=2)

    rounds = run(dataset, params)

    figures = np.array([(round.edge, round.alpha, round.z) for round in rounds])
    assert np.isfinite(figures).all()
    assert (figures > 0).all()
    assert (figures[:, 0] <= 1 + 1e-9).all()
    ensemble = make_ensemble(dataset, params, rounds)
    walks = simulate.simulate(ensemble, values, [0, 1, None])
    chances = simulate.class_probabilities(ensemble, walks)
    assert np.isfinite(chances).all()
    np.testing.assert_allclose(chances.sum(axis=-1), 1)
