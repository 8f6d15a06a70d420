"""What reads the answers bought so far: LightGBM, logistic regressions, calibrations.

A reading predicts from the features of some vendors; what is missing is missing there
too. Settings and calibration are those of least log-loss on rows held out of training.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import lightgbm
import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from askless.core.arrays import FloatArray, IntArray
from askless.core.table.dataset import Dataset

BASE = {
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
TreeSetting = tuple[int, float, int, int]
SETTINGS: tuple[TreeSetting, ...] = (
    (4, 0.1, 60, 5),
    (4, 0.1, 120, 20),
    (8, 0.05, 80, 20),
    (8, 0.05, 140, 20),
    (15, 0.05, 100, 30),
)
# Inverse strengths of the penalty.
STRENGTHS = (0.03, 0.3, 3.0)
N_FOLDS, LEAST_CHANCE = 5, 1e-6
TEMPERATURES = (0.2, 5.0)
Predict = Callable[[FloatArray], FloatArray]
Fit = Callable[[FloatArray, IntArray], Predict]


class Reading(NamedTuple):
    """Chances of each class, of training rows held out and of test rows."""

    held_out: FloatArray
    testing: FloatArray


def list_trees(
    training: Dataset,
    feature_idxs: IntArray,
    settings: Sequence[TreeSetting] = SETTINGS,
) -> list[Fit]:
    """Return LightGBM by setting."""
    features, n_classes = training.catalogue.features, len(training.classes)
    categories = [
        place
        for place, idx in enumerate(feature_idxs)
        if features[idx].type == "category"
    ]
    return [partial(fit_trees, setting, categories, n_classes) for setting in settings]


def list_logistics(
    training: Dataset, feature_idxs: IntArray, strengths: Sequence[float] = STRENGTHS
) -> list[Fit]:
    """Return logistic regressions by strength of their penalty."""
    features = training.catalogue.features
    n_values = [len(features[idx].categories) for idx in feature_idxs]
    return [partial(fit_logistic, strength, n_values) for strength in strengths]


def read_prior(training: Dataset, testing: Dataset) -> Reading:
    """Read nothing."""
    sizes = (training.n_samples, testing.n_samples)
    return Reading(*(np.tile(training.priors, (size, 1)) for size in sizes))


def fit_reading(
    training: Dataset,
    testing: Dataset,
    feature_idxs: IntArray,
    families: Sequence[Sequence[Fit]],
) -> Reading:
    """Read features by the best of some families, or by the mean of their best.

    Fits of each family, then the families, then calibrations are compared by held-out
    log-loss.
    """
    columns, targets = training.values[:, feature_idxs], training.targets
    on_test = testing.values[:, feature_idxs]
    readings = [fit_best(fits, columns, targets, on_test) for fits in families]
    if len(readings) > 1:
        parts = zip(*readings, strict=True)
        readings.append(Reading(*(np.mean(part, axis=0) for part in parts)))
    best = min(readings, key=lambda reading: log_loss(reading.held_out, targets))
    crossed = [predict_held_out(fit, best.held_out, targets) for fit in CALIBRATIONS]
    kept = int(np.argmin([log_loss(chances, targets) for chances in crossed]))
    calibrate = CALIBRATIONS[kept](best.held_out, targets)
    return Reading(crossed[kept], calibrate(best.testing))


def fit_best(
    fits: Sequence[Fit], columns: FloatArray, targets: IntArray, on_test: FloatArray
) -> Reading:
    """Return the chances by the fit of least held-out log-loss."""
    tried = [predict_held_out(fit, columns, targets) for fit in fits]
    best = int(np.argmin([log_loss(chances, targets) for chances in tried]))
    return Reading(tried[best], fits[best](columns, targets)(on_test))


def fit_trees(
    setting: TreeSetting,
    categories: list[int],
    n_classes: int,
    columns: FloatArray,
    targets: IntArray,
) -> Predict:
    leaves, rate, rounds, least_rows = setting
    params = {**BASE, "objective": "multiclass", "num_class": n_classes}
    params |= {"num_leaves": leaves, "learning_rate": rate}
    params["min_data_in_leaf"] = least_rows
    data = lightgbm.Dataset(
        columns, targets, params=params, categorical_feature=categories
    )
    booster = lightgbm.train(params, data, rounds)
    return lambda values: booster.predict(values, num_threads=1)


def fit_logistic(
    strength: float, n_values: list[int], columns: FloatArray, targets: IntArray
) -> Predict:
    """Fit to scaled numbers, a column for each category, and what is missing."""
    means, scales = np.nanmean(columns, axis=0), np.nanstd(columns, axis=0)
    scales[scales == 0.0] = 1.0

    def spread(values: FloatArray) -> FloatArray:
        parts = [np.isnan(values).astype(np.float64)]
        for place, size in enumerate(n_values):
            column = values[:, place]
            if size:
                parts.append((column[:, None] == np.arange(size)).astype(np.float64))
            else:
                scaled = (column - means[place]) / scales[place]
                parts.append(np.nan_to_num(scaled)[:, None])
        return np.hstack(parts)

    model = LogisticRegression(C=strength, max_iter=300, tol=1e-3)
    model.fit(spread(columns), targets)
    return lambda values: model.predict_proba(spread(values))


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


CALIBRATIONS: tuple[Fit, ...] = (fit_temperature, fit_isotonic)


def predict_held_out(fit: Fit, columns: FloatArray, targets: IntArray) -> FloatArray:
    """Predict each fold by what the others are fitted to."""
    chances = np.empty((targets.size, int(targets.max()) + 1))
    for fold in range(N_FOLDS):
        is_out = np.arange(targets.size) % N_FOLDS == fold
        chances[is_out] = fit(columns[~is_out], targets[~is_out])(columns[is_out])
    return chances


def log_loss(chances: FloatArray, targets: IntArray) -> float:
    own = chances[np.arange(targets.size), targets]
    return -float(np.log(np.maximum(own, LEAST_CHANCE)).mean())
