"""Small estimators, and the texts of their refusals."""

from askless import BudgetedBoostingClassifier


def smoothed(**params):
    return without_folds("adaboost_bt_smoothed", **params)


def without_folds(algorithm="auto", **params):
    return BudgetedBoostingClassifier(algorithm, **{"folds": 0} | params)


def refusals_of(refused):
    return [str(refusal) for refusal in refused.value.refusals]
