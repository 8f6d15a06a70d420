"""scikit-learn's own checks of an estimator, for each way to grow an ensemble."""

import warnings

import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from askless import BudgetedBoostingClassifier
from askless.core.training.algorithms import ALGORITHMS
from askless.core.training.baselines import BASELINES
from askless.core.training.rules import RULES

# Rules differ in how they weigh rows alone, and bags in how they draw them.
GROWN = {"adaboost_bt_smoothed", "adaboost_rs", "decision_tree", "random_forest"}
ALIKE = {*RULES, *BASELINES} - GROWN
# What an algorithm needs to be quick, and to meet its rates on any table.
SETTINGS = {
    "auto": {"effort": "fast"},
    "panels": {"effort": "fast"},
    "adaboost_bt_smoothed": {"folds": 2},
    "cascade": {"false_alarm": 1.0, "detection": 0.9, "stages": 1, "learner": "tree"},
    # So many trees that no vote ties here: a tie goes to the class of the larger prior,
    # as in the service, while scikit-learn wants the first class.
    "random_forest": {"rounds": 7},
}
OTHERS = [
    {"learner": "tree", "leaves": 3},
    {"learner": "product", "factors": 2},
    {"search": "ucb", "search_size": 1},
]


def make(algorithm, **settings):
    plain = {"rounds": 5, "folds": 0, "random_state": 0}
    return BudgetedBoostingClassifier(algorithm, **plain | settings)


# Of level quick; what learners and searches add is of level full.
PLAIN = [
    make(name, **SETTINGS.get(name, {})) for name in ("adaboost_bt_smoothed", "panels")
]
REST = [
    *(
        make(name, **SETTINGS.get(name, {}))
        for name in ALGORITHMS
        if name not in ALIKE | {"adaboost_bt_smoothed", "panels"}
    ),
    *(make("adaboost_bt_smoothed", **settings) for settings in OTHERS),
]


def expected_failures(estimator):
    """Where a row that counts twice is not the same as two rows: drawn or held out."""
    drawn = (*BASELINES, "cascade", "auto", "panels", "online")
    if estimator.algorithm in drawn or estimator.folds:
        reason = "rows are drawn, held out or learnt one by one"
        return {"check_sample_weight_equivalence_on_dense_data": reason}
    return {}


with warnings.catch_warnings():
    warnings.simplefilter("ignore", SkipTestWarning)
    plain, rest = (
        parametrize_with_checks(estimators, expected_failed_checks=expected_failures)
        for estimators in (PLAIN, REST)
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.usefixtures("short_panels")
@pytest.mark.slow
@plain
def test_scikit_learn_conventions_hold(estimator, check):
    check(estimator)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.usefixtures("short_panels")
@pytest.mark.slow
@rest
def test_scikit_learn_conventions_hold_whatever_is_grown(estimator, check):
    check(estimator)
