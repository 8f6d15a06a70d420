"""scikit-learn's own checks of an estimator, for each way to grow an ensemble."""

import warnings

import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import estimator_checks_generator

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


# One estimator runs all checks: most are about what is done before anything is grown.
PLAIN = [make("adaboost_bt_smoothed")]
# The other estimators, and fitted probabilities, run only the checks whose result
# depends on what is grown.
FITTED = [make(name, **SETTINGS[name]) for name in ("adaboost_bt_smoothed", "panels")]
REST = [
    *(
        make(name, **SETTINGS.get(name, {}))
        for name in ALGORITHMS
        if name not in ALIKE | {"adaboost_bt_smoothed", "panels"}
    ),
    *(make("adaboost_bt_smoothed", **settings) for settings in OTHERS),
]
# A stump has no constant: it says the lighter class of some rows, whatever the weights.
ON_CLASS_WEIGHTS = "check_class_weight_classifiers"
ON_WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
ON_GROWN = {
    "check_classifiers_classes",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_train",
    "check_dict_unchanged",
    "check_estimators_pickle",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    ON_WEIGHTS,
    ON_CLASS_WEIGHTS,
}


def counts_rows(estimator):
    """Whether a row that counts twice is the same as two rows: none is drawn."""
    drawn = (*BASELINES, "cascade", "auto", "panels", "online")
    return estimator.algorithm not in drawn and not estimator.folds


def checks_of(estimators, names=None):
    """Return pytest's parameters for scikit-learn's checks: all, or each of some names.

    Checks that come in several kinds of arrays are run on the first.
    """
    parameters = {}
    for estimator in estimators:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SkipTestWarning)
            pairs = list(estimator_checks_generator(estimator, legacy=True))
        for number, (_, check) in enumerate(pairs):
            name = check.func.__name__
            if name == ON_WEIGHTS and not counts_rows(estimator):
                continue
            if name == ON_CLASS_WEIGHTS and estimator.algorithm != "panels":
                continue
            if names is None:
                parameters[estimator, name, number] = check
            elif name in names:
                parameters.setdefault((estimator, name, 0), check)
    return [
        pytest.param(estimator, check, id=f"{estimator.algorithm}-{name}")
        for (estimator, name, _), check in parameters.items()
    ]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.usefixtures("short_panels", "short_calibrations")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "check"), [*checks_of(PLAIN), *checks_of(FITTED, ON_GROWN)]
)
def test_scikit_learn_conventions_hold(estimator, check):
    check(estimator)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.usefixtures("short_panels", "short_calibrations")
@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "check"), checks_of(REST, ON_GROWN))
def test_scikit_learn_conventions_hold_whatever_is_grown(estimator, check):
    check(estimator)
