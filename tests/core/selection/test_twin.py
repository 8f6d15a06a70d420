"""Selection against a plain twin, by property."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from askless.core.selection.boosting import boost_subset
from askless.core.selection.neighbours import (
    compute_neighbour_accuracy,
    compute_neighbour_credits,
)
from askless.core.selection.params import SelectionParams
from tests import naive_selection as naive
from tests.levels import at_most
from tests.selections import LEARNERS, kinds_of, make_dataset, noisy, subset_of
from tests.strategies import datasets
from tests.twins import rows_of

BOOSTED = [("fs2boost", "z"), ("ifs2boost", "z"), ("ifs2boost", "z_prime")]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(("method", "criterion"), BOOSTED)
@at_most(30)
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

    accuracy = compute_neighbour_accuracy(subset_of(dataset, everything), n_neighbours)

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

    rights = compute_neighbour_credits(subset_of(dataset, everything), n_neighbours)

    accuracy = compute_neighbour_accuracy(subset_of(dataset, everything), n_neighbours)
    assert rights @ dataset.weights == pytest.approx(accuracy)
    assert set(rights.tolist()) <= {0.0, 0.5, 1.0}


def test_without_a_feature_the_rows_of_the_largest_class_are_right():
    dataset = make_dataset([[0, 1, 2]], [0, 1, 1])

    assert compute_neighbour_credits(subset_of(dataset, ()), 1).tolist() == [
        0.0,
        1.0,
        1.0,
    ]


def test_accuracy_is_scikit_learns_where_nothing_is_tied():
    dataset = noisy(0, 60)
    scaled = dataset.values - dataset.values.min(axis=0)
    scaled /= scaled.max(axis=0)
    oracle = KNeighborsClassifier(5)

    accuracy = compute_neighbour_accuracy(subset_of(dataset, [0, 1, 2]), 5)

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
            np.where(targets == number, 1, -1).tolist(),
            dataset.weights.tolist(),
            learner,
            3,
            5,
            "fs2boost",
        )[0]
        for number in range(3)
    ]
    np.testing.assert_allclose(fit.zs, np.mean(zs, axis=0))
