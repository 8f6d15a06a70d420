"""The options of a selection: its features, its steps and its end."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.catalogue.catalogue import Catalogue, Group
from askless.core.errors import RefusedError
from askless.core.selection.boosting import boost_subset
from askless.core.selection.params import SelectionParams
from askless.core.selection.search import (
    FeatureScore,
    choose_step,
    compute_needed_gain,
    select_subset,
)
from askless.core.selection.table import make_selection_table
from tests.levels import at_most
from tests.selections import LEARNERS, kinds_of, make_dataset, noisy, run, subset_of
from tests.strategies import datasets

METHODS = ("fs2boost", "ifs2boost", "sfs")
# Each method and each learner; what is relevant is found by all of their pairs.
some_pairs = pytest.mark.parametrize(
    ("method", "learner"), [("fs2boost", "knn"), ("ifs2boost", "stump"), ("sfs", "knn")]
)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("method", METHODS)
def test_relevant_features_are_selected_and_their_copies_are_not(method, learner):
    dataset = noisy(7)

    found = run(dataset, method=method, learner=learner)

    assert len({1, 4} & set(found.feature_idxs)) == 1
    if (method, learner) != ("sfs", "stump"):
        assert 2 in found.feature_idxs


@some_pairs
def test_a_copy_of_the_only_feature_is_not_selected(method, learner):
    generator = np.random.default_rng(3)
    targets = generator.integers(0, 2, 200)
    column = targets + generator.normal(size=200)

    found = run(make_dataset([column, column], targets), method=method, learner=learner)

    assert found.feature_idxs == (0,)


@some_pairs
def test_nothing_that_improves_gives_the_empty_subset_with_its_value(method, learner):
    targets = [0, 0, 1, 1, 1] * 8
    dataset = make_dataset([[7.0] * 40, [0, 1] * 20], targets, ["number", "boolean"])

    found = run(dataset, method=method, learner=learner)

    empty = 0.6 if method == "sfs" else 2 * math.sqrt(0.4 * 0.6)
    assert found.feature_idxs == ()
    assert found.value == found.empty_value == pytest.approx(empty)
    assert (found.cost, found.accuracy) == (0, pytest.approx(0.6))
    assert [step.is_taken for step in found.steps] == [False]


@some_pairs
def test_one_row_per_class_teaches_nothing(method, learner):
    found = run(make_dataset([[0, 1]], [0, 1]), method=method, learner=learner)

    assert found.feature_idxs == ()


@pytest.mark.parametrize("method", METHODS)
def test_a_single_row_is_no_neighbour_of_itself(method):
    found = run(make_dataset([[3]], [1]), method=method)

    assert found.feature_idxs == ()


@some_pairs
def test_a_table_without_features_gives_the_empty_subset(method, learner):
    found = run(make_dataset([], [0, 1, 1]), method=method, learner=learner)

    assert (found.feature_idxs, found.steps, found.n_hypotheses) == ((), (), 0)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("kind", ["number", "boolean", "category"])
def test_a_column_with_no_cell_at_all_is_passed_over(learner, kind):
    targets = [0, 1] * 30
    dataset = make_dataset([[math.nan] * 60, targets], targets, [kind, "boolean"])

    assert run(dataset, learner=learner).feature_idxs == (1,)


@some_pairs
def test_a_feature_that_tells_all_ends_the_selection(method, learner):
    targets = [0, 1, 1] * 20
    dataset = make_dataset([[0, 1, 2, 3] * 15, targets, range(60)], targets)

    found = run(dataset, method=method, learner=learner)

    assert found.feature_idxs == (1,)
    assert found.accuracy == pytest.approx(1.0)


@pytest.mark.parametrize("learner", LEARNERS)
def test_selection_ends_when_every_feature_is_taken(learner):
    targets = [0, 1] * 40

    found = run(make_dataset([targets], targets), learner=learner)

    assert (found.feature_idxs, len(found.steps)) == ((0,), 1)


@some_pairs
def test_several_classes_are_told_apart(method, learner):
    generator = np.random.default_rng(5)
    targets = generator.integers(0, 3, 150)
    columns = [generator.integers(0, 2, 150), targets == 0, targets == 2]
    dataset = make_dataset(columns, targets, ["boolean"] * 3, n_classes=3)

    found = run(dataset, method=method, learner=learner)

    assert set(found.feature_idxs) == {1, 2}
    assert found.accuracy == pytest.approx(1.0)


def test_steps_tell_the_path():
    found = run(noisy(7))

    taken = [step for step in found.steps if step.is_taken]
    assert tuple(step.feature_idx for step in taken) == found.feature_idxs
    assert found.path == (found.empty_value, *(step.value for step in taken))
    assert found.steps[-1].n_hypotheses == found.n_hypotheses
    for before, step in zip(found.path, found.steps, strict=False):
        assert step.gain == pytest.approx(math.log(before / step.value))
        assert dict(step.candidates)[step.feature_idx] == step.value
        assert step.value == min(value for _, value in step.candidates)
        assert step.is_taken == (step.gain > step.needed)


def test_progress_comes_after_every_candidate_and_tells_each_step():
    progress = list(select_subset(noisy(7), SelectionParams(rounds=5)))

    for before, after in pairwise(progress):
        is_next = (after.number, after.n_tried) == (before.number, before.n_tried + 1)
        assert is_next or after.n_tried == 1
    assert all(
        (share.step is not None) == (share.n_tried == share.n_candidates)
        for share in progress
    )


def test_not_pulling_cancels():
    generator = select_subset(noisy(7))

    first = next(generator)
    generator.close()

    assert (first.number, first.n_tried, first.n_candidates) == (1, 1, 5)


@pytest.mark.parametrize(
    ("groups", "cost"),
    [
        ((Group("g", fee=100),), 100 + 10 + 10),
        ((Group("g", price=500),), 500),
        ((), 20),
    ],
)
def test_cost_counts_fees_and_bundles_once(groups, cost):
    dataset = noisy(7)
    group = groups[0].name if groups else None
    own = 0 if groups and groups[0].is_bundle else 10
    features = tuple(
        replace(feature, cost=own, group=group)
        for feature in dataset.catalogue.features
    )
    dataset = replace(dataset, catalogue=Catalogue(features, groups))

    found = run(dataset)

    assert (len(found.feature_idxs), found.cost) == (2, cost)
    assert found.steps[1].cost == cost


@pytest.mark.slow
@some_pairs
@at_most(10)
@given(dataset=datasets(min_rows=3), data=st.data())
def test_row_order_changes_nothing(method, learner, dataset, data):
    order = np.array(data.draw(st.permutations(range(dataset.n_samples))))
    params = {"method": method, "learner": learner, "rounds": 3, "n_neighbours": 2}

    found = run(dataset.take(order), **params)

    expected = run(dataset, **params)
    assert found.feature_idxs == expected.feature_idxs
    assert found.path == pytest.approx(expected.path)
    assert found.accuracy == pytest.approx(expected.accuracy)


@pytest.mark.parametrize("learner", LEARNERS)
@given(dataset=datasets(min_rows=3))
@at_most(10)
def test_the_unit_of_a_number_changes_nothing(learner, dataset):
    is_number = np.array([kind == "number" for kind in kinds_of(dataset)])
    shifted = np.where(is_number, 4 * dataset.values + 8, dataset.values)

    found = run(replace(dataset, values=shifted), learner=learner, rounds=3)

    assert found.path == pytest.approx(run(dataset, learner=learner, rounds=3).path)


@given(dataset=datasets(min_rows=3))
@at_most(10)
def test_z_never_exceeds_1_and_falls_from_round_to_round(dataset):
    fit = boost_subset(subset_of(dataset, [0]), SelectionParams(rounds=6))

    zs = [1.0, *fit.zs]
    assert all(after <= before + 1e-12 for before, after in pairwise(zs))


def test_a_marked_fall_is_the_formulas():
    needed = compute_needed_gain(1 / 1000, 20, 0.05)

    assert needed == pytest.approx(math.log(20 / 0.05) / 1000)


@pytest.mark.parametrize(("concentration", "is_taken"), [(1 / 400, True), (0.1, False)])
def test_z_prime_below_one_row_of_its_own_weights_falls_no_further(
    concentration, is_taken
):
    table = make_selection_table(noisy(11, 400))
    trials = [FeatureScore(0, 0.003, concentration, 1)]

    step = choose_step(table, SelectionParams("ifs2boost"), [], 0.02, trials)

    assert step.is_taken == is_taken
    assert (step.gain > 0) == is_taken


def test_nothing_is_selected_where_classes_are_shuffled():
    dataset = noisy(11)
    sizes = []
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(dataset.n_samples)
        shuffled = replace(dataset, targets=dataset.targets[order])
        sizes.append(len(run(shuffled, rounds=10).feature_idxs))

    assert sizes == [0] * 10


def test_every_wrong_parameter_is_refused_at_once(dataset):
    with pytest.raises(RefusedError) as refused:
        run(dataset, rounds=0, n_neighbours=-1)

    assert len(refused.value.refusals) == 2


def test_several_classes_in_one_row_are_refused(dataset):
    targets = np.eye(2, dtype=np.int64)[dataset.targets]

    with pytest.raises(RefusedError, match="target: must give one class to each row"):
        run(replace(dataset, targets=targets))
