"""Many rows at once are many sessions, one by one; curves of their errors."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.model.ensemble import BudgetRange, Ensemble
from askless.core.model.hypotheses import Stump
from askless.core.model.model import Curve
from askless.core.session import machine
from askless.core.session.policies import POLICIES
from askless.core.session.policies.sample import MAX_DRAWS, uniforms
from askless.core.session.position import Position
from askless.core.session.probability import decide_label
from askless.core.session.state import State
from askless.core.simulation import blocks
from askless.core.simulation.curves import compare_independent, evaluate, simulate_rows
from askless.core.simulation.simulate import class_probabilities, class_votes, simulate
from askless.core.table.dataset import Dataset
from tests import naive_sessions, strategies, twins
from tests.cascades import cascades
from tests.panels import with_panels, with_rules, with_worth
from tests.sessions import CLASSES, NEVER, answer_from_row
from tests.small import ensemble_of, table_of

NAN = math.nan
N_DRAWN = 1 << 14
BUDGETS = st.lists(strategies.budgets(), max_size=4).map(
    lambda drawn: [*drawn, None, 0]
)


every_policy = pytest.mark.parametrize("policy", [*POLICIES])
of_hypotheses = pytest.mark.parametrize(
    "policy", ["ordered", "sample", "sample_reyzin", "cascade"]
)


def make_ensemble(features, hypotheses, groups=(), **fields) -> Ensemble:
    """Hypotheses are (feature, alpha); they vote 1 above 0.5, or for category 1."""
    stumps = [
        Stump(idx, 1.0, (1,), is_category=True)
        if features[idx].type == "category"
        else Stump(idx, 0.5, (1,))
        for idx, _ in hypotheses
    ]
    fields = {"alphas": tuple(alpha for _, alpha in hypotheses)} | fields
    return ensemble_of(stumps, Catalogue(tuple(features), tuple(groups)), **fields)


def rows_of(ensemble, values, targets, weights=None) -> Dataset:
    values = np.array(values, np.float64).reshape(len(targets), -1)
    return table_of(values.T, targets, ensemble.catalogue, weights=weights)


def play(ensemble, row, budget, policy, seed, stream) -> tuple[State, list[int]]:
    """Answer every question from a row, all members of a bundle at once."""
    fields = {"seed": seed, "policy": policy, "stop": NEVER, "stream": stream}
    state = machine.start(ensemble, budget, **fields)
    return answer_from_row(ensemble, state, row)


@st.composite
def tables(draw, policy="ordered"):
    """An ensemble that a policy serves, a few rows, and budgets in any order."""
    kinds = [cascades()]
    if policy != "cascade":
        few = strategies.ensembles(policy=policy, max_hypotheses=4)
        kinds += [strategies.stump_ensembles(policy=policy), few]
    if policy == "panels":
        kinds = [with_panels(kind) for kind in kinds]
    if policy == "adaptive":
        kinds = [with_rules(with_panels(kind)) for kind in kinds]
    if policy == "worth":
        kinds = [with_worth(kind) for kind in kinds]
    ensemble = draw(st.one_of(kinds))
    values = draw(strategies.tables(ensemble.catalogue, max_rows=3))
    return ensemble, values, draw(BUDGETS)


def naive_end(ensemble, policy, row, budget, uniforms) -> naive_sessions.End:
    """How the naive session of a row ends."""
    of_row = twins.all_to_naive(ensemble), ensemble.alphas
    of_row += twins.shop_of(ensemble.catalogue), row, budget
    if policy == "ordered":
        return naive_sessions.walk_ordered(*of_row, ensemble.n_outputs)
    if policy.startswith("sample"):
        is_paper = policy == "sample_reyzin"
        return naive_sessions.walk_sampled(
            *of_row, uniforms, ensemble.n_outputs, ends_at_miss=is_paper
        )
    stages = ensemble.cascade.stages
    return naive_sessions.walk_staged(
        *of_row, [(stage.length, stage.threshold) for stage in stages]
    )


@of_hypotheses
@given(data=st.data(), seed=st.integers(0, 1000))
def test_walk_is_the_naive_session(policy, data, seed):
    ensemble, values, budgets = data.draw(tables(policy))
    total = max(sum(ensemble.alphas), 1e-9)

    walks = simulate(ensemble, values, budgets, policy, seed, needs_ranks=True)

    for idx, row in enumerate(twins.rows_of(values)):
        numbers = uniforms(seed, idx).random(N_DRAWN).tolist()
        ends = [naive_end(ensemble, policy, row, b, numbers) for b in budgets]
        assert walks.spent[idx].tolist() == [end.spent for end in ends]
        assert walks.n_asked[idx].tolist() == [len(end.asked) for end in ends]
        assert walks.marks[idx].tolist() == [end.mark for end in ends]
        assert walks.ranks[idx].tolist() == ranks_of(ends[-2].asked, row)
        # Before any draw has voted nothing is known.
        is_drawn = policy.startswith("sample") and [end.mark for end in ends]
        alphas = [0.0 if is_drawn and not end.mark else end.alpha for end in ends]
        assert walks.known_shares[idx] * total == pytest.approx(alphas)
        counts = [end.mark if is_drawn and end.mark >= 0 else end.alpha for end in ends]
        votes = walks.margins[idx] * np.array(counts)[:, None]
        np.testing.assert_allclose(votes, [end.votes for end in ends], atol=1e-9)


def ranks_of(asked, row):
    return [asked.index(f) + 1 if f in asked else 0 for f in range(len(row))]


@pytest.mark.slow
@every_policy
@given(data=st.data(), seed=st.integers(0, 99))
def test_walk_is_one_session_per_row_and_budget(policy, data, seed):
    ensemble, values, budgets = data.draw(tables(policy))

    walks = simulate(ensemble, values, budgets, policy, seed, needs_ranks=True)

    chances = class_probabilities(ensemble, walks)
    votes, labels = class_votes(ensemble, walks), decide_label(ensemble, chances)
    for idx, row in enumerate(values):
        _, order = play(ensemble, row, None, policy, seed, idx)
        assert walks.ranks[idx].tolist() == ranks_of(order, row)
        for at, budget in enumerate(budgets):
            state, asked = play(ensemble, row, budget, policy, seed, idx)
            standing = POLICIES[policy].standing(Position.of(ensemble, state))
            forecast = machine.forecast(ensemble, state)
            assert budget is None or state.spent <= budget
            assert (state.spent, len(asked)) == (
                walks.spent[idx, at],
                walks.n_asked[idx, at],
            )
            assert standing.marks == walks.marks[idx, at]
            assert (forecast.vote, forecast.label) == (votes[idx, at], labels[idx, at])
            assert forecast.probabilities == pytest.approx(chances[idx, at], abs=1e-9)
            # Known answers may be of stages after the one that rejected.
            if standing.marks < 0 and policy == "cascade":
                continue
            share, margins = walks.known_shares[idx, at], walks.margins[idx, at]
            assert forecast.known_share == pytest.approx(share)
            assert standing.margins == pytest.approx(margins, abs=1e-9)


@given(tables(), st.data())
def test_order_of_budgets_changes_nothing(table, data):
    ensemble, values, budgets = table
    shuffled = data.draw(st.permutations(range(len(budgets))))

    walks = simulate(ensemble, values, budgets)
    others = simulate(ensemble, values, [budgets[idx] for idx in shuffled])

    assert others.margins.tolist() == walks.margins[:, shuffled].tolist()
    assert others.spent.tolist() == walks.spent[:, shuffled].tolist()


@given(tables("sample"), st.integers(0, 99))
def test_walk_of_a_row_does_not_depend_on_the_rows_after_it(table, seed):
    ensemble, values, budgets = table

    walks = simulate(ensemble, values, budgets, "sample", seed)
    first = simulate(ensemble, values[:1], budgets, "sample", seed)

    assert walks.margins[:1].tolist() == first.margins.tolist()
    assert walks.n_asked[:1].tolist() == first.n_asked.tolist()


def test_walk_under_no_budget_has_no_columns():
    ensemble = make_ensemble([Feature("f0")], [(0, 1.0)])

    shapes = [
        simulate(ensemble, np.zeros((2, 1)), [], policy).margins.shape
        for policy in ("ordered", "sample")
    ]

    assert shapes == [(2, 0, 1), (2, 0, 1)]


@pytest.mark.slow
def test_walk_ends_after_the_most_draws_as_a_session_does():
    features = [Feature("f0", cost=1), Feature("f1", cost=1), Feature("f2", cost=9)]
    ensemble = make_ensemble(features, [(0, 1.0), (1, 1e-9)], policy="sample")
    row = np.array([1.0, 1.0, 1.0])

    walks = simulate(ensemble, row[None, :], [2], seed=3)
    state, _ = play(ensemble, row, 2, "sample", 3, 0)

    assert (state.stop_reason, state.n_draws) == ("all_known", MAX_DRAWS)
    assert (walks.n_asked.item(), walks.spent.item()) == (1, 1)
    assert walks.marks.item() == -1
    assert walks.margins.item() == pytest.approx(
        machine.forecast(ensemble, state).margin
    )


@pytest.mark.slow
@given(st.data())
def test_curve_is_that_of_the_sessions(data):
    ensemble = data.draw(strategies.stump_ensembles() | cascades())
    dataset = data.draw(strategies.datasets(ensemble.catalogue))
    limits = [0, 3_000_000, None]

    curve = evaluate(ensemble, dataset, limits)

    for at, limit in enumerate(limits):
        wrong = spent = 0.0
        for idx, row in enumerate(dataset.values):
            state, _ = play(ensemble, row, limit, ensemble.policy, 0, idx)
            vote = machine.forecast(ensemble, state).vote
            wrong += dataset.weights[idx] * (vote != dataset.targets[idx])
            spent += dataset.weights[idx] * state.spent
        assert curve.errors[at] == pytest.approx(wrong)
        assert curve.mean_spends[at] == pytest.approx(spent)
        assert limit is None or curve.max_spends[at] <= limit


def test_curve_by_hand():
    features = [Feature("f0", cost=2), Feature("f1", cost=3)]
    ensemble = make_ensemble(features, [(0, 1.0), (1, 2.0)], priors=(0.25, 0.75))
    values = [[1.0, 0.0], [0.0, 1.0], [0.0, NAN], [NAN, NAN]]
    dataset = rows_of(ensemble, values, [1, 1, 0, 0])

    curve = evaluate(ensemble, dataset, [None, 2, 0])

    assert curve == Curve(
        budgets=(None, 2, 0),
        errors=(0.5, 0.5, 0.5),
        errors_calibrated=(0.5, 0.5, 0.5),
        mean_spends=(3.0, 1.5, 0.0),
        max_spends=(5, 2, 0),
        n_samples=4,
    )


def test_rows_count_by_their_weights():
    ensemble = make_ensemble([Feature("f0", cost=2)], [(0, 1.0)])
    values = [[1.0], [0.0], [NAN]]
    dataset = rows_of(ensemble, values, [1, 1, 1], weights=[0.5, 0.375, 0.125])

    curve = evaluate(ensemble, dataset, [2])

    assert curve.errors == (0.375,)
    assert curve.mean_spends == (1.75,)


def test_error_of_the_label_follows_the_error_costs():
    ensemble = make_ensemble(
        [Feature("f0", cost=2)], [(0, 0.5)], error_costs=((0.0, 9.0), (1.0, 0.0))
    )
    dataset = rows_of(ensemble, [[1.0], [1.0], [0.0]], [1, 1, 0])

    curve = evaluate(ensemble, dataset, [2])

    assert curve.errors == (0.0,)
    assert curve.errors_calibrated == pytest.approx((2 / 3,))


@pytest.mark.slow
@given(strategies.datasets(), st.sampled_from(("ordered", "sample")), st.data())
def test_error_without_money_is_the_share_of_the_minority(dataset, policy, data):
    share = float(dataset.weights[dataset.targets == 1].sum())
    features = tuple(
        Feature(f.name, f.type, cost=1, categories=f.categories)
        for f in dataset.catalogue.features
    )
    ensemble = data.draw(strategies.stump_ensembles(Catalogue(features)))
    priced = make_ensemble(features, [], priors=(1 - share, share))
    ensemble = Ensemble(
        priced.catalogue,
        CLASSES,
        ensemble.hypotheses,
        ensemble.alphas,
        priced.priors,
        "adaboost",
        policy,
    )

    curve = evaluate(ensemble, dataset, [0])

    minority = min(share, 1 - share)
    assert curve.errors == pytest.approx((minority,))
    assert curve.errors_calibrated == pytest.approx((minority,))


@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_curve_is_the_same_however_many_rows_are_judged_at_a_time(policy, monkeypatch):
    random = np.random.default_rng(7)
    features = [Feature(f"f{idx}", cost=1) for idx in range(3)]
    ensemble = make_ensemble(features, [(0, 1.0), (1, 0.8), (2, 0.7)])
    values, targets = random.random((11, 3)), random.integers(0, 2, 11)
    dataset = rows_of(ensemble, values, targets, random.dirichlet(np.ones(11)))
    expected = evaluate(ensemble, dataset, [0, 1, 2, None], policy, seed=3)
    monkeypatch.setattr(blocks, "MAX_MARGINS", 16)

    curve = evaluate(ensemble, dataset, [0, 1, 2, None], policy, seed=3)

    assert curve == expected


@pytest.mark.parametrize("most", [999, 88, 30, 1])
def test_chances_are_kept_of_rows_evenly_spaced(most, monkeypatch):
    random = np.random.default_rng(7)
    ensemble = make_ensemble([Feature("f0", cost=1)], [(0, 1.0)])
    values, targets = random.random((22, 1)), random.integers(0, 2, 22)
    dataset = rows_of(ensemble, values, targets, random.dirichlet(np.ones(22)))
    whole = simulate_rows(ensemble, dataset, [0, None], has_figures=True).scored
    monkeypatch.setattr(blocks, "MAX_CHANCES", most)
    monkeypatch.setattr(blocks, "MAX_MARGINS", 10)

    few = simulate_rows(ensemble, dataset, [0, None], has_figures=True).scored

    stride = -(-88 // most)
    assert len(few.targets) == len(range(0, 22, stride))
    np.testing.assert_array_equal(few.chances, whole.chances[::stride])
    np.testing.assert_array_equal(few.targets, targets[::stride])
    assert few.weights.sum() == pytest.approx(1)
    assert simulate_rows(ensemble, dataset, [0, None]).scored is None


def test_walk_reads_rows_that_are_not_contiguous():
    ensemble = make_ensemble([Feature("f0", cost=1), Feature("f1", cost=1)], [(1, 1.0)])
    values = np.asfortranarray([[0.0, 1.0], [0.0, 0.0]])

    walks = simulate(ensemble, values, [1])

    assert walks.margins.tolist() == [[[1.0]], [[-1.0]]]


def test_each_budget_is_played_by_the_policy_that_the_ensemble_prefers_there():
    features = [Feature(f"f{idx}", cost=1) for idx in range(3)]
    plain = make_ensemble(features, [(0, 1.0), (1, 0.8), (2, 0.7)])
    ranges = (BudgetRange(1, "sample"), BudgetRange(None, "ordered"))
    ensemble = replace(plain, ranges=ranges)
    values = np.random.default_rng(7).random((11, 3))
    budgets = [None, 1, 2, 0]

    walks = simulate(ensemble, values, budgets)

    assert walks.policies == ("ordered", "sample", "ordered", "sample")
    chances, votes = class_probabilities(ensemble, walks), class_votes(ensemble, walks)
    for column, (budget, policy) in enumerate(
        zip(budgets, walks.policies, strict=True)
    ):
        alone = simulate(plain, values, [budget], policy)
        assert np.array_equal(walks.spent[:, column], alone.spent[:, 0])
        assert np.array_equal(
            chances[:, column], class_probabilities(plain, alone)[:, 0]
        )
        assert np.array_equal(votes[:, column], class_votes(plain, alone)[:, 0])
        assert machine.start(ensemble, budget).policy == policy


def test_gap_of_two_curves_is_newcombes():
    def curve(share, n_rows):
        return Curve((0, None), (0.5, share), (0.5, share), (0, 0), (0, 0), n_rows)

    first, other = curve(48 / 80, 80), curve(56 / 70, 70)

    gap = compare_independent(first, other, None)

    # Newcombe (1998), Table II, example (a): 56/70 - 48/80, method 10.
    assert gap.value == pytest.approx(0.2)
    assert gap.interval == pytest.approx((0.0524, 0.3339), abs=5e-5)
    back = compare_independent(other, first, None)
    assert back.interval == pytest.approx((-0.3339, -0.0524), abs=5e-5)
    assert compare_independent(first, other, 5).value == 0.0
