"""Trees, products and several classes at prediction: paths, sessions, certainty."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import kernels
from core.model.ensemble import Ensemble
from core.model.hypotheses import LEAF, Product, Stump, Tree
from core.model.paths import lay_paths
from core.model.votes import full_votes
from core.session import machine, probability, simulate
from core.session.policies import POLICIES, sample
from core.session.position import Position
from core.table.catalogue import UNSEEN, Catalogue, Feature, Group
from tests import naive_hypotheses as naive
from tests import strategies
from tests import strategies_classes as made
from tests.conftest import IS_COMPILED
from tests.sessions import NEVER, answer_from_row, is_certain, observe

NAN = math.nan
FEW = settings(max_examples=25 if IS_COMPILED else 6)
N_DRAWN = 1 << 14


def plain(hypotheses, n_classes=3, costs=None, policy="ordered", alphas=None, **kwargs):
    """An ensemble on number features of cost 1 (micro-unit)."""
    n_features = 1 + max(f for one in hypotheses for f in one.feature_idxs)
    costs = costs or [1] * n_features
    return Ensemble(
        catalogue=Catalogue(
            tuple(Feature(f"f{i}", cost=cost) for i, cost in enumerate(costs))
        ),
        classes=made.classes_of(n_classes),
        hypotheses=tuple(hypotheses),
        alphas=alphas or (1.0,) * len(hypotheses),
        priors=(1 / n_classes,) * n_classes,
        algorithm="adaboost_bt",
        policy=policy,
        **kwargs,
    )


def as_row(values) -> list:
    """A row as the naive functions take it."""
    return [None if value != value else value for value in values]


# Paths.


def ends_of(paths, row, status):
    """Where the paths of one case have come to; nothing has a price."""
    ends, dues = np.empty((2, paths.roots.size), np.int64)
    none = np.zeros(row.size, np.int64)
    prices = kernels.Prices(none, none - 1, none[:0], none[:0] > 0)
    case = kernels.Case(row, status, none[:0] > 0)
    kernels.follow_all(case, paths, prices, ends, dues)
    return ends


@given(st.data(), st.integers(1, 4))
def test_path_ends_in_the_naive_vote(data, n_outputs):
    catalogue = data.draw(strategies.catalogues(max_features=4))
    hypotheses = data.draw(
        st.lists(made.hypotheses(catalogue, n_outputs), min_size=1, max_size=5)
    )
    values = data.draw(made.tables(catalogue))
    paths = lay_paths(hypotheses, n_outputs)

    for row in values:
        status = np.full(row.size, kernels.KNOWN)
        ends = ends_of(paths, row, status)
        actual = paths.votes[~ends].tolist()
        expected = [
            naive.vote(made.to_naive(one), as_row(row), n_outputs) for one in hypotheses
        ]
        assert actual == expected


@given(st.data(), st.integers(1, 4))
def test_path_waits_for_the_feature_that_the_naive_one_needs(data, n_outputs):
    catalogue = data.draw(strategies.catalogues(max_features=4))
    hypothesis = data.draw(made.hypotheses(catalogue, n_outputs))
    row = data.draw(made.tables(catalogue, max_rows=1))[0]
    is_answered = data.draw(
        st.lists(st.booleans(), min_size=row.size, max_size=row.size)
    )
    paths = lay_paths([hypothesis], n_outputs)
    is_there = ~np.isnan(row)
    status = np.where(is_answered, np.where(is_there, kernels.KNOWN, kernels.GONE), 0)

    ends = ends_of(paths, row, status)

    votes, needed = naive.so_far(
        made.to_naive(hypothesis),
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
        st.lists(made.hypotheses(catalogue, n_outputs), min_size=1, max_size=4)
    )

    paths = lay_paths(hypotheses, n_outputs)

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
            [
                Product((root, deeper)),
                Tree((root, deeper), ((1, LEAF), (LEAF, LEAF))),
            ],
            n_classes=2,
            alphas=(1.0, 4.0),
        ),
        catalogue=Catalogue((Feature("f0", cost=1), letter)),
    )

    votes, alphas = full_votes(ensemble, np.array([[1.0, UNSEEN]]))

    assert (votes.tolist(), alphas.tolist()) == ([[4.0]], [4.0])


# Sessions row by row.


@given(st.data())
def test_ordered_walk_is_the_naive_session(data):
    ensemble = data.draw(made.ensembles(policy="ordered"))
    values = data.draw(made.tables(ensemble.catalogue))
    budgets = data.draw(st.lists(strategies.budgets(), min_size=1, max_size=4))
    shop = strategies.shop_of(ensemble.catalogue)
    total = sum(ensemble.alphas)

    walks = simulate.walk(ensemble, values, budgets, "ordered")

    for row, its_values in enumerate(values):
        for position, budget in enumerate(budgets):
            end = naive.walk_ordered(
                made.all_to_naive(ensemble),
                ensemble.alphas,
                shop,
                as_row(its_values),
                budget,
                ensemble.n_outputs,
            )
            assert walks.spent[row, position] == end.spent
            assert walks.n_asked[row, position] == len(end.asked)
            assert walks.known_shares[row, position] == pytest.approx(end.alpha / total)
            votes = walks.margins[row, position] * end.alpha
            np.testing.assert_allclose(votes, end.votes, atol=1e-9)


@given(st.data(), st.integers(0, 1000))
def test_sampled_walk_is_the_naive_session(data, seed):
    ensemble = data.draw(made.ensembles(policy="sample", max_hypotheses=4))
    values = data.draw(made.tables(ensemble.catalogue, max_rows=3))
    budgets = data.draw(st.lists(strategies.budgets(), min_size=1, max_size=3))
    shop = strategies.shop_of(ensemble.catalogue)
    total = sum(ensemble.alphas)

    walks = simulate.walk(
        ensemble, values, budgets, "sample", seed=seed, needs_ranks=True
    )

    for row, its_values in enumerate(values):
        uniforms = sample.uniforms(seed, row).random(N_DRAWN).tolist()
        for position, budget in enumerate(budgets):
            end = naive.walk_sampled(
                made.all_to_naive(ensemble),
                ensemble.alphas,
                shop,
                as_row(its_values),
                budget,
                uniforms,
                ensemble.n_outputs,
            )
            assert end is not None
            assert walks.spent[row, position] == end.spent
            assert walks.n_asked[row, position] == len(end.asked)
            assert (walks.marks[row, position] < 0) == end.is_full
            margins = walks.margins[row, position]
            if end.is_full:
                np.testing.assert_allclose(margins * end.alpha, end.votes, atol=1e-9)
                assert walks.known_shares[row, position] == pytest.approx(
                    end.alpha / total
                )
            else:
                np.testing.assert_allclose(margins * end.n_draws, end.votes, atol=1e-9)
                if end.n_draws:
                    assert walks.known_shares[row, position] == pytest.approx(
                        end.alpha / total
                    )


def play(ensemble, values, budget, policy, seed, stream):
    """Answer a session as a row does, to its end; the state and the order asked."""
    state = machine.start(ensemble, budget, seed, {}, policy, NEVER, stream)
    return answer_from_row(ensemble, state, values)


@pytest.mark.parametrize("policy", ["ordered", "sample"])
@FEW
@given(data=st.data())
def test_walk_is_the_session_answer_by_answer(policy, data):
    catalogue = data.draw(strategies.catalogues(max_features=4, max_groups=1))
    ensemble = data.draw(made.ensembles(catalogue, policy=policy, max_hypotheses=4))
    values = data.draw(made.tables(catalogue, max_rows=2))
    budget = data.draw(strategies.budgets())
    walks = simulate.walk(ensemble, values, [budget], policy, 5, needs_ranks=True)
    votes = simulate.class_votes(ensemble, walks, policy)
    chances = simulate.class_probabilities(ensemble, walks, policy)
    labels = probability.decide(ensemble, chances)

    for row, its_values in enumerate(values):
        state, asked = play(ensemble, its_values, budget, policy, 5, row)
        forecast = machine.forecast(ensemble, state)
        assert state.spent == walks.spent[row, 0]
        assert sorted(asked) == np.flatnonzero(walks.ranks[row]).tolist()
        assert forecast.known_share == pytest.approx(walks.known_shares[row, 0])
        assert forecast.vote == votes[row, 0]
        assert forecast.label == labels[row, 0]
        np.testing.assert_allclose(forecast.probabilities, chances[row, 0], atol=1e-9)


@pytest.mark.parametrize("policy", ["ordered", "sample"])
@given(data=st.data())
def test_spent_never_exceeds_the_budget(policy, data):
    ensemble = data.draw(made.ensembles(policy=policy))
    values = data.draw(made.tables(ensemble.catalogue))
    budgets = data.draw(st.lists(strategies.amounts(), min_size=1, max_size=4))

    walks = simulate.walk(ensemble, values, budgets, policy, needs_ranks=True)

    assert (walks.spent <= np.array(budgets)).all()


@pytest.mark.parametrize("policy", ["ordered", "sample"])
@pytest.mark.parametrize(
    ("row", "asked"), [([1.0, 1.0, 1.0], [0, 1]), ([0.0, 1.0, 1.0], [0, 2])]
)
def test_tree_asks_and_charges_along_its_path_only(policy, row, asked):
    tree = Tree(
        (Stump(0, 0.5, (1, -1, -1)), Stump(1, 0.5, (1, 1, 1)), Stump(2, 0.5, (1,) * 3)),
        ((1, 2), (LEAF, LEAF), (LEAF, LEAF)),
    )
    ensemble = plain([tree], costs=[3, 10, 20], policy=policy)

    walks = simulate.walk(ensemble, np.array([row]), [None, 33], needs_ranks=True)

    assert np.flatnonzero(walks.ranks[0]).tolist() == asked
    assert walks.spent[0].tolist() == [3 + ensemble.catalogue.costs[asked[1]]] * 2


def test_tree_cut_short_votes_what_its_path_has_come_to():
    tree = Tree(
        (Stump(0, 0.5, (1, -1, 1)), Stump(1, 0.5, (1, 1, 1))),
        ((1, LEAF), (LEAF, LEAF)),
    )
    ensemble = plain([tree, Stump(0, 0.5, (1, 1, 1))], costs=[3, 10])
    state = machine.start(ensemble, 5, stop=NEVER)

    state = observe(ensemble, state, 0, "value", 1.0)

    assert state.stop_reason == "budget_exhausted"
    walks = simulate.walk(ensemble, np.array([[1.0, 1.0]]), [5])
    assert walks.margins[0, 0].tolist() == [1.0, -1.0, 1.0]
    assert machine.forecast(ensemble, state).known_share == pytest.approx(0.5)


# Products are bought whole or not at all.


def small_products(policy, n_classes=2):
    """Products of dear and cheap features, a fee and a bundle among them."""
    groups = (Group("blood", fee=2), Group("echo", price=3))
    names = ("blood", "blood", "echo", "echo", None, None)
    costs = (1, 2, 0, 0, 1, 4)
    features = tuple(
        Feature(f"f{idx}", cost=cost, group=name)
        for idx, (cost, name) in enumerate(zip(costs, names, strict=True))
    )
    votes = (1,) if n_classes == 2 else (1, -1, 1)
    ensemble = plain(
        [
            Product(tuple(Stump(idx, 0.5, votes) for idx in idxs))
            for idxs in ((4, 0), (0, 1), (4, 5), (2, 3, 4), (5, 5, 1), (3, 0))
        ],
        n_classes,
        alphas=(1.0, 0.9, 0.8, 0.7, 0.6, 0.5),
        policy=policy,
    )
    return replace(ensemble, catalogue=Catalogue(features, groups))


@pytest.mark.parametrize("policy", ["ordered", "sample"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_row_spends_on_a_product_that_cannot_vote(policy, n_classes):
    ensemble = small_products(policy, n_classes)
    values = np.random.default_rng(0).choice([0.0, 1.0], (40, 6))
    budgets = [*range(14), None]

    walks = simulate.walk(ensemble, values, budgets, policy, needs_ranks=True)

    has_spent = walks.spent > 0
    assert has_spent.any(axis=0).tolist() == [b is None or b >= 4 for b in budgets]
    assert (walks.known_shares[has_spent] > 0).all()
    # What was asked is what the products that vote read.
    for row, of_row in enumerate(values):
        for position in range(len(budgets)):
            is_known = (walks.ranks[row] > 0) & (
                walks.ranks[row] <= walks.n_asked[row, position]
            )
            votes = [
                set(one.feature_idxs)
                for one in ensemble.hypotheses
                if is_known[list(one.feature_idxs)].all()
            ]
            paid = set(np.flatnonzero(is_known & ~np.isnan(of_row)).tolist())
            assert paid - {2, 3} <= set().union(*votes)


def pair(costs, policy="ordered"):
    """A product of two features, and a stump on a third."""
    hypotheses = [Product((Stump(0, 0.5, (1,)), Stump(1, 0.5, (1,))))]
    hypotheses.append(Stump(2, 0.5, (1,)))
    return plain(hypotheses, 2, costs, policy, alphas=(1.0, 1e-9))


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
    paths = lay_paths([Product(tuple(Stump(idx, 0.5, (1,)) for idx in idxs))], 1)
    codes = np.zeros(5, np.int64)
    codes[list(status)] = list(status.values())
    is_group_paid = np.array([group in is_paid for group in range(2)])
    costs, group_idxs = np.array([3, 7, 0, 0, 5]), np.array([0, 0, 1, 1, -1])
    fees, is_bundle = np.array([20, 90]), np.array([False, True])
    prices = kernels.Prices(costs, group_idxs, fees, is_bundle)
    case = kernels.Case(np.ones(5), codes, is_group_paid)
    ends, dues = np.empty((2, 1), np.int64)

    kernels.follow_all(case, paths, prices, ends, dues)

    assert dues.tolist() == [expected]


# The plan.


@given(st.data())
def test_plan_is_the_longest_prefix_that_can_be_paid_whatever_the_answers(data):
    ensemble = data.draw(made.ensembles(policy="ordered"))
    catalogue = ensemble.catalogue
    row = data.draw(made.tables(catalogue, max_rows=1))[0]
    budget = data.draw(strategies.budgets())
    state = machine.start(ensemble, budget, policy="ordered", stop=NEVER)
    n_answers = data.draw(st.integers(0, 3))
    for _ in range(n_answers):
        idx = state.next_feature_idx
        if idx is None:
            break
        if math.isnan(row[idx]):
            state = observe(ensemble, state, idx, "unavailable")
        else:
            outcome = data.draw(st.sampled_from(("value", "ordered")))
            value = row[idx] if outcome == "value" else None
            state = observe(ensemble, state, idx, outcome, value)

    plan = Position.of(ensemble, state).plan

    answered = {
        idx for idx, one in enumerate(state.outcomes) if one not in (None, "ordered")
    }
    expected = naive.plan(
        made.all_to_naive(ensemble),
        as_row(state.values),
        answered,
        state.pending,
        strategies.shop_of(catalogue),
        {charge.feature_idx for charge in state.charges},
        state.remaining,
        ensemble.n_outputs,
    )
    assert plan.length == expected


@given(st.data())
def test_whole_plan_can_be_paid_whatever_the_answers(data):
    ensemble = data.draw(made.ensembles(policy="ordered", max_hypotheses=4))
    values = data.draw(made.tables(ensemble.catalogue))
    budget = data.draw(strategies.amounts())
    state = machine.start(ensemble, budget, policy="ordered")
    length = Position.of(ensemble, state).plan.length
    prefix = replace(
        ensemble,
        hypotheses=ensemble.hypotheses[:length],
        alphas=ensemble.alphas[:length],
    )

    walks = simulate.walk(prefix, values, [budget, None], "ordered")

    assert (walks.spent[:, 0] == walks.spent[:, 1]).all()


@pytest.mark.parametrize("step", ["plan", "certain"])
def test_long_product_takes_no_exponential_time(step):
    n_factors = 24 if IS_COMPILED else 14
    ensemble = plain([Product(tuple(Stump(i, 0.5, (1, 1, -1)) for i in range(24)))])

    def seconds(length):
        product = Product(ensemble.hypotheses[0].stumps[:length])
        shorter = replace(ensemble, hypotheses=(product,))
        state = machine.start(shorter, None, stop=NEVER)
        start = time.perf_counter()
        position = Position(shorter, state)
        if step == "plan":
            assert position.plan.length == 1
        else:
            POLICIES["sample"].is_certain(position)
        return time.perf_counter() - start

    seconds(2)

    assert seconds(n_factors) < 100 * seconds(n_factors // 2) + 0.03


# Certainty, by brute force.


def answers_to(ensemble, state, idx):
    """Every state that an answer about a feature can lead to."""
    for value in made.all_options(ensemble)[idx]:
        if value is None:
            yield observe(ensemble, state, idx, "unavailable")
        else:
            yield observe(ensemble, state, idx, "value", value)


def later_states(ensemble, state):
    """Every state that a session can still come to, this one included.

    Pending results (the rest of a bundle) come back first.
    """
    yield state
    following = state.pending or (state.next_feature_idx,)
    if following[0] is not None:
        for after in answers_to(ensemble, state, following[0]):
            yield from later_states(ensemble, after)


def draw_session(data, ensemble, n_answers):
    """A session after some answers, drawn among all that cuts tell apart."""
    budget = data.draw(st.none() | strategies.amounts())
    state = machine.start(ensemble, budget)
    for _ in range(n_answers):
        following = state.pending or (state.next_feature_idx,)
        if following[0] is None:
            break
        state = data.draw(st.sampled_from([*answers_to(ensemble, state, following[0])]))
    return state


def said(ensemble, state):
    forecast = machine.forecast(ensemble, state)
    return forecast.vote, forecast.label


@pytest.mark.parametrize("policy", ["ordered", "sample"])
@settings(max_examples=120 if IS_COMPILED else 12)
@given(data=st.data())
def test_nothing_changes_once_it_is_certain(policy, data):
    catalogue = data.draw(strategies.catalogues(max_features=3, max_groups=1))
    ensemble = data.draw(made.ensembles(catalogue, policy=policy, max_hypotheses=4))
    state = draw_session(data, ensemble, data.draw(st.integers(0, 2)))

    if is_certain(ensemble, state):
        expected = said(ensemble, state)
        for later in later_states(ensemble, state):
            assert said(ensemble, later) == expected


def random_ensemble(random, kind, n_classes, policy="ordered", n_features=3):
    """An ensemble of a few hypotheses of one kind, the first the heaviest."""
    n_outputs = 1 if n_classes == 2 else n_classes

    def stump():
        votes = tuple(random.choice((-1, 1), n_outputs).tolist())
        return Stump(int(random.integers(n_features)), 0.5, votes)

    makers = {
        "stump": stump,
        "tree": lambda: Tree(
            (stump(), stump(), stump()), ((1, 2), (LEAF, LEAF), (LEAF, LEAF))
        ),
        "product": lambda: Product((stump(), stump())),
    }
    hypotheses = [makers[kind]() for _ in range(3)]
    hypotheses += [Stump(f, 0.5, (1,) * n_outputs) for f in range(n_features)]
    alphas = [3.0, 1.5, 1.0, *[0.25] * n_features]
    return plain(
        hypotheses,
        n_classes,
        policy=policy,
        alphas=tuple(alphas),
        costs=[1, 2, 1, 1][:n_features],
    )


@pytest.mark.parametrize("policy", ["ordered", "sample"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["stump", "tree", "product"])
def test_it_becomes_certain_before_all_is_asked(kind, n_classes, policy):
    random = np.random.default_rng(4)
    n_certain = 0

    for number in range(30 if IS_COMPILED else 10):
        ensemble = random_ensemble(random, kind, n_classes, policy)
        budget = None if number % 2 else 3
        state = machine.start(ensemble, budget, seed=number)
        while state.next_feature_idx is not None and state.stop_reason is None:
            value = float(random.integers(2))
            state = observe(ensemble, state, state.next_feature_idx, "value", value)
        if state.stop_reason == "certain":
            n_certain += 1
            for later in later_states(ensemble, state):
                assert said(ensemble, later) == said(ensemble, state)

    assert n_certain >= (3 if IS_COMPILED else 1)


@given(st.data())
def test_vote_bounds_hold_every_completion(data):
    catalogue = data.draw(strategies.catalogues(max_features=3, max_groups=0))
    ensemble = data.draw(made.ensembles(catalogue, policy="sample"))
    state = draw_session(data, ensemble, data.draw(st.integers(0, 2)))
    state = replace(state, budget=None)
    signs = st.sampled_from((-1.0, 0.0, 1.0))
    direction = data.draw(st.tuples(*[signs] * ensemble.n_outputs))
    scores = ensemble.paths.votes @ np.array(direction)

    bounds = Position.of(ensemble, state).bound(scores, None)

    open_idxs = [i for i, one in enumerate(state.outcomes) if one in (None, "ordered")]
    least, greatest = naive.vote_bounds(
        made.all_to_naive(ensemble),
        ensemble.alphas,
        as_row(state.values),
        open_idxs,
        made.all_options(ensemble),
        direction,
    )
    assert bounds[0] <= least + 1e-9
    assert bounds[1] >= greatest - 1e-9
    if all(isinstance(one, Stump) for one in ensemble.hypotheses):
        np.testing.assert_allclose(bounds, [least, greatest], atol=1e-9)


@pytest.mark.parametrize(
    "hypothesis",
    [
        Tree((Stump(0, 0.5, (1,)),), ((LEAF, LEAF),)),
        Product((Stump(0, 0.5, (1,)),)),
    ],
    ids=["tree", "product"],
)
def test_tree_or_product_of_one_stump_can_vote_both_ways(hypothesis):
    ensemble = plain([hypothesis], n_classes=2)
    state = machine.start(ensemble, None)

    assert not is_certain(ensemble, state)


# Draws.


@pytest.mark.parametrize("n_block", [1, 3, 7])
def test_sampled_walk_does_not_depend_on_the_cut_of_blocks(n_block, monkeypatch):
    random = np.random.default_rng(1)
    values = random.choice([0.0, 1.0, NAN], (6, 3))
    budgets = [0, 1, 2, 3, None]
    ensembles = [
        random_ensemble(random, kind, 3, "sample") for kind in ("tree", "product")
    ]
    expected = [
        simulate.walk(one, values, budgets, seed=3, needs_ranks=True)
        for one in ensembles
    ]
    monkeypatch.setattr(sample, "N_BLOCK", n_block)

    for ensemble, walks in zip(ensembles, expected, strict=True):
        actual = simulate.walk(ensemble, values, budgets, seed=3, needs_ranks=True)
        for name in ("margins", "known_shares", "marks", "spent", "n_asked", "ranks"):
            np.testing.assert_array_equal(getattr(actual, name), getattr(walks, name))


@pytest.mark.parametrize("n_block", [1, 5])
def test_sampled_session_does_not_depend_on_the_cut_of_blocks(n_block, monkeypatch):
    ensemble = random_ensemble(np.random.default_rng(2), "tree", 3, "sample")
    values = [1.0, 0.0, 1.0]
    expected = play(ensemble, values, 3, "sample", 8, 0)
    monkeypatch.setattr(sample, "N_BLOCK", n_block)

    actual = play(ensemble, values, 3, "sample", 8, 0)

    assert repr(actual) == repr(expected)


def test_sampled_walk_ends_once_every_path_has_ended():
    tree = Tree(
        (Stump(0, 0.5, (1, 1, -1)), Stump(1, 0.5, (1, 1, 1)), Stump(2, 0.5, (1,) * 3)),
        ((1, 2), (LEAF, LEAF), (LEAF, LEAF)),
    )
    ensemble = plain([tree], policy="sample")
    # A stump that no draw ever meets would keep a session drawing to the last.
    start = time.perf_counter()

    walks = simulate.walk(ensemble, np.ones((50, 3)), [2, 3, None], needs_ranks=True)

    assert time.perf_counter() - start < 5
    assert (walks.marks < 0).all()
    assert (walks.n_asked == 2).all()


@pytest.mark.parametrize("kind", ["stump", "tree"])
def test_walk_that_draws_in_vain_ends_as_the_session_does(kind, monkeypatch):
    random = np.random.default_rng(5)
    ensemble = random_ensemble(random, kind, 3, "sample", n_features=4)
    ensemble = replace(ensemble, alphas=(*ensemble.alphas[:-1], 1e-9))
    values = random.choice([0.0, 1.0], (4, 4))
    monkeypatch.setattr(sample, "N_BLOCK", 4)
    monkeypatch.setattr(sample, "MAX_DRAWS", 12)

    walks = simulate.walk(ensemble, values, [None], "sample", 5, needs_ranks=True)

    chances = simulate.class_probabilities(ensemble, walks, "sample")
    for row, its_values in enumerate(values):
        state, asked = play(ensemble, its_values, None, "sample", 5, row)
        forecast = machine.forecast(ensemble, state)
        assert sorted(asked) == np.flatnonzero(walks.ranks[row]).tolist()
        assert state.spent == walks.spent[row, 0]
        np.testing.assert_allclose(forecast.probabilities, chances[row, 0], atol=1e-9)


def test_rows_of_a_sampled_walk_do_not_depend_on_one_another():
    random = np.random.default_rng(3)
    ensemble = random_ensemble(random, "tree", 3, "sample")
    values = random.choice([0.0, 1.0, NAN], (5, 3))

    whole = simulate.walk(ensemble, values, [0, 2, None], seed=1)
    few = simulate.walk(ensemble, values[:2], [0, 2, None], seed=1)

    np.testing.assert_array_equal(whole.margins[:2], few.margins)


def test_pending_result_of_a_drawn_tree_is_followed_when_it_comes():
    tree = Tree(
        (Stump(0, 0.5, (1, 1, -1)), Stump(1, 0.5, (1, -1, 1))),
        ((1, LEAF), (LEAF, LEAF)),
    )
    ensemble = plain([tree], policy="sample")
    state = machine.start(ensemble, None, stop=NEVER)
    state = observe(ensemble, state, 0, "ordered")
    assert state.is_ended

    state = observe(ensemble, state, 0, "value", 1.0)

    assert state.next_feature_idx == 1
