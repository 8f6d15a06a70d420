from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.catalogue.prices import Paid, buy
from askless.core.codes.folds import deal_strata
from askless.core.model.figures import wilson_interval
from askless.core.model.hypotheses import LEAF, Product, Stump, Tree
from askless.core.model.model import Curve, Model
from askless.core.pipeline.budgets import (
    MAX_CURVE_POINTS,
    list_purchase_budgets,
    list_usual_budgets,
)
from askless.core.pipeline.progress import VALIDATION_SHARE
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train as train_spec
from askless.core.pipeline.validation import join_scored
from askless.core.simulation.figures import ScoredRows
from askless.core.table.check import CheckedTable
from askless.core.table.dataset import ClassLabel
from askless.core.table.spec import TableSpec
from askless.core.training.params import BoostParams
from tests.levels import at_most
from tests.rounds import run
from tests.small import ensemble_of, finish, pull, table_of, train
from tests.strategies import datasets, stump_ensembles

UNIT = 1_000_000
CLASSES = (ClassLabel("0", "no"), ClassLabel("1", "yes"))
CATALOGUE = Catalogue(
    (
        Feature("a", cost=UNIT),
        Feature("b", cost=2 * UNIT, group="g"),
        Feature("c", cost=3 * UNIT, group="g"),
        Feature("d", cost=0),
    ),
    (Group("g", fee=UNIT),),
)


def noisy_table(n_samples=60, seed=0, targets=None, row_groups=None):
    """Four features that help a little, some cells missing."""
    generator = np.random.default_rng(seed)
    if targets is None:
        targets = (np.arange(n_samples) % 3 == 0).astype(np.int64)
    signs = 2.0 * targets - 1.0
    values = generator.normal(size=(n_samples, 4)) + signs[:, None] * [1, 0.7, 0.5, 0.2]
    values[generator.random(values.shape) < 0.1] = np.nan
    dataset = table_of(values.T, targets, CATALOGUE)
    return replace(dataset, classes=CLASSES, row_groups=row_groups)


def useless_table():
    return table_of(np.ones((4, 12)), None, CATALOGUE)


def trained(dataset, folds=3, **others) -> Model:
    params = others.pop("params", BoostParams(rounds=6))
    return finish(train(dataset, params, folds=folds, **others))


def tree_of(stumps):
    """A tree that goes on above each cut."""
    n_stumps = len(stumps)
    below = [(position, LEAF) for position in range(1, n_stumps)]
    return Tree(stumps, (*below, (LEAF, LEAF)))


@pytest.fixture(scope="module")
def pulled():
    """All that a training tells, and its model."""
    return pull(train(noisy_table(), BoostParams(rounds=6), folds=3, seed=4))


@pytest.fixture(scope="module")
def model(pulled):
    return pulled[1]


# Folds.


@given(datasets(), st.integers(2, 5), st.integers(0, 9))
def test_folds_part_the_rows(dataset, folds, seed):
    parts = deal_strata(dataset, folds, seed)

    if parts:
        rows = np.sort(np.concatenate(parts))
        assert rows.tolist() == list(range(dataset.n_samples))
        assert 2 <= len(parts) <= folds


@given(datasets(), st.integers(2, 5))
def test_every_fold_leaves_both_classes_on_both_sides(dataset, folds):
    for part in deal_strata(dataset, folds, seed=0):
        rest = np.setdiff1d(np.arange(dataset.n_samples), part)
        assert set(dataset.targets[part]) == {0, 1}
        assert set(dataset.targets[rest]) == {0, 1}


def test_rows_of_one_unit_stay_in_one_fold():
    row_groups = np.arange(60) // 3
    dataset = noisy_table(targets=np.arange(60) // 3 % 2, row_groups=row_groups)

    parts = deal_strata(dataset, 4, seed=0)

    held = [set(row_groups[part].tolist()) for part in parts]
    assert len(held) == 4
    assert sum(len(row_idxs) for row_idxs in held) == len(set().union(*held))


def test_folds_of_units_spread_the_classes():
    dataset = noisy_table(targets=np.arange(60) // 3 % 2, row_groups=np.arange(60) // 3)

    parts = deal_strata(dataset, 5, seed=0)

    assert [dataset.targets[part].mean() for part in parts] == [0.5] * 5


def test_folds_of_some_units_are_those_of_units_without_gaps():
    dataset = noisy_table(targets=np.arange(60) // 3 % 2, row_groups=np.arange(60) // 3)
    some = dataset.take(np.flatnonzero(dataset.row_groups % 4 > 1))
    renumbered = replace(
        some, row_groups=np.unique(some.row_groups, return_inverse=True)[1]
    )

    folds, expected = (deal_strata(table, 3, seed=0) for table in (some, renumbered))

    assert [fold.tolist() for fold in folds] == [fold.tolist() for fold in expected]


@pytest.mark.parametrize(
    ("targets", "n_alike", "folds", "n_folds"),
    [
        ([1, 0, 0] * 20, 1, 0, 0),
        ([1, 0, 0] * 20, 1, 1, 0),
        ([1, 1, *[0] * 18], 1, 5, 2),
        ([1, *[0] * 9], 1, 5, 0),
        # Of units: few, one of each class, and a class that is the minority in each.
        ([1] * 9 + [0] * 9, 3, 5, 3),
        ([1] * 5 + [0] * 5, 5, 5, 0),
        ([1, 0, 0, 0, 0] * 8, 5, 4, 4),
    ],
)
def test_rare_class_allows_fewer_folds(targets, n_alike, folds, n_folds):
    n_rows = len(targets)
    row_groups = None if n_alike == 1 else np.arange(n_rows) // n_alike
    dataset = noisy_table(n_rows, targets=np.array(targets), row_groups=row_groups)

    assert len(deal_strata(dataset, folds, seed=0)) == n_folds


def test_seed_decides_the_folds():
    dataset = noisy_table()
    one, same, other = (
        [part.tolist() for part in deal_strata(dataset, 3, seed)] for seed in (1, 1, 2)
    )

    assert one == same
    assert one != other


# The whole training.


def test_training_without_folds_has_neither_curve_nor_calibration():
    progress, model = pull(train(noisy_table(), BoostParams(rounds=6), folds=0))

    assert model.curve is None
    assert model.ensemble.calibrations == ()
    assert not any(step.tested for step in progress)


@pytest.mark.slow
def test_training_calibrates_both_policies(model):
    calibrations = model.ensemble.calibrations

    assert {"sample"} <= {policy for policy, _ in calibrations}


@pytest.mark.slow
def test_training_as_a_spec_asks_is_that_of_its_parameters():
    dataset, params = noisy_table(), BoostParams(rounds=3)
    costs = ((0.0, 1.0), (2.0, 0.0))
    spec = TrainingSpec(TableSpec("ill"), "heart", params, seed=2, folds=2)

    model = finish(train_spec(CheckedTable(dataset, costs, ()), spec))

    given = {"name": "heart", "target": "ill", "seed": 2, "error_costs": costs}
    assert model == trained(dataset, 2, params=params, **given)


@pytest.mark.slow
def test_ensemble_is_that_of_boosting_on_every_row():
    dataset = noisy_table()
    model = trained(dataset, folds=0)

    rounds = run(dataset, BoostParams(rounds=6))
    assert model.ensemble.hypotheses == tuple(added.hypothesis for added in rounds)
    assert model.ensemble.alphas == tuple(added.alpha for added in rounds)


@pytest.mark.slow
def test_ensemble_carries_priors_algorithm_policy_and_error_costs():
    error_costs = ((0.0, 1.0), (5.0, 0.0))
    params = BoostParams("adaboost_rs", rounds=2)

    options = {"params": params, "error_costs": error_costs}
    ensemble = trained(noisy_table(), folds=0, **options).ensemble

    assert ensemble.priors == pytest.approx((2 / 3, 1 / 3))
    assert (ensemble.algorithm, ensemble.policy) == ("adaboost_rs", "sample")
    assert ensemble.error_costs == error_costs


def test_model_knows_the_range_of_numbers_that_it_reads(model):
    is_used = model.ensemble.is_used
    dataset = noisy_table()

    for idx, feature in enumerate(model.ensemble.catalogue.features):
        column = dataset.values[:, idx]
        ends = (np.nanmin(column), np.nanmax(column)) if is_used[idx] else None
        assert feature.value_range == ends


@pytest.mark.slow
def test_curve_tells_of_budgets_that_are_named():
    plain, named = (
        trained(noisy_table(), curve_budgets=budgets).curve
        for budgets in ((), (7, 123_456_789))
    )

    assert set(named.budgets) == {*plain.budgets, 7, 123_456_789}
    places = [named.budgets.index(budget) for budget in plain.budgets]
    assert tuple(named.errors[place] for place in places) == plain.errors


def test_card_has_the_note_of_the_spec_and_else_none(model):
    noted = trained(noisy_table(), folds=0, note="Prices of 1995.")

    assert noted.card["note"] == "Prices of 1995."
    assert "note" not in model.card


def test_card_counts_rows_cells_and_features(model):
    card = model.card

    assert card["rows_by_class"] == {"0": 40, "1": 20}
    assert card["missing_cells"] == np.isnan(noisy_table().values).sum()
    assert set(card["features_used"]) <= {"a", "b", "c", "d"}
    assert (card["rows"], card["folds"], card["seed"]) == (60, 3, 4)


@pytest.mark.parametrize(
    "n_done", [13, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 6, 24))]
)
def test_interrupted_training_repeats_no_round_and_ends_with_the_same_model(
    n_done, pulled
):
    progress, model = pulled
    done = {}
    for step in [step for step in progress if step.added is not None][:n_done]:
        done.setdefault(step.part, []).append(step.added)

    rest, resumed = pull(
        train(noisy_table(), BoostParams(rounds=6), folds=3, seed=4, done=done)
    )

    assert resumed == model
    assert sum(step.added is not None for step in rest) == 4 * 6 - n_done
    # The curve of the finished fold is told again.
    assert n_done != 6 or rest == progress[6:]


@pytest.mark.slow
@at_most(10)
@given(datasets(max_rows=10), st.sampled_from(["adaboost_rs", "speedboost"]))
def test_any_small_table_trains(dataset, algorithm):
    model = trained(dataset, folds=2, params=BoostParams(algorithm, rounds=2))

    if model.curve is not None:
        assert model.curve.n_samples == dataset.n_samples
        assert all(0 <= error <= 1 + 1e-9 for error in model.curve.errors)


def test_table_without_an_edge_gives_an_empty_ensemble_and_the_error_of_the_prior():
    model = trained(useless_table())

    assert model.ensemble.hypotheses == ()
    assert model.ensemble.calibrations == ()
    assert model.curve.budgets == (0, None)
    assert model.curve.errors == pytest.approx((0.5, 0.5))


# Curve.


def test_curve_begins_with_nothing_and_ends_without_limit(model):
    budgets = model.curve.budgets

    assert budgets[0] == 0
    assert budgets[-1] is None
    assert list(budgets[:-1]) == sorted(set(budgets[:-1]))


def test_curve_says_on_how_many_rows_folds_were_trained(model):
    # Three folds, each trained on the other two.
    assert model.curve.n_trained == round(model.curve.n_samples * 2 / 3)


def test_figures_beside_the_curve_are_as_sure_as_its_errors(model):
    curve = model.curve
    found = curve.predictive[-1].sensitivity

    # A third of the rows is positive, and folds' rows count as fewer.
    n_rows = curve.n_samples / 3 / curve.variance_factor
    limits = wilson_interval(found.value, n_rows)
    assert found.interval == pytest.approx(limits)


def test_curve_spends_nothing_at_zero_and_never_above_the_budget(model):
    curve = model.curve

    assert curve.mean_spends[0] == 0
    limited = zip(curve.budgets[:-1], curve.max_spends[:-1], strict=True)
    assert all(spent <= budget for budget, spent in limited)


@pytest.mark.slow
@pytest.mark.parametrize("row_groups", [None, np.arange(60) // 4])
def test_labels_of_the_curve_are_as_wrong_as_its_figures_say(row_groups):
    dataset = noisy_table(row_groups=row_groups)

    model = trained(dataset)
    curve = model.curve

    share = float(dataset.weights @ (dataset.targets == 1))
    errors = [
        share * (1 - figures.sensitivity.value)
        + (1 - share) * (1 - figures.specificity.value)
        for figures in curve.predictive
    ]
    # The error where a session ends by itself is not that of the rows that chose it.
    parts = {knee.worthwhile for knee in model.ensemble.knees} - {0}
    is_part = np.isin(range(len(errors)), [*map(curve.budgets.index, parts)])
    given = np.array(curve.errors_calibrated)
    assert given[~is_part] == pytest.approx(np.array(errors)[~is_part])
    assert given[is_part] == pytest.approx(np.array(errors)[is_part], abs=0.05)
    assert curve.predictive[0].auroc.value == pytest.approx(0.5, abs=0.1)
    assert curve.predictive[-1].auroc.value > 0.7


def test_rows_of_other_folds_never_belong_together():
    part = ScoredRows(
        np.array([0, 1, 1]), np.ones(3) / 3, np.array([0, 0, 1]), np.ones((3, 1, 2))
    )
    curve = Curve((0,), (0.5,), (0.5,), (0.0,), (0,), n_samples=3)
    folds = [curve, replace(curve, n_samples=9)]

    joined = join_scored([part, part], folds)

    assert joined.group_idxs.tolist() == [0, 0, 1, 2, 2, 3]
    assert joined.weights == pytest.approx([1 / 12] * 3 + [1 / 4] * 3)


def test_budgets_are_where_the_plan_grows(ensemble):
    assert list_purchase_budgets(ensemble, 9) == (0, 1_000_000, 3_000_000, None)


def long_ensemble(costs):
    """A stump on each feature, in order."""
    features = tuple(Feature(f"f{idx}", cost=cost) for idx, cost in enumerate(costs))
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(len(costs))]
    return ensemble_of(stumps, Catalogue(features))


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ([3.5, 4.25], [0, 3.5, 7.75]),
        ([1.0] * 30, [0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20]),
        ([0.3] * 20, [0, 0.3, 0.6, 1, 1.5, 2, 3, 4, 5]),
        # From 3 to 700 nothing more is affordable.
        ([0.7] * 4 + [700] + [0.7] * 20, [0, 0.8, 1.5, 3]),
        ([10.0**exponent for exponent in range(-6, 9)], None),
    ],
)
def test_usual_budgets_are_round_unless_there_are_few(costs, expected):
    ensemble = long_ensemble([round(cost * UNIT) for cost in costs])

    *budgets, last = list_usual_budgets(ensemble)

    assert last is None
    assert len(budgets) < MAX_CURVE_POINTS
    assert budgets == sorted(set(budgets))
    assert expected is None or [budget / UNIT for budget in budgets] == expected


def test_budgets_are_thinned_evenly_between_both_ends(ensemble):
    catalogue = Catalogue(tuple(Feature(f"f{idx}") for idx in range(9)))
    stumps = tuple(Stump(idx, 0.5, (1,)) for idx in range(9))
    long = replace(ensemble, catalogue=catalogue, hypotheses=stumps, alphas=(1.0,) * 9)

    assert list_purchase_budgets(long, 5) == (0, 3 * UNIT, 6 * UNIT, 9 * UNIT, None)


@given(stump_ensembles())
def test_budgets_of_stumps_are_what_the_prefixes_cost(ensemble):
    read = [hypothesis.feature_idx for hypothesis in ensemble.hypotheses]
    lengths = range(len(read) + 1)
    spends = {buy(ensemble.catalogue, Paid(), read[:n])[0] for n in lengths}

    assert list_purchase_budgets(ensemble, 99) == (*sorted(spends), None)


@pytest.mark.parametrize("kind", [Product, tree_of])
def test_budgets_grow_with_each_feature_of_a_hypothesis(kind):
    stumps = tuple(Stump(idx, 0.5, (1,)) for idx in (1, 2, 0, 1))
    ensemble = ensemble_of([kind(stumps)], CATALOGUE)

    budgets = list_purchase_budgets(ensemble, 9)

    assert budgets == (0, 3 * UNIT, 6 * UNIT, 7 * UNIT, None)


@pytest.mark.usefixtures("short_pruning")
@pytest.mark.slow
def test_curve_of_a_tree_has_points_between_nothing_and_all():
    model = trained(noisy_table(), params=BoostParams("decision_tree"))

    assert len(model.curve.budgets) > 3
    assert len(set(model.curve.mean_spends)) > 2


def test_free_features_add_no_budget(ensemble):
    free = Catalogue((Feature("f0", cost=0), Feature("f1", cost=0)))

    assert list_purchase_budgets(replace(ensemble, catalogue=free), 9) == (0, None)


@pytest.mark.slow
def test_validation_can_be_stopped_and_tells_how_far_it_is(pulled):
    progress = [step for step in pulled[0] if step.tested is None]

    after_rounds = progress[4 * 6 :]
    # For two policies each fold is observed, and left out of two fits; then judged.
    assert len(after_rounds) >= 3 * (2 * 3 + 1)
    assert {(round.part, round.added) for round in after_rounds} == {(3, None)}
    shares = [share.share for share in progress]
    assert shares == sorted(shares)
    # Only its last step is 100 %.
    assert shares[4 * 6 - 1] == pytest.approx(1 - VALIDATION_SHARE)
    assert max(shares[:-1]) < shares[-1] == 1.0
    assert len(set(shares[4 * 6 :])) >= 3 * 3


def test_each_fold_is_tested_on_its_held_out_rows(pulled):
    tested = [step for step in pulled[0] if step.tested is not None]
    curves = [progress.tested for progress in tested]
    n_rows = noisy_table().n_samples
    assert [progress.part for progress in tested] == [0, 1, 2]
    assert sum(curve.n_samples for curve in curves) == n_rows
    assert len({curve.budgets for curve in curves}) == 1
    assert all(
        curve.errors_calibrated[-1] < curve.errors_calibrated[0] for curve in curves
    )
