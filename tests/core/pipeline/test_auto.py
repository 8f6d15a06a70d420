"""The algorithm `auto`: panels, with boosting beside them, and who asks by default."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from askless.core.estimator.classifier import BudgetedBoostingClassifier
from askless.core.model.ensemble import BudgetRange
from askless.core.panels.effort import EFFORTS
from askless.core.panels.ladders import fit_ladders
from askless.core.pipeline import parts
from askless.core.pipeline.choosing import choose_parameters
from askless.core.pipeline.comparison import compute_error_costs, number_groups
from askless.core.pipeline.validation import halve_rows
from askless.core.simulation.curves import evaluate
from askless.core.training import algorithms
from askless.core.training.algorithms import ALGORITHMS
from askless.core.training.params import BoostParams
from tests.panels import shorten
from tests.small import finish, table_of, train

PARAMS = BoostParams("auto", rounds=3, seed=3)


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


@pytest.mark.parametrize(("folds", "named"), [(0, ()), (2, (2_000_000,))])
def test_every_part_has_panels_for_the_budgets_named_and_for_no_other(
    monkeypatch, named, folds
):
    given = []

    def fit(rows, named, *others):
        given.append(named)
        return fit_ladders(rows, named, *others)

    monkeypatch.setattr(parts, "fit_ladders", fit)

    finish(train(telling(), PARAMS, folds=folds, curve_budgets=named))

    assert given == [named] * (folds + 1)


def test_auto_is_panels():
    assert ALGORITHMS["auto"] == ALGORITHMS["panels"]


@pytest.mark.parametrize("rounds", [1, 5])
def test_rounds_beside_panels_end_early(monkeypatch, rounds):
    monkeypatch.setattr(algorithms, "MOST_BESIDE_PANELS", 2)
    params = replace(PARAMS, rounds=rounds)

    model = finish(train(telling(), params, folds=0))

    assert len(model.ensemble.hypotheses) == min(rounds, 2)
    assert model.params["rounds"] == min(rounds, 2)


def test_curve_is_that_of_the_policies_kept(trained):
    told = trained.card["comparison"]

    assert set(told["losses"]) == {"panels", "adaptive"}
    assert told["kept"][-1]["up_to"] is None
    kept = [trained.ensemble.policy_at(budget) for budget in trained.curve.budgets]
    expected = [told["losses"][policy][place] for place, policy in enumerate(kept)]
    assert trained.curve.errors_calibrated == pytest.approx(expected)


def test_card_tells_losses_and_spends_of_both_policies(trained):
    told = trained.card["comparison"]

    for figure in ("losses", "log_losses", "mean_spends"):
        assert set(told[figure]) == {"panels", "adaptive"}
        assert {len(its) for its in told[figure].values()} == {len(told["budgets"])}
    assert told["mean_spends"]["panels"][0] == 0


@pytest.mark.slow
def test_an_effort_validates_on_as_many_folds_as_have_its_rows(monkeypatch):
    let_suffice(monkeypatch, "fast", 15)

    model = finish(train(telling(), replace(PARAMS, effort="fast"), folds=5))

    assert model.card["folds"] == 2
    assert model.curve.n_samples == 8 * 2


def test_one_fold_is_validated_by_halves(monkeypatch):
    let_suffice(monkeypatch, "standard", 8)

    model = finish(train(telling(), PARAMS, folds=5))

    assert model.card["folds"] == 1
    assert model.curve.n_samples == 8
    assert set(dict(model.ensemble.calibrations)) <= {"ordered", "sample"}


def test_rows_without_folds_are_halved_evenly():
    rows = telling(10).take(np.array([0, 2, 3, 4]))

    assert [part.n_samples for part in halve_rows(rows, 0)] == [2, 2]


def test_rounds_and_tau_can_be_chosen_for_auto():
    found = finish(choose_parameters(telling(), PARAMS, frozenset({"rounds", "tau"})))

    assert {choice.algorithm for choice, _ in found.tried} == {"auto"}
    assert [choice.tau for choice, _ in found.tried] == [1, 0.3, 0.1, 0.03, 0]


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

    assert compute_error_costs(costly, targets, labels).tolist() == [
        [5, 0],
        [2, 0],
        [0, 0],
    ]
    assert compute_error_costs(trained.ensemble, targets, labels).sum() == 2


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
def test_estimator_is_auto_and_of_several_labels_the_smoothed_rule():
    dataset = telling()
    indicators = np.column_stack((dataset.targets, 1 - dataset.targets))

    auto = BudgetedBoostingClassifier(rounds=2, folds=0)
    one = clone(auto).fit(dataset.values, dataset.targets)
    several = clone(auto).fit(dataset.values, indicators)

    assert one.ensemble_.algorithm == one.params_.algorithm == "auto"
    assert one.ensemble_.panels is not None
    assert several.ensemble_.algorithm == "adaboost_bt_smoothed"
    assert several.ensemble_.panels is None
