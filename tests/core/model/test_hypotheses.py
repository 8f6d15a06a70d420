"""Trees, products and several classes at prediction: paths, sessions, certainty."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core import kernels
from askless.core.catalogue.catalogue import UNSEEN, Catalogue, Feature
from askless.core.model.hypotheses import LEAF, Product, Stump, Tree, build_paths
from askless.core.model.votes import full_votes
from askless.core.session import machine
from askless.core.simulation import simulate
from tests import naive_hypotheses, strategies, twins
from tests.hypotheses import NAN, as_row, later_states, plain, said
from tests.sessions import NEVER, is_certain, observe, small_ensemble

# Paths.


def ends_of(paths, row, status):
    """Where the paths of one case have come to; nothing has a price."""
    ends, dues, waiting = np.empty((3, paths.roots.size), np.int64)
    none = np.zeros(row.size, np.int64)
    prices = kernels.Prices(none, none - 1, none[:0], none[:0] > 0, none > 0)
    case = kernels.Case(row, status, none[:0] > 0)
    kernels.survey_paths(case, paths, prices, ends, dues, waiting)
    return ends


@given(st.data(), st.integers(1, 4))
def test_path_ends_in_the_naive_vote(data, n_outputs):
    catalogue = data.draw(strategies.catalogues(max_features=4))
    hypotheses = data.draw(
        st.lists(strategies.hypotheses(catalogue, n_outputs), min_size=1, max_size=5)
    )
    values = data.draw(strategies.tables(catalogue))
    paths = build_paths(hypotheses, n_outputs)

    for row in values:
        status = np.full(row.size, kernels.KNOWN)
        ends = ends_of(paths, row, status)
        actual = paths.votes[~ends].tolist()
        expected = [
            naive_hypotheses.vote(twins.to_naive(hypothesis), as_row(row), n_outputs)
            for hypothesis in hypotheses
        ]
        assert actual == expected


@given(st.data(), st.integers(1, 4))
def test_path_waits_for_the_feature_that_the_naive_one_needs(data, n_outputs):
    catalogue = data.draw(strategies.catalogues(max_features=4))
    hypothesis = data.draw(strategies.hypotheses(catalogue, n_outputs))
    row = data.draw(strategies.tables(catalogue, max_rows=1))[0]
    is_answered = data.draw(
        st.lists(st.booleans(), min_size=row.size, max_size=row.size)
    )
    paths = build_paths([hypothesis], n_outputs)
    is_there = ~np.isnan(row)
    status = np.where(is_answered, np.where(is_there, kernels.KNOWN, kernels.GONE), 0)

    ends = ends_of(paths, row, status)

    votes, needed = naive_hypotheses.so_far(
        twins.to_naive(hypothesis),
        as_row(row),
        set(np.flatnonzero(is_answered).tolist()),
        n_outputs,
    )
    if ends[0] < 0:
        assert needed is None
        assert paths.votes[~ends[0]].tolist() == votes
    else:
        node = paths.nodes[ends[0]]
        assert node[kernels.FEATURE] == needed
        assert paths.votes[node[kernels.HERE]].tolist() == votes


@given(st.data(), st.integers(1, 3))
def test_only_the_first_vote_of_paths_is_nothing(data, n_outputs):
    catalogue = data.draw(strategies.catalogues(max_features=4))
    hypotheses = data.draw(
        st.lists(strategies.hypotheses(catalogue, n_outputs), min_size=1, max_size=4)
    )

    paths = build_paths(hypotheses, n_outputs)

    assert not paths.votes[0].any()
    assert (np.abs(paths.votes[1:]) == 1).all()


@pytest.mark.parametrize(
    ("row", "votes"),
    [
        ([NAN, 1.0, 1.0], [0, 0]),
        ([1.0, NAN, 0.0], [1, -1]),
        ([1.0, 1.0, NAN], [1, 1]),
        ([1.0, 0.0, NAN], [-1, -1]),
        ([0.0, NAN, 1.0], [-1, 1]),
    ],
)
def test_last_stump_of_a_tree_that_can_be_read_votes(row, votes):
    root, deeper = Stump(0, 0.5, (1, -1)), Stump(1, 0.5, (1, 1))
    ensemble = plain([Tree((root, deeper), ((1, LEAF), (LEAF, LEAF)))], n_classes=2)
    ensemble = replace(ensemble, is_multilabel=True)

    actual, _ = full_votes(ensemble, np.array([row])[:, :2])

    assert actual[0].tolist() == votes


def test_unseen_category_silences_a_product_and_stops_a_tree():
    letter = Feature("letter", "category", cost=1, categories=("a", "b"))
    root, deeper = Stump(0, 0.5, (1,)), Stump(1, 0.0, (1,), is_category=True)
    ensemble = replace(
        plain(
            [Product((root, deeper)), Tree((root, deeper), ((1, LEAF), (LEAF, LEAF)))],
            n_classes=2,
            alphas=(1.0, 4.0),
        ),
        catalogue=Catalogue((Feature("f0", cost=1), letter)),
    )

    votes, alphas = full_votes(ensemble, np.array([[1.0, UNSEEN]]))

    assert (votes.tolist(), alphas.tolist()) == ([[4.0]], [4.0])


def test_tree_cut_short_votes_what_its_path_has_come_to():
    tree = Tree(
        (Stump(0, 0.5, (1, -1, 1)), Stump(1, 0.5, (1, 1, 1))), ((1, LEAF), (LEAF, LEAF))
    )
    ensemble = plain([tree, Stump(0, 0.5, (1, 1, 1))], costs=[3, 10])
    state = machine.start(ensemble, 5, stop=NEVER)

    state = observe(ensemble, state, 0, "value", 1.0)

    assert state.stop_reason == "budget_exhausted"
    walks = simulate.simulate(ensemble, np.array([[1.0, 1.0]]), [5])
    assert walks.margins[0, 0].tolist() == [1.0, -1.0, 1.0]
    assert machine.forecast(ensemble, state).known_share == pytest.approx(0.5)


# Products are bought whole or not at all.


def pair(costs, policy="ordered"):
    """A product of two features, and a stump on a third."""
    hypotheses = [Product((Stump(0, 0.5, (1,)), Stump(1, 0.5, (1,))))]
    hypotheses.append(Stump(2, 0.5, (1,)))
    return plain(hypotheses, 2, costs, policy=policy, alphas=(1.0, 1e-9))


@pytest.mark.parametrize("policy", ["ordered", "sample"])
@pytest.mark.parametrize(
    ("budget", "known", "expected"),
    [
        # One factor could be paid, and would bring no vote.
        (6, {}, (None, "plan_complete")),
        (7, {}, (0, None)),
        (3, {1: 1.0}, (0, None)),
        (2, {1: 1.0}, (None, "budget_exhausted")),
        (3, {0: 1.0}, (None, "budget_exhausted")),
        (4, {0: 1.0}, (1, None)),
        (None, {}, (0, None)),
    ],
)
def test_product_is_asked_if_all_its_factors_left_can_be_paid(
    policy, budget, known, expected
):
    ensemble = pair([3, 4, 9], policy)

    state = machine.start(ensemble, budget, known=known, stop=NEVER)

    assert (state.next_feature_idx, state.stop_reason) == expected


def test_what_is_ordered_already_is_not_to_be_paid_again():
    ensemble = pair([3, 4, 9])
    state = machine.start(ensemble, 7, stop=NEVER)

    state = observe(ensemble, state, 1, "ordered")

    assert state.next_feature_idx == 0


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["ordered", "sample"])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("outcome", ["unavailable", "refused", "unknown"])
def test_factor_that_is_missing_ends_the_questions_about_its_product(
    policy, first, outcome
):
    ensemble = pair([3, 4, 9], policy)
    state = machine.start(ensemble, None, stop=NEVER)

    state = observe(ensemble, state, first, outcome)

    assert state.next_feature_idx in (2, None)
    assert 1 - first not in [idx for idx, _ in alternatives(ensemble, state)]


def alternatives(ensemble, state):
    question = machine.next_question(ensemble, state)
    return () if question is None else question.alternatives


def test_unseen_category_of_a_later_factor_ends_the_questions_too():
    letter = Feature("letter", "category", cost=1, categories=("a", "b"))
    factors = (Stump(0, 0.5, (1,)), Stump(1, 0.0, (1,), is_category=True))
    ensemble = plain([Product(factors)], 2)
    ensemble = replace(ensemble, catalogue=Catalogue((Feature("f0"), letter)))

    state = machine.start(ensemble, None, known={1: UNSEEN})

    assert (state.next_feature_idx, state.stop_reason) == (None, "all_known")


@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_product_out_of_reach_is_no_alternative_and_no_part_of_the_vote(policy):
    product = Product((Stump(1, 0.5, (1,)), Stump(2, 0.5, (1,))))
    hypotheses = [Stump(0, 0.5, (1,)), product]
    ensemble = plain(hypotheses, 2, [1, 1, 9], policy=policy, alphas=(1.0, 0.5))
    states = (machine.start(ensemble, 5, seed) for seed in range(9))
    state = next(state for state in states if state.next_feature_idx == 0)

    after = observe(ensemble, state, 0, "value", 1.0)

    assert alternatives(ensemble, state) == ()
    assert after.stop_reason == "plan_complete"
    assert machine.forecast(ensemble, after).margin == 1.0


@pytest.mark.parametrize(("is_read", "is_certain_now"), [(False, True), (True, False)])
def test_plan_may_go_past_a_product_that_a_question_can_silence(
    is_read, is_certain_now
):
    # The product is too dear; the stump before it may find its first factor missing.
    product = Product((Stump(1, 0.5, (1,)), Stump(2, 0.5, (1,))))
    first = Stump(1 if is_read else 3, 0.5, (1,))
    last = Stump(4, 0.5, (1,))
    ensemble = plain(
        [Stump(0, 0.5, (1,)), first, product, last],
        2,
        [1, 1, 99, 1, 1],
        alphas=(1.0, 0.5, 0.1, 8.0),
    )

    state = machine.start(ensemble, 9, known={0: 1.0})

    assert is_certain(ensemble, state) == is_certain_now
    votes = {said(ensemble, later)[0] for later in later_states(ensemble, state)}
    assert (len(votes) == 1) == is_certain_now


# Feature 0 and 1 share a fee of 20, 2 and 3 are a bundle of 90.
@pytest.mark.parametrize(
    ("idxs", "status", "is_paid", "expected"),
    [
        ((0, 1, 4), {}, (), 3 + 20 + 7 + 5),
        ((0, 1, 4), {}, (0,), 3 + 7 + 5),
        ((0, 1), {0: kernels.KNOWN}, (), 20 + 7),
        ((0, 1), {1: kernels.KNOWN}, (), 20 + 3),
        ((0, 1), {0: kernels.PENDING}, (0,), 7),
        ((0, 1), {1: kernels.PENDING}, (0,), 3),
        ((2, 3), {}, (), 90),
        ((2, 4, 3), {}, (), 90 + 5),
        ((4, 4, 0, 4), {}, (), 5 + 20 + 3),
        ((4,), {}, (), 5),
    ],
)
def test_price_of_a_product_counts_what_it_still_needs_once(
    idxs, status, is_paid, expected
):
    paths = build_paths([Product(tuple(Stump(idx, 0.5, (1,)) for idx in idxs))], 1)
    codes = np.zeros(5, np.int64)
    codes[list(status)] = list(status.values())
    is_group_paid = np.array([group in is_paid for group in range(2)])
    costs, group_idxs = np.array([3, 7, 0, 0, 5]), np.array([0, 0, 1, 1, -1])
    fees, is_bundle = np.array([20, 90]), np.array([False, True])
    prices = kernels.Prices(costs, group_idxs, fees, is_bundle, costs < 0)
    case = kernels.Case(np.ones(5), codes, is_group_paid)
    ends, dues, waiting = np.empty((3, 1), np.int64)

    kernels.survey_paths(case, paths, prices, ends, dues, waiting)

    assert dues.tolist() == [expected]


def test_pickled_ensemble_is_the_same_without_its_arrays():
    ensemble = small_ensemble([7, 5])
    assert ensemble.paths is not None

    copied = pickle.loads(pickle.dumps(ensemble))

    assert copied == ensemble
    assert "paths" not in vars(copied)


def test_features_are_found_by_their_names():
    assert small_ensemble([7, 5]).catalogue.feature_idxs == {"f0": 0, "f1": 1}
