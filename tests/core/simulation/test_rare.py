"""Thresholds of a rare class: against scikit-learn, and blind to rows they judge."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score

from askless.core.model.figures import wilson_interval
from askless.core.model.measured import MeasuredErrors
from askless.core.model.model import Curve, Model, bind_errors
from askless.core.simulation.figures import (
    ScoredRows,
    choose_threshold,
    compute_figures,
    cross_fit_rare,
    find_rare_class,
)
from askless.core.training.params import BoostParams
from tests.core.simulation.test_figures import draw, ensemble_with, score
from tests.small import finish, table_of, train

RARE = replace(ensemble_with(2), priors=(0.94, 0.06))


def judge(rows: ScoredRows, ensemble=RARE, **thresholds):
    """The rare class's figures under the only budget."""
    (figures,) = compute_figures(ensemble, rows, **thresholds)
    return figures.rare


@pytest.mark.parametrize("seed", range(5))
def test_threshold_has_the_best_f1_of_all(seed):
    rows = draw(60, seed=seed)
    chances, is_rare = rows.chances[:, 0, 1], rows.targets == 1

    chosen = choose_threshold(chances, is_rare, rows.weights)

    def f1(threshold):
        return f1_score(is_rare, chances >= threshold, sample_weight=rows.weights)

    assert f1(chosen) == pytest.approx(max(map(f1, chances)))
    assert chosen not in chances


@pytest.mark.parametrize(
    ("chances", "is_rare", "threshold"),
    [
        ([0.2, 0.2, 0.2], [0, 1, 0], 0.0),
        ([0.1, 0.4, 0.8], [0, 0, 1], 0.6),
        # Two thresholds are as good: the lower one is chosen.
        ([0.1, 0.3, 0.5, 0.9], [1, 0, 0, 1], 0.0),
        ([0.2, 0.4], [0, 0], 1.0),
    ],
)
def test_threshold_lies_between_chances_or_takes_all_rows_or_none(
    chances, is_rare, threshold
):
    weights = np.full(len(chances), 1.0 / len(chances))

    chosen = choose_threshold(np.array(chances), np.array(is_rare, bool), weights)

    assert chosen == pytest.approx(threshold)


def test_precision_and_recall_are_those_of_scikit_learn_with_wilsons_intervals():
    rows = draw(200, seed=3)
    is_rare, located = rows.targets == 1, rows.chances[:, 0, 1] >= 0.7

    rare = judge(rows, rare_thresholds=(0.7,))

    options = {"sample_weight": rows.weights}
    precision = precision_score(is_rare, located, **options)
    assert rare.threshold == 0.7
    assert rare.precision.value == pytest.approx(precision)
    assert rare.recall.value == pytest.approx(recall_score(is_rare, located, **options))
    weights = rows.weights[located]
    size = weights.sum() ** 2 / (weights**2).sum()
    assert rare.precision.interval == pytest.approx(wilson_interval(precision, size))


def test_without_a_row_located_or_of_the_class_there_is_no_share():
    rows = score([1, 0], [0.2, 0.1])

    assert judge(rows, rare_thresholds=(0.9,)).precision is None
    assert judge(rows, rare_thresholds=(0.9,)).recall.value == 0.0
    assert judge(score([0, 0], [0.2, 0.1]), rare_thresholds=(0.0,)).recall is None


def test_named_threshold_goes_before_that_of_the_curve():
    rows = draw(50)

    assert judge(rows, threshold=0.5, rare_thresholds=(0.9,)).threshold == 0.5
    # It is one of the second class, and says nothing of a rare first one.
    first = replace(RARE, priors=(0.06, 0.94))
    assert judge(rows, first, threshold=0.5, rare_thresholds=(0.9,)) is None
    assert judge(rows, first, rare_thresholds=(0.9,)).threshold == 0.9


@pytest.mark.parametrize(
    ("ensemble", "rare_idx"),
    [
        (RARE, 1),
        (replace(RARE, priors=(0.06, 0.94)), 0),
        (replace(RARE, priors=(0.9, 0.1)), None),
        (replace(RARE, error_costs=((0.0, 1.0), (9.0, 0.0))), None),
        (replace(ensemble_with(3), priors=(0.5, 0.48, 0.02)), None),
    ],
)
def test_class_of_two_is_rare_below_a_tenth_unless_errors_have_costs(
    ensemble, rare_idx
):
    assert find_rare_class(ensemble) == rare_idx


def test_rows_of_a_fold_are_judged_by_the_threshold_of_the_others():
    """Own thresholds would be perfect in both folds; those of the others are not."""
    rows = score([0, 1, 0, 1], [0.1, 0.3, 0.5, 0.9])
    fold_idxs = np.array([0, 0, 1, 1])

    (rare,) = cross_fit_rare(RARE, rows, fold_idxs)

    # The first fold is judged from 0.7 on, the second from 0.2 on.
    assert rare.recall.value == 0.5
    assert rare.precision.value == 0.5
    assert rare.threshold == choose_threshold(
        rows.chances[:, 0, 1], rows.targets == 1, rows.weights
    )
    assert cross_fit_rare(ensemble_with(2), rows, fold_idxs) == (None,)


def test_ensemble_is_bound_to_the_thresholds_of_its_curve():
    rows, folds = draw(40), np.arange(40) % 2
    (figures,), (rare,) = compute_figures(RARE, rows), cross_fit_rare(RARE, rows, folds)
    measured = (figures, replace(figures, rare=rare))
    curve = Curve(
        *((0, None), (0.5, 0.2), (0.4, 0.1), (0.0, 3.0), (0, 3), 10),
        predictive=(measured[1],) * 2,
    )

    def bind(**changes):
        model = Model("m", RARE, curve=replace(curve, **changes))
        return bind_errors(model).ensemble.measured

    assert bind().threshold_at(7) == bind().threshold_at(None) == rare.threshold
    assert bind(predictive=measured).threshold_at(7) is None
    assert bind(predictive=None).threshold_at(None) is None


def test_threshold_under_a_budget_is_that_of_the_largest_within():
    measured = MeasuredErrors((0, 10, None), (0.5, 0.4, 0.3), (0.1, 0.2, 0.3))

    budgets = (0, 9, 10, 11, None)
    assert [measured.threshold_at(budget) for budget in budgets] == [
        *(0.1, 0.1, 0.2, 0.2, 0.3)
    ]


@pytest.mark.parametrize(("share", "is_rare"), [(0.06, True), (0.4, False)])
def test_training_has_thresholds_where_a_class_is_rare(share, is_rare):
    rng = np.random.default_rng(0)
    targets = (rng.random(400) < share).astype(np.int64)
    dataset = table_of(rng.normal(size=(2, 400)) + 2.0 * targets, targets)

    model = finish(train(dataset, BoostParams(rounds=8), folds=3))

    assert [figure.rare is not None for figure in model.curve.predictive] == [
        is_rare
    ] * len(model.curve.budgets)
    if is_rare:
        first, *_, last = (figure.rare for figure in model.curve.predictive)
        assert last.recall.value > 0.5 > first.precision.value
