"""Many rows at once are many sessions, one by one; curves of their errors."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.ensemble import Ensemble
from core.model.hypotheses import Stump
from core.model.model import Curve
from core.session import curves, machine
from core.session.curves import evaluate
from core.session.policies.sample import MAX_DRAWS
from core.session.simulate import class_probabilities, walk
from core.session.state import State
from core.table.catalogue import UNSEEN, Catalogue, Feature, Group
from core.table.dataset import Dataset
from core.table.prices import total_cost
from tests import strategies
from tests.sessions import CLASSES, NEVER, answer_from_row

NAN = math.nan
BUDGETS = st.lists(strategies.budgets(), max_size=4).map(
    lambda drawn: [*drawn, None, 0]
)


def make_ensemble(
    features, hypotheses, groups=(), policy="ordered", priors=(0.5, 0.5), **fields
) -> Ensemble:
    """Hypotheses are (feature, alpha); they vote 1 above 0.5, or for category 1."""
    return Ensemble(
        catalogue=Catalogue(tuple(features), tuple(groups)),
        classes=CLASSES,
        hypotheses=tuple(
            Stump(idx, 1.0, (1,), is_category=True)
            if features[idx].type == "category"
            else Stump(idx, 0.5, (1,))
            for idx, _ in hypotheses
        ),
        alphas=tuple(alpha for _, alpha in hypotheses),
        priors=priors,
        algorithm="adaboost_bt",
        policy=policy,
        **fields,
    )


def make_dataset(ensemble, values, targets, weights=None) -> Dataset:
    n_samples = len(targets)
    if weights is None:
        weights = np.full(n_samples, 1 / n_samples)
    return Dataset(
        ensemble.catalogue,
        CLASSES,
        np.array(values, np.float64).reshape(n_samples, -1),
        np.array(targets, np.int64),
        np.array(weights, np.float64),
    )


def play(ensemble, row, budget, policy, seed, stream) -> tuple[State, list[int]]:
    """Answer every question from a row, all members of a bundle at once."""
    fields = {"seed": seed, "policy": policy, "stop": NEVER, "stream": stream}
    state = machine.start(ensemble, budget, **fields)
    return answer_from_row(ensemble, state, row)


@st.composite
def tables(draw) -> tuple[Ensemble, np.ndarray]:
    ensemble = draw(strategies.ensembles())
    values = strategies.tables(ensemble.catalogue, max_rows=3, has_unseen=True)
    return ensemble, draw(values)


@given(tables(), BUDGETS, st.sampled_from(("ordered", "sample")), st.integers(0, 99))
def test_walk_is_one_session_per_row_and_budget(table, budgets, policy, seed):
    ensemble, values = table

    walks = walk(ensemble, values, budgets, policy, seed)

    sessions = [
        [play(ensemble, row, budget, policy, seed, i) for budget in budgets]
        for i, row in enumerate(values)
    ]
    forecasts = [
        [machine.forecast(ensemble, state) for state, _ in row] for row in sessions
    ]
    margins = [[forecast.margin for forecast in row] for row in forecasts]
    shares = [[forecast.known_share for forecast in row] for row in forecasts]
    chances = [[forecast.probabilities for forecast in row] for row in forecasts]
    assert walks.spent.tolist() == [[s.spent for s, _ in row] for row in sessions]
    assert walks.n_asked.tolist() == [
        [len(asked) for _, asked in row] for row in sessions
    ]
    assert walks.margins[..., 0] == pytest.approx(np.array(margins), abs=1e-9)
    assert walks.known_shares == pytest.approx(np.array(shares))
    assert class_probabilities(ensemble, walks, policy) == pytest.approx(
        np.array(chances), abs=1e-9
    )


@given(tables(), BUDGETS, st.sampled_from(("ordered", "sample")), st.integers(0, 99))
def test_ranks_are_the_order_of_asking(table, budgets, policy, seed):
    ensemble, values = table

    ranks = walk(ensemble, values, budgets, policy, seed, needs_ranks=True).ranks

    for i, row in enumerate(values):
        _, asked = play(ensemble, row, None, policy, seed, i)
        expected = [asked.index(f) + 1 if f in asked else 0 for f in range(row.size)]
        assert ranks[i].tolist() == expected


@given(tables(), st.lists(strategies.amounts(), min_size=1, max_size=4), st.data())
def test_order_of_budgets_changes_nothing(table, budgets, data):
    ensemble, values = table
    shuffled = data.draw(st.permutations(range(len(budgets))))

    walks = walk(ensemble, values, budgets)
    others = walk(ensemble, values, [budgets[idx] for idx in shuffled])

    assert others.margins.tolist() == walks.margins[:, shuffled].tolist()
    assert others.spent.tolist() == walks.spent[:, shuffled].tolist()


@given(tables(), BUDGETS, st.integers(0, 99))
def test_walk_of_a_row_does_not_depend_on_the_rows_after_it(table, budgets, seed):
    ensemble, values = table

    walks = walk(ensemble, values, budgets, "sample", seed)
    first = walk(ensemble, values[:1], budgets, "sample", seed)

    assert walks.margins[:1].tolist() == first.margins.tolist()
    assert walks.n_asked[:1].tolist() == first.n_asked.tolist()


def test_missing_member_of_a_bundle_leaves_the_others_to_pay():
    features = [Feature(f"f{idx}", cost=0, group="echo") for idx in range(3)]
    ensemble = make_ensemble(features, [(0, 1.0), (1, 1.0)], [Group("echo", price=90)])
    values = np.array([[NAN, 1.0, NAN], [NAN, NAN, NAN], [NAN, NAN, 1.0]])

    walks = walk(ensemble, values, [89, 90])

    assert walks.spent.tolist() == [[0, 90], [0, 0], [0, 90]]
    assert walks.n_asked.tolist() == [[0, 3]] * 3


def test_share_known_without_a_ballot_is_that_of_the_session():
    features = [
        Feature("f0", cost=0, group="echo"),
        Feature("f1", cost=0, group="echo"),
        Feature("f2", cost=9),
    ]
    hypotheses = [(0, 1 / 8), (1, 2.0), (2, 2.0)]
    ensemble = make_ensemble(features, hypotheses, [Group("echo", price=5)], "sample")
    values = np.tile([1.0, NAN, 1.0], (9, 1))

    walks = walk(ensemble, values, [5])

    sessions = [play(ensemble, row, 5, "sample", 0, i) for i, row in enumerate(values)]
    assert walks.known_shares[:, 0].tolist() == [
        machine.forecast(ensemble, state).known_share for state, _ in sessions
    ]


@pytest.mark.parametrize("policy", ["ordered", "sample"])
@pytest.mark.parametrize("budget", [7, None])
def test_unseen_category_is_paid_for_and_gives_the_prior(policy, budget):
    features = [
        Feature("f0", "category", cost=7, categories=("a", "b")),
        Feature("f1", cost=100),
    ]
    ensemble = make_ensemble(features, [(0, 8.0), (1, 1 / 8)], priors=(0.25, 0.75))

    walks = walk(ensemble, np.array([[UNSEEN, NAN]]), [budget], policy)

    assert walks.spent.tolist() == [[7]]
    assert walks.margins.tolist() == [[[0.0]]]
    assert walks.known_shares.tolist() == [[0.0]]
    assert class_probabilities(ensemble, walks, policy).tolist() == [[[0.25, 0.75]]]


@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_ensemble_without_hypotheses_spends_nothing(policy):
    ensemble = make_ensemble([Feature("f0")], [])

    walks = walk(ensemble, np.zeros((2, 1)), [None], policy)

    assert walks.spent.tolist() == [[0], [0]]
    assert walks.margins.tolist() == [[[0.0]], [[0.0]]]


def test_walk_under_no_budget_has_no_columns():
    ensemble = make_ensemble([Feature("f0")], [(0, 1.0)])

    shapes = [
        walk(ensemble, np.zeros((2, 1)), [], policy).margins.shape
        for policy in ("ordered", "sample")
    ]

    assert shapes == [(2, 0, 1), (2, 0, 1)]


def test_walk_ends_after_the_most_draws_as_a_session_does():
    features = [Feature("f0", cost=1), Feature("f1", cost=1), Feature("f2", cost=9)]
    ensemble = make_ensemble(features, [(0, 1.0), (1, 1e-9)], policy="sample")
    row = np.array([1.0, 1.0, 1.0])

    walks = walk(ensemble, row[None, :], [2], seed=3)
    state, _ = play(ensemble, row, 2, "sample", 3, 0)

    assert (state.stop_reason, state.n_draws) == ("all_known", MAX_DRAWS)
    assert (walks.n_asked.item(), walks.spent.item()) == (1, 1)
    assert walks.marks.item() == -1
    assert walks.margins.item() == pytest.approx(
        machine.forecast(ensemble, state).margin
    )


@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_sampling_uses_its_own_calibration_until_all_is_known(policy):
    fitted = (
        ("ordered", strategies.calibration()),
        ("sample", strategies.calibration(slope=5.0)),
    )
    features = [Feature("f0", cost=1), Feature("f1", cost=1)]
    ensemble = make_ensemble(
        features, [(0, 1.0), (1, 1.0)], policy=policy, calibrations=fitted
    )

    walks = walk(ensemble, np.ones((1, 2)), [1, None])

    logits = np.log(1 / class_probabilities(ensemble, walks)[..., 1] - 1) * -1
    assert logits[0] == pytest.approx([2, 4] if policy == "ordered" else [20, 4])


@given(tables(), BUDGETS, st.sampled_from(("ordered", "sample")))
def test_spend_never_exceeds_the_budget(table, budgets, policy):
    ensemble, values = table
    targets = np.zeros(values.shape[0], np.int64)

    curve = evaluate(ensemble, make_dataset(ensemble, values, targets), budgets, policy)

    limits = [total_cost(ensemble.catalogue) if b is None else b for b in budgets]
    assert all(
        mean <= most + 1e-6 and most <= limit
        for mean, most, limit in zip(
            curve.mean_spends, curve.max_spends, limits, strict=True
        )
    )


def test_curve_by_hand():
    features = [Feature("f0", cost=2), Feature("f1", cost=3)]
    ensemble = make_ensemble(features, [(0, 1.0), (1, 2.0)], priors=(0.25, 0.75))
    values = [[1.0, 0.0], [0.0, 1.0], [0.0, NAN], [NAN, NAN]]
    dataset = make_dataset(ensemble, values, [1, 1, 0, 0])

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
    dataset = make_dataset(ensemble, values, [1, 1, 1], weights=[0.5, 0.375, 0.125])

    curve = evaluate(ensemble, dataset, [2])

    assert curve.errors == (0.375,)
    assert curve.mean_spends == (1.75,)


def test_error_of_the_label_follows_the_error_costs():
    ensemble = make_ensemble(
        [Feature("f0", cost=2)], [(0, 0.5)], error_costs=((0.0, 9.0), (1.0, 0.0))
    )
    dataset = make_dataset(ensemble, [[1.0], [1.0], [0.0]], [1, 1, 0])

    curve = evaluate(ensemble, dataset, [2])

    assert curve.errors == (0.0,)
    assert curve.errors_calibrated == pytest.approx((2 / 3,))


@given(strategies.datasets(), st.sampled_from(("ordered", "sample")), st.data())
def test_error_without_money_is_the_share_of_the_minority(dataset, policy, data):
    share = float(dataset.weights[dataset.targets == 1].sum())
    features = tuple(
        Feature(f.name, f.type, cost=1, categories=f.categories)
        for f in dataset.catalogue.features
    )
    ensemble = data.draw(strategies.ensembles(Catalogue(features)))
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
    dataset = make_dataset(ensemble, values, targets, random.dirichlet(np.ones(11)))
    expected = evaluate(ensemble, dataset, [0, 1, 2, None], policy, seed=3)
    monkeypatch.setattr(curves, "MAX_MARGINS", 16)

    curve = evaluate(ensemble, dataset, [0, 1, 2, None], policy, seed=3)

    assert curve == expected


def test_walk_reads_rows_that_are_not_contiguous():
    ensemble = make_ensemble([Feature("f0", cost=1), Feature("f1", cost=1)], [(1, 1.0)])
    values = np.asfortranarray([[0.0, 1.0], [0.0, 0.0]])

    walks = walk(ensemble, values, [1])

    assert walks.margins.tolist() == [[[1.0]], [[-1.0]]]
