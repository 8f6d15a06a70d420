"""The algorithm `auto`: rules tried, ways of asking compared, the best kept."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from core.errors import RefusedError
from core.estimator import BudgetedBoostingClassifier
from core.model.ensemble import BudgetRange
from core.panels.effort import EFFORTS
from core.pipeline import choosing, comparison
from core.pipeline.choosing import tune
from core.pipeline.comparison import (
    best_policy,
    compare,
    find_losses,
    number_groups,
)
from core.pipeline.validation import halve
from core.session.curves import evaluate
from core.table.binning import bin_values
from core.training.algorithms import ALGORITHMS
from core.training.params import BoostParams
from tests.panels import shorten
from tests.small import finish, table_of, train

PARAMS = BoostParams("auto", rounds=3, seed=3)
RULES = ALGORITHMS["auto"].rules


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    shorten(monkeypatch, rounds=1)


def let_suffice(patch, name, n_rows):
    """Let an effort validate on so many rows."""
    effort = EFFORTS[name]._replace(validation_rows=n_rows)
    patch.setitem(EFFORTS, name, effort)


def telling(n_rows: int = 40):
    """A feature that tells the class in most rows, and one that tells little."""
    random = np.random.default_rng(0)
    targets = (np.arange(n_rows) % 5 < 2).astype(np.int64)
    columns = [
        np.where(random.random(n_rows) < share, targets, 1 - targets)
        for share in (0.6, 0.9)
    ]
    return table_of(columns, targets)


@pytest.fixture(scope="module")
def trained():
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch, rounds=1)
        return finish(train(telling(), PARAMS, folds=2))


@pytest.mark.slow
def test_card_tells_the_error_of_each_rule_and_the_best_of_them(trained):
    rules = trained.card["rules"]

    assert set(rules) == set(RULES)
    assert rules[trained.card["rule"]] == min(rules.values())
    assert trained.params["algorithm"] == trained.card["rule"]


def test_hypotheses_are_those_of_the_best_rule(trained):
    params = replace(PARAMS, algorithm=trained.card["rule"])

    alone = finish(train(telling(), params, folds=0))

    assert trained.ensemble.algorithm == "auto"
    assert trained.ensemble.hypotheses == alone.ensemble.hypotheses


def test_curve_is_that_of_the_policies_kept(trained):
    told = trained.card["comparison"]

    assert set(told["losses"]) == {"panels", "ordered"}
    assert told["kept"][-1]["up_to"] is None
    kept = [trained.ensemble.policy_at(budget) for budget in trained.curve.budgets]
    expected = [told["losses"][policy][place] for place, policy in enumerate(kept)]
    assert trained.curve.errors_calibrated == pytest.approx(expected)


def test_little_effort_tries_one_rule():
    model = finish(train(telling(), replace(PARAMS, effort="fast"), folds=0))

    assert "rules" not in model.card
    assert model.params["algorithm"] == RULES[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("effort", "n_folds"), [("fast", 2), ("standard", 3), ("thorough", 5)]
)
def test_more_effort_validates_on_more_folds(effort, n_folds, monkeypatch):
    let_suffice(monkeypatch, "fast", 15)
    let_suffice(monkeypatch, "standard", 24)

    model = finish(train(telling(), replace(PARAMS, effort=effort), folds=5))

    assert model.card["folds"] == n_folds
    assert model.curve.n_samples == 8 * n_folds


def test_one_fold_is_validated_by_halves(monkeypatch):
    let_suffice(monkeypatch, "standard", 8)

    model = finish(train(telling(), PARAMS, folds=5))

    assert model.card["folds"] == 1
    assert model.curve.n_samples == 8
    assert set(dict(model.ensemble.calibrations)) <= {"ordered", "sample"}


def test_rows_without_folds_are_halved_evenly():
    rows = telling(10).take(np.array([0, 2, 3, 4]))

    assert [part.n_samples for part in halve(rows, 0)] == [2, 2]


def test_row_groups_that_cannot_be_parted_are_boosted_by_the_first_rule():
    dataset = replace(telling(), row_groups=np.zeros(40, np.int64))

    assert finish(tune(dataset, PARAMS, frozenset())).params.algorithm == RULES[0]
    with pytest.raises(RefusedError, match=r"params\.rounds"):
        finish(tune(dataset, PARAMS, frozenset({"rounds"})))


@pytest.mark.parametrize(("auto", "n_rows"), [((), 11), (("rounds",), 26)])
def test_rule_alone_is_chosen_on_no_more_rows_than_sets_are_chosen_by(
    auto, n_rows, monkeypatch
):
    few = EFFORTS["standard"]._replace(search_rows=12)
    monkeypatch.setitem(EFFORTS, "standard", few)
    sizes = []

    def bin_some(dataset):
        sizes.append(dataset.n_samples)
        return bin_values(dataset)

    monkeypatch.setattr(choosing, "bin_values", bin_some)

    finish(tune(telling(), PARAMS, frozenset(auto)))

    assert sizes == [n_rows]


def test_rounds_and_tau_can_be_chosen_for_each_rule():
    found = finish(tune(telling(), PARAMS, frozenset({"rounds", "tau"})))

    tried = [(choice.algorithm, choice.tau) for choice, _ in found.tried]
    assert [tau for rule, tau in tried if rule == RULES[0]] == [1, 0.3, 0.1, 0.03, 0]
    assert [tau for rule, tau in tried if rule == RULES[1]] == [1]


@pytest.mark.parametrize(
    ("losses", "best"),
    [
        ([[1, 0, 1, 0], [0, 1, 0, 0]], 0),  # by a row: luck
        ([[1, 1, 1, 0], [0, 0, 0, 0]], 1),
        ([[1, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0]], 2),
        ([[0, 0, 0, 0], [1, 1, 1, 1]], 0),
    ],
)
def test_first_policy_stays_unless_another_is_surely_better(losses, best):
    weights, row_groups = np.full(4, 0.25), np.arange(4)

    assert best_policy(np.array(losses, float), weights, row_groups) == best


@pytest.mark.parametrize(("sizes", "best"), [([1] * 40, 1), ([20, 10, 10], 0)])
def test_lead_on_one_row_group_is_no_sure_one(sizes, best):
    losses = np.repeat([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [20, 10, 10], axis=1)
    row_groups = np.repeat(np.arange(len(sizes)), sizes)

    assert best_policy(losses, np.full(40, 0.025), row_groups) == best


def test_row_groups_of_several_parts_are_numbered_apart():
    groups = np.array([7, 7, 3, 3])
    parts = [
        replace(telling().take(np.arange(4)), row_groups=groups),
        telling().take(np.arange(2)),
    ]

    assert number_groups(parts).tolist() == [1, 1, 0, 0, 2, 3]


def test_wrong_labels_lose_what_they_cost(trained):
    costly = replace(trained.ensemble, error_costs=((0.0, 5.0), (2.0, 0.0)))
    targets, labels = np.array([0, 1, 1]), np.array([[1, 0], [0, 1], [1, 1]])

    assert find_losses(costly, targets, labels).tolist() == [[5, 0], [2, 0], [0, 0]]
    assert find_losses(trained.ensemble, targets, labels).sum() == 2


def test_neighbouring_ranges_of_one_policy_are_one(trained, monkeypatch):
    wins = iter([0, 1, 1])
    monkeypatch.setattr(comparison, "best_policy", lambda *_: next(wins))
    pairs = [(trained.ensemble, telling())]

    found = finish(compare(pairs, ("panels", "ordered"), (0, 1, 2, 3, 4, None), 0))

    assert found.ranges == (BudgetRange(1, "panels"), BudgetRange(None, "ordered"))


def test_budgets_between_two_ranges_belong_to_the_larger(trained):
    ranges = (BudgetRange(5, "ordered"), BudgetRange(None, "panels"))
    ensemble = replace(trained.ensemble, ranges=ranges)

    named = [ensemble.policy_at(budget) for budget in (0, 5, 6, None)]

    assert named == ["ordered", "ordered", "panels", "panels"]
    both = evaluate(ensemble, telling(), (5, None))
    for place, policy in enumerate(("ordered", "panels")):
        alone = evaluate(ensemble, telling(), (5, None), policy)
        assert both.errors[place] == alone.errors[place]


@pytest.mark.slow
def test_estimator_is_auto_and_of_several_labels_its_first_rule():
    dataset = telling()
    indicators = np.column_stack((dataset.targets, 1 - dataset.targets))

    auto = BudgetedBoostingClassifier(rounds=2, folds=0)
    one = clone(auto).fit(dataset.values, dataset.targets)
    several = clone(auto).fit(dataset.values, indicators)

    assert one.ensemble_.algorithm == "auto"
    assert one.ensemble_.panels is not None
    assert one.params_.algorithm in RULES
    assert several.ensemble_.algorithm == RULES[0]
    assert several.ensemble_.panels is None
