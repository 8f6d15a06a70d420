"""Selection against a plain twin, by property, and on the papers' own problems."""

import csv
import gzip
import math
import os
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from core.errors import RefusedError
from core.selection.boosting import boost_subset, weigh_clear
from core.selection.neighbours import (
    find_neighbours,
    neighbour_accuracy,
    neighbour_credits,
)
from core.selection.params import SelectionParams
from core.selection.search import (
    FeatureScore,
    Selection,
    needed_gain,
    next_step,
    select,
)
from core.selection.subset import make_groups, make_subset
from core.selection.table import make_table
from core.table.catalogue import Catalogue, Feature, Group
from tests import naive_selection as naive
from tests.small import finish, table_of
from tests.strategies import datasets
from tests.twins import rows_of

ROOT = Path(__file__).resolve().parents[3]
SHARED = Path(os.environ.get("ASKLESS_DATA", ROOT.parent / "shared" / "data"))
needs_shared = pytest.mark.skipif(
    not (SHARED / "xd6.csv.gz").is_file(),
    reason="the shared data sets are not there (ASKLESS_DATA names their folder)",
)

METHODS = ("fs2boost", "ifs2boost", "sfs")
LEARNERS = ("knn", "stump")
BOOSTED = [
    ("fs2boost", "z"),
    ("ifs2boost", "z"),
    ("ifs2boost", "z_prime"),
]


def run(dataset, **params) -> Selection:
    return finish(select(dataset, SelectionParams(**params)))


def make_dataset(columns, targets, kinds=None, n_classes=2):
    """Rows of equal weight from columns; a category has eight values."""
    features = tuple(
        Feature(f"f{idx}", kind, categories=tuple("abcdefgh"[: 8 * (kind[0] == "c")]))
        for idx, kind in enumerate(kinds or ["number"] * len(columns))
    )
    return table_of(columns, targets, Catalogue(features), n_classes)


def subset_of(dataset, feature_idxs):
    return make_subset(make_table(dataset), feature_idxs)


def kinds_of(dataset):
    return [feature.type for feature in dataset.catalogue.features]


def read_shared(name, n_rows=None):
    """A shared set of numbers or booleans, its first rows."""
    with gzip.open(SHARED / f"{name}.csv.gz", "rt") as lines:
        rows = list(islice(csv.reader(lines), 1, n_rows and n_rows + 1))
    columns = np.array([row[:-1] for row in rows], np.float64).T
    labels, targets = np.unique([row[-1] for row in rows], return_inverse=True)
    kinds = ["boolean"] * len(columns)
    return make_dataset(columns, targets, kinds, n_classes=labels.size)


def noisy(seed, n_samples=240):
    """Two features that tell the class together, a copy of one, and two of noise."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(4, n_samples))
    targets = x[0] + x[1] + 0.3 * generator.normal(size=n_samples) > 0
    return make_dataset([x[2], x[0], x[1], x[3], x[0]], targets)


# Against the plain twin.


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(("method", "criterion"), BOOSTED)
@settings(max_examples=30)
@given(dataset=datasets(), n_neighbours=st.integers(1, 4), data=st.data())
def test_boosting_is_that_of_the_plain_twin(
    learner, method, criterion, dataset, n_neighbours, data
):
    n_features = dataset.values.shape[1]
    chosen = data.draw(st.permutations(range(n_features)))
    chosen = chosen[: data.draw(st.integers(1, n_features))]
    params = SelectionParams(method, learner, 4, n_neighbours, criterion=criterion)

    fit = boost_subset(subset_of(dataset, chosen), params)

    zs, sums = naive.boost(
        rows_of(dataset.values),
        kinds_of(dataset),
        chosen,
        dataset.signs.tolist(),
        dataset.weights.tolist(),
        learner,
        min(n_neighbours, dataset.n_samples - 1),
        4,
        method,
        criterion,
    )
    np.testing.assert_allclose(fit.zs, zs, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fit.sums[:, 0], sums, rtol=1e-5, atol=1e-7)


@given(dataset=datasets(), n_neighbours=st.integers(1, 4))
def test_accuracy_is_that_of_the_plain_twin(dataset, n_neighbours):
    everything = range(dataset.values.shape[1])

    accuracy = neighbour_accuracy(subset_of(dataset, everything), n_neighbours)

    assert accuracy == pytest.approx(
        naive.knn_accuracy(
            rows_of(dataset.values),
            kinds_of(dataset),
            everything,
            dataset.targets.tolist(),
            dataset.weights.tolist(),
            n_neighbours,
        )
    )


@given(dataset=datasets(), n_neighbours=st.integers(1, 4))
def test_accuracy_is_the_weight_of_the_rows_that_are_right(dataset, n_neighbours):
    everything = range(dataset.values.shape[1])

    rights = neighbour_credits(subset_of(dataset, everything), n_neighbours)

    accuracy = neighbour_accuracy(subset_of(dataset, everything), n_neighbours)
    assert rights @ dataset.weights == pytest.approx(accuracy)
    assert set(rights.tolist()) <= {0.0, 0.5, 1.0}


def test_without_a_feature_the_rows_of_the_largest_class_are_right():
    dataset = make_dataset([[0, 1, 2]], [0, 1, 1])

    assert neighbour_credits(subset_of(dataset, ()), 1).tolist() == [0.0, 1.0, 1.0]


def test_accuracy_is_scikit_learns_where_nothing_is_tied():
    dataset = noisy(0, 60)
    scaled = dataset.values - dataset.values.min(axis=0)
    scaled /= scaled.max(axis=0)
    oracle = KNeighborsClassifier(5)

    accuracy = neighbour_accuracy(subset_of(dataset, [0, 1, 2]), 5)

    expected = cross_val_score(oracle, scaled[:, :3], dataset.targets, cv=LeaveOneOut())
    assert accuracy == pytest.approx(expected.mean())


@pytest.mark.parametrize("learner", LEARNERS)
def test_z_of_several_classes_is_the_mean_of_one_against_the_others(learner):
    generator = np.random.default_rng(1)
    targets = generator.integers(0, 3, 30)
    columns = [targets + generator.integers(0, 2, 30), generator.integers(0, 4, 30)]
    dataset = make_dataset(columns, targets, n_classes=3)
    params = SelectionParams(learner=learner, rounds=5, n_neighbours=3)

    fit = boost_subset(subset_of(dataset, [0, 1]), params)

    zs = [
        naive.boost(
            rows_of(dataset.values),
            kinds_of(dataset),
            [0, 1],
            np.where(targets == one, 1, -1).tolist(),
            dataset.weights.tolist(),
            learner,
            3,
            5,
            "fs2boost",
        )[0]
        for one in range(3)
    ]
    np.testing.assert_allclose(fit.zs, np.mean(zs, axis=0))


# Neighbours and distances.


def test_all_neighbours_at_the_kth_distance_vote():
    subset = subset_of(make_dataset([[0, 1, 2, 4, 8]], [0, 1, 0, 1, 0]), [0])

    neighbours, starts = find_neighbours(subset, 1)

    found = [part.tolist() for part in np.split(neighbours, starts[1:])]
    assert found == [[0, 1], [0, 1, 2], [1, 2], [2, 3], [3, 4]]


def test_a_missing_cell_is_a_value_of_its_own():
    nan = math.nan
    columns = [[0.0, 10.0, 5.0, nan, nan], [0.0, 0.0, 1.0, nan, 1.0]]
    dataset = make_dataset(columns, [0, 1, 0, 1, 0], ["number", "category"])

    subset = subset_of(dataset, [0, 1])

    between_rows = subset.distances[np.ix_(subset.cells, subset.cells)]
    assert between_rows.tolist() == [
        [0.0, 1.0, 1.25, 2.0, 2.0],
        [1.0, 0.0, 1.25, 2.0, 2.0],
        [1.25, 1.25, 0.0, 2.0, 1.0],
        [2.0, 2.0, 2.0, 0.0, 1.0],
        [2.0, 2.0, 1.0, 1.0, 0.0],
    ]


def test_a_range_that_overflows_is_scaled():
    subset = subset_of(make_dataset([[-1.7e308, 0.0, 1.7e308]], [0, 1, 0]), [0])

    assert subset.distances[0].tolist() == [0.0, 0.25, 1.0]


# D' of iFS2Boost.


def test_clear_descriptions_gain_weight_and_balanced_ones_lose_it_all():
    columns = [[0, 0, 1, 1, 1, 1, 2, 2]]
    dataset = make_dataset(columns, [1, 1, 1, 1, 1, 0, 0, 1])
    subset = subset_of(dataset, [0])
    groups = make_groups(subset)
    signs = subset.table.signs[groups.rows]

    D = weigh_clear(np.full(signs.shape, 1 / 8), signs, groups)

    by_row = D[groups.of_row, 0]
    np.testing.assert_allclose(by_row, [1 / 4] * 2 + [1 / 8] * 4 + [0.0] * 2)


@pytest.mark.parametrize("learner", LEARNERS)
def test_z_prime_is_z_where_every_description_has_one_class(learner):
    dataset = make_dataset([range(12)], [0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1])
    subset = subset_of(dataset, [0])
    plain = SelectionParams("fs2boost", learner, n_neighbours=2)
    primed = SelectionParams("ifs2boost", learner, n_neighbours=2, criterion="z_prime")

    zs = boost_subset(subset, plain).zs

    np.testing.assert_allclose(boost_subset(subset, primed).zs, zs)


def test_z_prime_is_1_where_no_description_is_clear():
    dataset = make_dataset([[0, 0, 1, 1]], [0, 1, 0, 1])
    params = SelectionParams("ifs2boost", n_neighbours=1, criterion="z_prime")

    fit = boost_subset(subset_of(dataset, [0]), params)

    assert fit.zs.tolist() == [1.0] * params.rounds


# Selections.


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("method", METHODS)
def test_relevant_features_are_selected_and_their_copies_are_not(method, learner):
    dataset = noisy(7)

    found = run(dataset, method=method, learner=learner)

    assert len({1, 4} & set(found.feature_idxs)) == 1
    if (method, learner) != ("sfs", "stump"):
        assert 2 in found.feature_idxs


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("method", METHODS)
def test_a_copy_of_the_only_feature_is_not_selected(method, learner):
    generator = np.random.default_rng(3)
    targets = generator.integers(0, 2, 200)
    column = targets + generator.normal(size=200)

    found = run(make_dataset([column, column], targets), method=method, learner=learner)

    assert found.feature_idxs == (0,)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("method", METHODS)
def test_nothing_that_improves_gives_the_empty_subset_with_its_value(method, learner):
    targets = [0, 0, 1, 1, 1] * 8
    dataset = make_dataset([[7.0] * 40, [0, 1] * 20], targets, ["number", "boolean"])

    found = run(dataset, method=method, learner=learner)

    empty = 0.6 if method == "sfs" else 2 * math.sqrt(0.4 * 0.6)
    assert found.feature_idxs == ()
    assert found.value == found.empty_value == pytest.approx(empty)
    assert (found.cost, found.accuracy) == (0, pytest.approx(0.6))
    assert [step.is_taken for step in found.steps] == [False]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("method", METHODS)
def test_one_row_per_class_teaches_nothing(method, learner):
    found = run(make_dataset([[0, 1]], [0, 1]), method=method, learner=learner)

    assert found.feature_idxs == ()


@pytest.mark.parametrize("method", METHODS)
def test_a_single_row_is_no_neighbour_of_itself(method):
    found = run(make_dataset([[3]], [1]), method=method)

    assert found.feature_idxs == ()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_table_without_features_gives_the_empty_subset(method, learner):
    found = run(make_dataset([], [0, 1, 1]), method=method, learner=learner)

    assert (found.feature_idxs, found.steps, found.n_hypotheses) == ((), (), 0)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("kind", ["number", "boolean", "category"])
def test_a_column_with_no_cell_at_all_is_passed_over(learner, kind):
    targets = [0, 1] * 30
    dataset = make_dataset([[math.nan] * 60, targets], targets, [kind, "boolean"])

    assert run(dataset, learner=learner).feature_idxs == (1,)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("method", METHODS)
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


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("method", METHODS)
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
    progress = list(select(noisy(7), SelectionParams(rounds=5)))

    for before, after in pairwise(progress):
        is_next = (after.number, after.n_tried) == (before.number, before.n_tried + 1)
        assert is_next or after.n_tried == 1
    assert all(
        (one.step is not None) == (one.n_tried == one.n_candidates) for one in progress
    )


def test_not_pulling_cancels():
    generator = select(noisy(7))

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
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=10)
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
@settings(max_examples=10)
def test_the_unit_of_a_number_changes_nothing(learner, dataset):
    is_number = np.array([kind == "number" for kind in kinds_of(dataset)])
    shifted = np.where(is_number, 4 * dataset.values + 8, dataset.values)

    found = run(replace(dataset, values=shifted), learner=learner, rounds=3)

    assert found.path == pytest.approx(run(dataset, learner=learner, rounds=3).path)


@given(dataset=datasets(min_rows=3))
@settings(max_examples=10)
def test_z_never_exceeds_1_and_falls_from_round_to_round(dataset):
    fit = boost_subset(subset_of(dataset, [0]), SelectionParams(rounds=6))

    zs = [1.0, *fit.zs]
    assert all(after <= before + 1e-12 for before, after in pairwise(zs))


# The test for a marked fall.


def test_a_marked_fall_is_the_formulas():
    needed = needed_gain(1 / 1000, 20, 0.05)

    assert needed == pytest.approx(math.log(20 / 0.05) / 1000)


@pytest.mark.parametrize(("concentration", "is_taken"), [(1 / 400, True), (0.1, False)])
def test_z_prime_below_one_row_of_its_own_weights_falls_no_further(
    concentration, is_taken
):
    table = make_table(noisy(11, 400))
    trials = [FeatureScore(0, 0.003, concentration, 1)]

    step = next_step(table, SelectionParams("ifs2boost"), [], 0.02, trials)

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


# Refusals.


def test_every_wrong_parameter_is_refused_at_once(dataset):
    with pytest.raises(RefusedError) as refused:
        run(dataset, rounds=0, n_neighbours=-1)

    assert len(refused.value.refusals) == 2


def test_several_classes_in_one_row_are_refused(dataset):
    targets = np.eye(2, dtype=np.int64)[dataset.targets]

    with pytest.raises(RefusedError, match="target: must give one class to each row"):
        run(replace(dataset, targets=targets))


# The paper's problems.


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("method", ["fs2boost", "ifs2boost"])
def test_xd6_gets_its_nine_relevant_features(method):
    found = run(read_shared("xd6"), method=method)

    assert set(found.feature_idxs) == set(range(9))


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("learner", LEARNERS)
def test_led24_gets_its_seven_segments(learner):
    found = run(read_shared("led24"), method="fs2boost", learner=learner, rounds=10)

    assert set(found.feature_idxs) >= set(range(7))


@needs_shared
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(("name", "seen"), [("monks1", {4}), ("monks3", {1, 3, 4})])
def test_single_steps_see_what_one_feature_shows_alone(name, seen, learner):
    boolean = read_shared(name)
    features = (replace(one, type="category") for one in boolean.catalogue.features)
    dataset = replace(boolean, catalogue=Catalogue(tuple(features)))

    assert set(run(dataset, learner=learner).feature_idxs) == seen


@needs_shared
@pytest.mark.parametrize("learner", LEARNERS)
def test_an_exclusive_or_shows_nothing_to_single_steps(learner):
    assert run(read_shared("hard"), learner=learner).feature_idxs == ()
