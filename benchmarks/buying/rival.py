"""Cheapest first, with calibrated stopping: LightGBM on what is bought so far.

One LightGBM for each number of vendors bought, the cheapest first; what is missing is
missing there too. Setting and calibration of each are those of least log-loss on rows
held out of training. A case buys on until its most probable class passes a threshold.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import lightgbm
import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.isotonic import IsotonicRegression

from askless.core.arrays import FloatArray, IntArray
from askless.core.table.dataset import Dataset
from benchmarks.buying.cases import CLASSES, PRICES, VENDOR_OF

BASE = {
    "objective": "multiclass",
    "num_class": len(CLASSES),
    "verbosity": -1,
    "num_threads": 1,
    "seed": 11,
    "deterministic": True,
    "force_col_wise": True,
    "cat_smooth": 1,
    "cat_l2": 1,
    "min_data_per_group": 5,
}
# Leaves, learning rate, rounds, least rows of a leaf.
SETTINGS = (
    (4, 0.1, 60, 5),
    (4, 0.1, 120, 20),
    (8, 0.05, 80, 20),
    (8, 0.05, 140, 20),
    (15, 0.05, 100, 30),
)
N_FOLDS, LEAST_CHANCE = 5, 1e-6
TEMPERATURES = (0.2, 5.0)
N_THRESHOLDS = 200
Predict = Callable[[FloatArray], FloatArray]


class Stopper(NamedTuple):
    """Chances of each class by number of vendors bought; (n_vendors + 1, n_rows, K)."""

    held_out: FloatArray
    testing: FloatArray


def fit_stopper(training: Dataset, testing: Dataset) -> Stopper:
    """Fit each number of vendors, the cheapest first."""
    shares = np.tile(training.priors, (training.n_samples, 1))
    pairs = [(shares, np.tile(training.priors, (testing.n_samples, 1)))]
    for last in range(PRICES.size):
        feature_idxs = np.flatnonzero(np.less_equal(VENDOR_OF, last))
        pairs.append(fit_prefix(training, testing, feature_idxs))
    held_out, on_test = zip(*pairs, strict=True)
    return Stopper(np.array(held_out), np.array(on_test))


def fit_prefix(
    training: Dataset, testing: Dataset, feature_idxs: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return calibrated chances of held-out training rows and of test rows."""
    columns, targets = training.values[:, feature_idxs], training.targets
    features = training.catalogue.features
    categories = [
        place
        for place, idx in enumerate(feature_idxs)
        if features[idx].type == "category"
    ]
    fits = [partial(fit_trees, setting, categories) for setting in SETTINGS]
    tried = [predict_held_out(fit, columns, targets) for fit in fits]
    best = int(np.argmin([log_loss(chances, targets) for chances in tried]))
    predict = fits[best](columns, targets)
    on_test = predict(testing.values[:, feature_idxs])
    crossed = [predict_held_out(fit, tried[best], targets) for fit in CALIBRATIONS]
    kept = int(np.argmin([log_loss(chances, targets) for chances in crossed]))
    calibrate = CALIBRATIONS[kept](tried[best], targets)
    return crossed[kept], calibrate(on_test)


def fit_trees(
    setting: tuple[int, float, int, int],
    categories: list[int],
    columns: FloatArray,
    targets: IntArray,
) -> Predict:
    leaves, rate, rounds, least_rows = setting
    params = {**BASE, "num_leaves": leaves, "learning_rate": rate}
    params["min_data_in_leaf"] = least_rows
    data = lightgbm.Dataset(
        columns, targets, params=params, categorical_feature=categories
    )
    booster = lightgbm.train(params, data, rounds)
    return lambda values: booster.predict(values, num_threads=1)


def fit_temperature(chances: FloatArray, targets: IntArray) -> Predict:
    """Scale log chances by one number."""

    def scale(temperature: float, given: FloatArray) -> FloatArray:
        powers = np.maximum(given, LEAST_CHANCE) ** (1.0 / temperature)
        return powers / powers.sum(axis=1, keepdims=True)

    def loss(temperature: float) -> float:
        return log_loss(scale(temperature, chances), targets)

    best = minimize_scalar(loss, bounds=TEMPERATURES, method="bounded").x
    return partial(scale, best)


def fit_isotonic(chances: FloatArray, targets: IntArray) -> Predict:
    """Fit an isotonic regression for each class, and scale their sum to 1."""
    fitted = [
        IsotonicRegression(y_min=0.001, out_of_bounds="clip").fit(
            column, targets == label
        )
        for label, column in enumerate(chances.T)
    ]

    def predict(given: FloatArray) -> FloatArray:
        shares = np.column_stack(
            [
                curve.predict(column)
                for curve, column in zip(fitted, given.T, strict=True)
            ]
        )
        return shares / shares.sum(axis=1, keepdims=True)

    return predict


CALIBRATIONS = (fit_temperature, fit_isotonic)


def predict_held_out(
    fit: Callable[[FloatArray, IntArray], Predict],
    columns: FloatArray,
    targets: IntArray,
) -> FloatArray:
    """Predict each fold by what the others are fitted to."""
    chances = np.empty((targets.size, len(CLASSES)))
    for fold in range(N_FOLDS):
        is_out = np.arange(targets.size) % N_FOLDS == fold
        chances[is_out] = fit(columns[~is_out], targets[~is_out])(columns[is_out])
    return chances


def log_loss(chances: FloatArray, targets: IntArray) -> float:
    own = chances[np.arange(targets.size), targets]
    return -float(np.log(np.maximum(own, LEAST_CHANCE)).mean())


def list_thresholds(held_out: FloatArray) -> FloatArray:
    """Return quantiles of the confidences of held-out rows, and one above them."""
    confidences = held_out.max(axis=2)
    levels = np.quantile(confidences, np.linspace(0.0, 1.0, N_THRESHOLDS))
    return np.append(levels, 1.01)


def follow(
    chances: FloatArray, targets: IntArray, thresholds: FloatArray, most: int
) -> tuple[FloatArray, FloatArray]:
    """Return mean spend and error by threshold, `most` vendors bought at most."""
    paid = np.concatenate(([0.0], np.cumsum(PRICES)))
    confidences, labels = chances.max(axis=2)[: most + 1], chances.argmax(axis=2)
    spends, errors = np.empty((2, thresholds.size))
    for place, threshold in enumerate(thresholds):
        passes = confidences >= threshold
        passes[-1] = True
        n_bought = passes.argmax(axis=0)
        spends[place] = paid[n_bought].mean()
        errors[place] = (labels[n_bought, np.arange(targets.size)] != targets).mean()
    return spends, errors


def choose_most(stopper: Stopper, targets: IntArray, spend: float) -> int:
    """Return the number of vendors at most of least held-out error at a mean spend."""
    thresholds = list_thresholds(stopper.held_out)
    errors = []
    for most in range(1, PRICES.size + 1):
        spends, wrong = follow(stopper.held_out, targets, thresholds, most)
        can_spend = spends.max() >= spend
        errors.append(at_spend(spends, wrong, spend) if can_spend else np.inf)
    return 1 + int(np.argmin(errors))


def at_spend(spends: FloatArray, errors: FloatArray, spend: float) -> float:
    """Return the error at a mean spend, interpolated between its neighbours."""
    order = np.argsort(spends, kind="stable")
    return float(np.interp(spend, spends[order], errors[order]))
