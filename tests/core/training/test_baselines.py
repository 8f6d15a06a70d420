"""Decision trees, bagging and forests: against scikit-learn's own, and as ensembles."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.model.ensemble import Ensemble
from askless.core.model.hypotheses import LEAF, Tree
from askless.core.model.votes import full_votes, hypothesis_votes, raw_classes
from askless.core.session import machine
from askless.core.session.certainty import is_binary_label_fixed, is_label_fixed
from askless.core.session.position import Position
from askless.core.session.probability import decide_label
from askless.core.simulation.simulate import class_probabilities, class_votes, simulate
from askless.core.table.dataset import Dataset, count_outputs
from askless.core.training import baselines
from askless.core.training.algorithms import make_ensemble
from askless.core.training.baselines import (
    BASELINES,
    convert_threshold,
    derive_tree_seed,
    draw_bootstrap,
    to_sklearn_columns,
)
from tests.baselines import (
    BAGGED,
    N_TREES,
    grow,
    grown,
    mixed,
    noise,
    numbers,
    params_of,
)
from tests.documents import through_json
from tests.small import finish, make_dataset, train


def one_hot(dataset: Dataset) -> np.ndarray:
    """The columns as plain scikit-learn would be given them."""
    columns = []
    for feature, values in zip(
        dataset.catalogue.features, dataset.values.T, strict=True
    ):
        if feature.type == "category":
            columns += [values == code for code in range(len(feature.categories))]
        else:
            columns.append(values)
    return np.column_stack(columns)


def labels_of(ensemble: Ensemble, values: np.ndarray) -> list[int]:
    votes, _ = full_votes(ensemble, np.ascontiguousarray(values))
    return raw_classes(ensemble, votes).tolist()


def plain_tree(dataset: Dataset, **more) -> DecisionTreeClassifier:
    one = DecisionTreeClassifier(random_state=derive_tree_seed(0, 1), **more)
    return one.fit(one_hot(dataset), dataset.targets, dataset.weights)


def vote_by_hand(tree: Tree, row: list[float], n_outputs: int) -> tuple[int, ...]:
    """The last stump of the path that can be read votes."""
    position, vote = 0, (0,) * n_outputs
    while position != LEAF:
        stump = tree.stumps[position]
        value = row[stump.feature_idx]
        if math.isnan(value) or (stump.is_category and value < 0):
            return vote
        is_above = value == stump.cut if stump.is_category else value > stump.cut
        vote = stump.votes if is_above else tree.below_votes[position]
        position = tree.children[position][0 if is_above else 1]
    return vote


# One tree.


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(2))
def test_tree_votes_what_scikit_learn_predicts(seed, n_classes, monkeypatch):
    dataset = mixed(seed, n_classes)
    monkeypatch.setattr(baselines, "PRUNING_FOLDS", 0)
    expected = plain_tree(dataset)

    ensemble = grown(dataset, "decision_tree")

    fresh = mixed(seed + 100, n_classes, n_samples=300)
    assert labels_of(ensemble, fresh.values) == list(expected.predict(one_hot(fresh)))
    own = expected.predict(one_hot(dataset))
    assert labels_of(ensemble, dataset.values) == list(own)


@pytest.mark.parametrize("scale", [1.0, 1e-9, 3e30, 1 / 3])
def test_rows_exactly_on_a_threshold_go_where_scikit_learn_sends_them(scale):
    random = np.random.default_rng(5)
    values = random.integers(0, 40, 120) * 0.1 * scale
    dataset = numbers(values, random.integers(0, 2, 120))
    # Unpruned, for many thresholds.
    table = to_sklearn_columns(dataset)
    fitted = DecisionTreeClassifier().fit(table.columns, dataset.targets)
    tree = baselines.to_hypothesis(fitted, table, 1)

    thresholds = fitted.tree_.threshold[fitted.tree_.feature >= 0]
    around = [thresholds, table.columns[:, 0]]
    for at in (thresholds, np.float32(thresholds).astype(np.float64)):
        for way in (-math.inf, math.inf):
            around += [
                np.nextafter(at, way),
                np.float64(np.nextafter(np.float32(at), np.float32(way))),
            ]
    scaled = np.concatenate(around)
    rows = np.ldexp(scaled, int(table.exponents[0]))[:, None]

    votes = hypothesis_votes(tree, rows, 1)[:, 0]

    assert list(votes > 0) == list(fitted.predict(scaled[:, None]) == 1)


def test_cut_is_the_largest_number_that_rounds_to_the_threshold_or_less():
    random = np.random.default_rng(1)
    for threshold in [*random.normal(size=200), 0.0, 0.5, 1 / 3, 16777219.0, -0.5]:
        cut = convert_threshold(threshold, 0)
        assert np.float32(cut) <= threshold
        assert np.float32(np.nextafter(cut, math.inf)) > threshold


def test_tree_tells_numbers_apart_that_scikit_learn_would_refuse_or_take_for_one():
    targets = [0, 0, 1, 1]
    for values in ([1e-9, 2e-9, 3e-9, 4e-9], [1e300, 2e300, 3e300, 4e300]):
        dataset = numbers(values, targets)

        assert labels_of(grown(dataset, "decision_tree"), dataset.values) == targets


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("algorithm", BASELINES)
def test_missing_values_end_a_path_with_the_last_vote(algorithm, n_classes):
    dataset = mixed(7, n_classes, share_missing=0.2)
    n_outputs = count_outputs(n_classes, False)
    rows = mixed(8, n_classes, n_samples=60, share_missing=0.4).values
    rows[::7, 3] = -1.0

    for added in grow(dataset, algorithm, rounds=4):
        votes = hypothesis_votes(added.hypothesis, rows, n_outputs)
        expected = [
            vote_by_hand(added.hypothesis, row, n_outputs) for row in rows.tolist()
        ]
        assert [tuple(row) for row in votes.tolist()] == expected


@pytest.mark.parametrize("kind", ["number", "category"])
def test_split_that_parts_only_the_missing_values_asks_for_nothing(kind):
    present = np.array([0.0, 1.0] * 10)
    gone = np.full(20, math.nan)
    other = np.array([0.0] * 10 + [1.0] * 10)
    values = np.column_stack((np.r_[present, gone], np.r_[other, other]))
    # Missing is of class 1 whatever else; where it is there, the other feature tells.
    targets = np.r_[other, np.ones(20)].astype(np.int64)
    categories = ("p", "q") if kind == "category" else ()
    first = Feature("a", kind, categories=categories)
    catalogue = Catalogue((first, Feature("b")))
    dataset = make_dataset(values, targets, 2, catalogue=catalogue)
    table = to_sklearn_columns(dataset)
    fitted = DecisionTreeClassifier(random_state=0).fit(table.columns, targets)
    assert np.isinf(fitted.tree_.threshold).any()

    tree = baselines.to_hypothesis(fitted, table, 1)

    assert tree.feature_idxs == (1,)
    is_there = slice(0, 20)
    votes = hypothesis_votes(tree, values[is_there], 1)[:, 0]
    assert list(votes > 0) == list(targets[is_there] == 1)


def test_tree_of_nothing_but_missing_values_has_no_split():
    values = np.r_[np.zeros(10), np.full(10, math.nan)]
    dataset = numbers(values, [0] * 10 + [1] * 10)

    assert grow(dataset, "decision_tree") == []


def constant(n_samples=20, **more) -> Dataset:
    return numbers(np.ones((n_samples, 2)), np.arange(n_samples) % 2, **more)


@pytest.mark.parametrize("algorithm", BASELINES)
def test_tree_without_any_split_leaves_the_majority(algorithm):
    dataset = constant()
    dataset = replace(dataset, targets=(np.arange(20) < 6).astype(np.int64))

    model = finish(train(dataset, params_of(algorithm), folds=3))

    assert model.ensemble.hypotheses == ()
    assert model.curve.errors == (0.3,) * len(model.curve.errors)
    assert through_json(model) == model
    state = machine.start(model.ensemble, None)
    assert state.stop_reason == "all_known"
    assert machine.forecast(model.ensemble, state).label == 0
    if algorithm in BAGGED:
        assert model.card["out_of_bag_error"] is None


@pytest.mark.parametrize("algorithm", BASELINES)
def test_category_without_a_value_is_no_column(algorithm):
    catalogue = Catalogue((Feature("d", "category"),))
    values = np.full((8, 1), math.nan)
    dataset = make_dataset(values, np.arange(8) % 2, 2, catalogue=catalogue)

    assert grow(dataset, algorithm) == []


def n_stumps(rounds) -> int:
    return sum(len(round.hypothesis.stumps) for round in rounds)


def test_pruning_cuts_a_tree_grown_on_noise():
    dataset = noise()
    whole = plain_tree(dataset).tree_

    assert n_stumps(grow(dataset, "decision_tree")) < (whole.node_count - 1) / 8


def test_pruning_keeps_what_tells_the_classes():
    values = np.linspace(0, 0.99, 90)
    targets = ((values * 3).astype(int) % 2).astype(np.int64)
    dataset = numbers(values, targets)

    assert (
        labels_of(grown(dataset, "decision_tree"), dataset.values) == targets.tolist()
    )


def test_pruning_parameter_is_the_largest_of_least_error():
    """Again by plain means: every candidate over the same folds."""
    dataset = mixed(3, noise=1.2)
    table = to_sklearn_columns(dataset)
    chosen = baselines.make_pruned_tree(dataset, table, 9).ccp_alpha
    path = DecisionTreeClassifier(random_state=9).cost_complexity_pruning_path(
        table.columns, dataset.targets, dataset.weights
    )
    steps = path.ccp_alphas
    candidates = [math.sqrt(max(0.0, a * b)) for a, b in pairwise(steps)]
    candidates = sorted({*candidates, steps[-1]})
    assert len(candidates) <= baselines.MAX_ALPHAS
    errors = []
    folds = baselines.deal_strata(dataset, 5, 9)
    for alpha in candidates:
        error = 0.0
        for fold in folds:
            rest = np.setdiff1d(np.arange(80), fold)
            one = DecisionTreeClassifier(random_state=9, ccp_alpha=alpha)
            one.fit(table.columns[rest], dataset.targets[rest], dataset.weights[rest])
            said = one.predict(table.columns[fold])
            error += sum(dataset.weights[fold][said != dataset.targets[fold]])
        errors.append(error)

    best = [
        a for a, e in zip(candidates, errors, strict=True) if e <= min(errors) + 1e-12
    ]
    assert chosen == pytest.approx(max(best))


def test_pruning_keeps_units_whole():
    """Rows of a group are alike, their classes random: nothing is to be learnt."""
    random = np.random.default_rng(4)
    row_groups = np.arange(120) // 4
    values = random.normal(size=30)[row_groups]
    targets = random.integers(0, 2, 30)[row_groups]
    apart = n_stumps(grow(numbers(values, targets), "decision_tree"))
    together = n_stumps(
        grow(numbers(values, targets, row_groups=row_groups), "decision_tree")
    )

    assert together < apart


@pytest.mark.usefixtures("short_pruning")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "n_classes", "n_tiny"),
    [("decision_tree", 3, 3), ("bagging", 3, 1), ("random_forest", 2, 2)],
)
def test_tiny_class_is_no_obstacle(algorithm, n_classes, n_tiny):
    random = np.random.default_rng(6)
    targets = np.r_[np.arange(40) % (n_classes - 1), np.full(n_tiny, n_classes - 1)]
    values = random.normal(size=(targets.size, 2)) + targets[:, None]
    dataset = numbers(values, targets, n_classes)

    model = finish(train(dataset, params_of(algorithm), folds=3))

    assert len(model.ensemble.classes) == n_classes


@pytest.mark.parametrize("algorithm", BASELINES)
def test_weights_decide_between_classes(algorithm):
    dataset = constant(40)
    values = np.repeat([[0.0], [1.0]], 20, axis=0)
    # Of each value half the rows are of each class; the weights lean one way.
    weights = np.where((values[:, 0] == 1) == (dataset.targets == 1), 5.0, 1.0)
    dataset = numbers(values, dataset.targets, weights=weights)

    assert labels_of(grown(dataset, algorithm), np.array([[0.0], [1.0]])) == [0, 1]


# Bagging.


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("algorithm", BAGGED)
def test_bagged_trees_decide_by_majority(algorithm, n_classes):
    dataset = mixed(13, n_classes)
    fresh = mixed(14, n_classes, n_samples=150)
    features = {"bagging": None, "random_forest": "sqrt"}[algorithm]
    counts = np.zeros((150, n_classes), int)
    for number in range(1, N_TREES + 1):
        one = DecisionTreeClassifier(
            random_state=derive_tree_seed(21, number), max_features=features
        )
        drawn = draw_bootstrap(dataset, 21, number)
        one.fit(one_hot(dataset), dataset.targets, dataset.weights * drawn)
        counts[np.arange(150), one.predict(one_hot(fresh))] += 1

    ensemble = grown(dataset, algorithm, seed=21)

    assert len(ensemble.hypotheses) == N_TREES
    assert set(ensemble.alphas) == {1.0}
    # Ties go to the larger class, then to the later one.
    priors = np.array(ensemble.priors)
    expected = [
        max(range(n_classes), key=lambda k, row=row: (row[k], priors[k], k))
        for row in counts.tolist()
    ]
    assert labels_of(ensemble, fresh.values) == expected
    chances = class_probabilities(ensemble, simulate(ensemble, fresh.values, [None]))[
        :, 0
    ]
    # An even number of trees may be at odds over two classes: then the priors.
    is_even = (n_classes == 2) & (counts[:, 0] == counts[:, 1])
    shares = np.where(is_even[:, None], priors, counts / N_TREES)
    np.testing.assert_allclose(chances, shares)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "n_classes", "policy"),
    [
        ("bagging", 2, "ordered"),
        ("bagging", 3, "sample"),
        ("random_forest", 2, "sample"),
        ("random_forest", 3, "ordered"),
    ],
)
def test_shares_of_votes_name_the_class_of_the_vote(algorithm, n_classes, policy):
    dataset = mixed(13, n_classes, share_missing=0.2)
    ensemble = grown(dataset, algorithm, seed=21)

    walks = simulate(ensemble, dataset.values, [0, 10**6, 2 * 10**6, None], policy)

    chances = class_probabilities(ensemble, walks)
    np.testing.assert_allclose(chances.sum(axis=-1), 1.0)
    assert chances.min() >= 0
    assert (chances[:, 0] == ensemble.class_priors).all()
    is_tie = np.abs(walks.scores).max(axis=-1) < 1e-9
    labels = decide_label(ensemble, chances)
    assert (labels == class_votes(ensemble, walks))[~is_tie].all()


@pytest.mark.parametrize(("least", "is_fixed"), [(1.0, True), (-1.0, False)])
def test_label_of_a_forest_is_fixed_where_its_vote_is(least, is_fixed):
    ensemble = grown(mixed(13), "bagging", seed=21)

    ends = np.array([[least], [5.0]])

    assert is_binary_label_fixed(ensemble, ends, 0.5) == is_fixed


def test_share_of_votes_is_never_fixed_by_odds_where_errors_cost():
    dataset = mixed(13, 3)
    ensemble = grown(dataset, "bagging", seed=21)
    costly = replace(ensemble, error_costs=((0.0, 1.0, 1.0),) * 3)
    position = Position.of(costly, machine.start(costly, None))

    votes = np.array([9.0, -9.0, -9.0])

    assert not is_label_fixed(position, None, votes, 1.0)


def test_bootstrap_draws_as_many_rows_with_replacement():
    dataset = noise(200)

    drawn = [draw_bootstrap(dataset, 0, number) for number in range(1, 30)]

    assert {member.sum() for member in drawn} == {200.0}
    assert np.mean([(member == 0).mean() for member in drawn]) == pytest.approx(
        (1 - 1 / 200) ** 200, abs=0.02
    )
    assert len({tuple(member) for member in drawn}) == 29
    assert draw_bootstrap(dataset, 1, 1).tolist() != drawn[0].tolist()


def test_bootstrap_draws_units_whole():
    row_groups = np.repeat([0, 3, 4, 9], [5, 1, 3, 6])
    dataset = numbers(np.zeros(15), np.arange(15) % 2, row_groups=row_groups)

    for number in range(20):
        drawn = draw_bootstrap(dataset, 0, number)
        for group in np.unique(row_groups):
            assert len(set(drawn[row_groups == group])) == 1
        assert (
            sum(drawn[row_groups == group][0] for group in np.unique(row_groups)) == 4
        )


@pytest.mark.parametrize(
    ("algorithm", "n_classes", "share_missing"),
    [
        ("bagging", 2, 0.0),
        ("bagging", 3, 0.3),
        ("random_forest", 2, 0.3),
        ("random_forest", 3, 0.0),
    ],
)
def test_out_of_bag_error_is_that_of_the_trees_that_left_a_row_out(
    algorithm, n_classes, share_missing
):
    dataset = mixed(17, n_classes, share_missing=share_missing)
    params = params_of(algorithm, seed=4)
    rounds = list(baselines.grow_trees(dataset, params))
    ensemble = make_ensemble(dataset, params, rounds)
    n_outputs = ensemble.n_outputs
    wrong, judged, n_ties = 0.0, 0.0, 0
    for row in range(dataset.n_samples):
        counts = [0] * n_classes
        for round in rounds:
            if draw_bootstrap(dataset, 4, round.number)[row] == 0:
                values = dataset.values[row].tolist()
                vote = vote_by_hand(round.hypothesis, values, n_outputs)
                if any(vote):
                    said = vote.index(1) if n_outputs > 1 else int(vote[0] > 0)
                    counts[said] += 1
        if sum(counts) == 0:
            continue
        n_ties += sorted(counts)[-1] == sorted(counts)[-2]
        best = max(range(n_classes), key=lambda k: (counts[k], ensemble.priors[k], k))
        judged += dataset.weights[row]
        wrong += dataset.weights[row] * (best != dataset.targets[row])

    found = baselines.out_of_bag_error(dataset, ensemble, rounds, 4)

    assert n_ties > 0
    assert found == pytest.approx(wrong / judged)


@pytest.mark.parametrize("algorithm", BAGGED)
def test_out_of_bag_error_is_on_the_card(algorithm):
    dataset = mixed(18)
    params = params_of(algorithm, seed=5)

    model = finish(train(dataset, params, folds=0))

    rounds = list(baselines.grow_trees(dataset, params))
    expected = baselines.out_of_bag_error(dataset, model.ensemble, rounds, 5)
    assert model.card["out_of_bag_error"] == expected


def test_out_of_bag_error_of_units_is_no_better_than_chance():
    """Copies of a row would tell its class if they were drawn apart."""
    random = np.random.default_rng(8)
    row_groups = np.arange(200) // 5
    values = random.normal(size=(40, 2))[row_groups]
    targets = random.integers(0, 2, 40)[row_groups]
    errors = []
    for given_groups in (None, row_groups):
        dataset = numbers(values, targets, row_groups=given_groups)
        model = finish(train(dataset, params_of("bagging", rounds=20), folds=0))
        errors.append(model.card["out_of_bag_error"])

    assert errors[0] < 0.2
    assert errors[1] > 0.35


@pytest.mark.slow
@pytest.mark.usefixtures("short_panels")
def test_only_bagged_algorithms_have_an_out_of_bag_error():
    for algorithm in ("panels", "adaboost", "cascade", "online", *BASELINES):
        model = finish(train(mixed(19), params_of(algorithm), folds=0))
        assert ("out_of_bag_error" in model.card) == (algorithm in BAGGED)
