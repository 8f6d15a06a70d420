"""Which features a round looks at; and that an interrupted run goes on the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.codes.binning import bin_values
from askless.core.training.boosting import (
    initial_weights,
    make_learner,
    make_weights,
    search_hypothesis,
)
from askless.core.training.buying import Buyer
from askless.core.training.feature_sampling import (
    LazySampling,
    UCBSampling,
    make_sampling,
)
from askless.core.training.learner import RoundSearch
from askless.core.training.params import BoostParams
from tests import naive_boosting, twins
from tests.rounds import naive_run, run
from tests.small import make_dataset, random_dataset

LEARNERS = ("stump", "tree", "product")
UCBS = ("ucb", "ucb_unscaled")
SEARCHES = ("all", "lazy", *UCBS)
# Each search with each learner; algorithms and numbers of classes take turns.
ALGORITHMS = ("adaboost", "hybrid", "adaboost_bt_smoothed")
PAIRS = [
    (2 + (number + idx) % 2, learner, search, ALGORITHMS[(number + idx) % 3])
    for number, search in enumerate(SEARCHES)
    for idx, learner in enumerate(LEARNERS)
]


def params_of(learner, search, algorithm="adaboost", rounds=10, **kwargs):
    return BoostParams(
        algorithm=algorithm,
        rounds=rounds,
        learner=learner,
        leaves=4,
        factors=3,
        search=search,
        search_size=kwargs.pop("search_size", 3),
        **kwargs,
    )


# Arms.


@pytest.mark.parametrize("name", UCBS)
@given(st.data(), st.integers(1, 7), st.integers(1, 9))
def test_ucb_picks_the_arms_of_largest_bound(name, data, n_features, size):
    actual = make_sampling(name, n_features, size, 0)
    expected = naive_boosting.Ucb(n_features, size, is_scaled=name == "ucb")
    edges = [0.0, 0.05, 0.11, 0.23, 0.37, 0.59, 0.83, 1.0]

    for _ in range(data.draw(st.integers(1, 30))):
        picked, wanted = actual.pick().tolist(), expected.pick()
        # The same rewards in another order have another mean, by rounding alone.
        others = [
            sorted(set(a) - set(b)) for a, b in ((picked, wanted), (wanted, picked))
        ]
        bounds = [sorted(map(expected.bound, arms)) for arms in others]
        assert np.isfinite(bounds[0]).all()
        assert bounds[0] == pytest.approx(bounds[1], rel=1e-12)
        found = {arm: data.draw(st.sampled_from(edges)) for arm in picked}
        actual.reward(np.array(picked), np.array([found[arm] for arm in picked]))
        expected.reward(found)


@pytest.mark.parametrize("name", UCBS)
@pytest.mark.parametrize(("n_features", "size"), [(7, 3), (4, 4), (3, 20), (5, 1)])
def test_ucb_takes_every_arm_once_first_from_the_lowest_on(n_features, size, name):
    search = make_sampling(name, n_features, size, 0)
    seen = []

    while len(seen) < n_features:
        picked = search.pick()
        search.reward(picked, np.full(picked.size, 0.5))
        seen += [arm for arm in picked.tolist() if arm not in seen]

    assert seen == list(range(n_features))
    assert search.n_picks == -(-n_features // min(size, n_features))


def count_picks(search, n_features, edge, n_rounds):
    """How often each feature is looked at; the one of number 17 pays."""
    counts = np.zeros(n_features)
    for _ in range(n_rounds):
        picked = search.pick()
        counts[picked] += 1
        search.reward(picked, np.where(picked == 17, edge, 0.01))
    return counts


@pytest.mark.parametrize("name", UCBS)
def test_ucb_comes_back_to_what_pays(name):
    counts = count_picks(make_sampling(name, 50, 2, 0), 50, 0.99, 2000)

    assert np.argmax(counts) == 17


def test_bonus_of_the_paper_sweeps_features_of_small_edges_by_count():
    """The reason for the scale: an edge of 0.2 has a reward of 0.02."""
    scaled, unscaled = (
        count_picks(make_sampling(name, 50, 2, 0), 50, 0.2, 1000) for name in UCBS
    )

    assert np.ptp(unscaled) <= 3
    assert scaled[17] > 5 * np.median(scaled)


def test_leaf_of_a_tree_rewards_with_the_gain_over_its_vote():
    """Where the first is 1 the second raises the edge from 1/4 to 1/2."""
    values = np.array([[0.0, 0.0]] * 4 + [[1.0, 0.0]] * 3 + [[1.0, 1.0]])
    targets = np.array([0, 0, 0, 0, 1, 1, 1, 0])
    dataset = make_dataset(values, targets, 2)
    seen = []

    class Noted(UCBSampling):
        def reward(self, feature_idxs, edges):
            seen.append(edges.tolist())
            super().reward(feature_idxs, edges)

    binned, search = bin_values(dataset), Noted(2, 2)
    params = params_of("tree", "ucb")
    weights = make_weights([(binned, initial_weights(dataset))], params)
    scorer = Buyer(dataset.catalogue, params).make_scorer()
    search_hypothesis(make_learner(params), RoundSearch(weights, search, scorer))

    root, above, *_ = seen
    assert root == pytest.approx([0.75, 0.0])
    assert above == pytest.approx([0.0, 0.25])
    rewards = [1 - (1 - edges[1] ** 2) ** 0.5 for edges in seen]
    assert search.means[1] == pytest.approx(np.mean(rewards))


@pytest.mark.parametrize(("n_features", "size"), [(9, 4), (4, 9), (1, 1)])
def test_lazy_search_draws_different_features_in_ascending_order(n_features, size):
    search = LazySampling(n_features, size, seed=1)

    for number in range(1, 20):
        search.begin(number)
        for _ in range(3):
            picked = search.pick().tolist()
            assert picked == sorted(set(picked))
            assert len(picked) == min(size, n_features)
            assert set(picked) <= set(range(n_features))


def test_lazy_search_draws_every_feature_about_as_often():
    search = LazySampling(10, 3, seed=0)
    counts = np.zeros(10)

    for number in range(1, 1001):
        search.begin(number)
        counts[search.pick()] += 1

    assert (np.abs(counts - 300) < 75).all()


def test_lazy_draws_follow_from_seed_and_round_alone():
    first, second = LazySampling(30, 5, seed=4), LazySampling(30, 5, seed=4)
    for number in range(1, 5):
        first.begin(number)
        first.pick()
        first.pick()
    first.begin(5)
    second.begin(5)

    assert first.pick().tolist() == second.pick().tolist()


@pytest.mark.parametrize("name", SEARCHES)
def test_search_has_a_memory_exactly_if_its_picks_depend_on_edges(name):
    assert make_sampling(name, 5, 2, 0).has_memory == (name in UCBS)


# Boosting.


@pytest.mark.slow
@pytest.mark.parametrize(("n_classes", "learner", "search"), [p[:3] for p in PAIRS[6:]])
def test_boosting_with_ucb_is_the_naive_one(n_classes, learner, search):
    dataset = random_dataset(3, n_classes, n_samples=40, n_features=9)
    params = params_of(learner, search, rounds=6)

    rounds = run(dataset, params)

    search = naive_boosting.Ucb(9, 3, is_scaled=search == "ucb")
    expected = naive_run(dataset, params, search=search)
    assert [twins.to_naive(round.hypothesis) for round in rounds] == [
        round_.hypothesis for round_ in expected
    ]
    np.testing.assert_allclose(
        [round.edge for round in rounds],
        [round_.edge for round_ in expected],
        atol=1e-9,
    )


@pytest.mark.parametrize("search", ["lazy", "ucb"])
def test_stump_is_the_best_on_the_features_looked_at(search, monkeypatch):
    dataset = random_dataset(5, 3, n_samples=50, n_features=12)
    looked_at = []
    kind = {"lazy": LazySampling, "ucb": UCBSampling}[search]
    pick = kind.pick

    def noted(self):
        looked_at.append(pick(self).tolist())
        return np.array(looked_at[-1])

    monkeypatch.setattr(kind, "pick", noted)

    rounds = run(dataset, params_of("stump", search, rounds=15))

    assert len(rounds) == len(looked_at) == 15
    for round, picked in zip(rounds, looked_at, strict=True):
        assert round.hypothesis.feature_idx in picked


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("search", ["lazy", "ucb"])
def test_search_that_finds_nothing_looks_at_all_before_it_gives_up(learner, search):
    values = np.ones((20, 30))
    values[:, 29] = np.arange(20) % 4
    dataset = make_dataset(values, np.arange(20) // 2 % 2, 2)

    rounds = run(dataset, params_of(learner, search, rounds=3, search_size=1))

    assert {f for round in rounds for f in round.hypothesis.feature_idxs} == {29}


@pytest.mark.slow
@pytest.mark.parametrize("search", ["lazy", "ucb"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_search_of_all_features_is_no_search(learner, search):
    dataset = random_dataset(6, 3, n_samples=40)

    rounds = run(dataset, params_of(learner, search, search_size=6))

    assert rounds == run(dataset, params_of(learner, "all"))


@pytest.mark.slow
def test_seed_decides_the_draws_of_lazy():
    dataset = random_dataset(6, 3, n_samples=40, n_features=12)

    first, same, other = (
        run(dataset, params_of("tree", "lazy", seed=seed)) for seed in (1, 1, 2)
    )

    assert first == same
    assert first != other


@pytest.mark.slow
@pytest.mark.parametrize(("n_classes", "learner", "search", "algorithm"), PAIRS)
def test_run_resumed_after_any_round_goes_on_to_the_bit(
    n_classes, learner, search, algorithm
):
    dataset = random_dataset(8, n_classes, n_samples=50, n_features=9)
    params = params_of(learner, search, algorithm, rounds=6, switch=0.6)
    whole = run(dataset, params)

    for n_done in range(1, len(whole) + 1):
        assert run(dataset, params, whole[:n_done]) == whole[n_done:]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_classes", "learner", "search"),
    [(2, "stump", "all"), (3, "product", "lazy"), (2, "tree", "ucb")],
)
def test_long_run_resumed_late_goes_on_to_the_bit(n_classes, learner, search):
    dataset = random_dataset(9, n_classes, n_samples=60, n_features=9)
    params = params_of(learner, search, rounds=50)
    whole = run(dataset, params)

    for n_done in (len(whole) // 2, len(whole) - 1):
        assert run(dataset, params, whole[:n_done]) == whole[n_done:]
