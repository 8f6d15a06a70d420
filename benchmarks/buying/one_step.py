"""Value of information, one step ahead.

One LightGBM, fitted to training rows with vendors hidden at random, predicts from any
answers. For each vendor another predicts by how much its answer would raise the chance
of the most probable class: the expected errors that it saves. A case buys the vendor of
the largest gain for its price, and is the readier the smaller the largest gain is.
"""

from typing import NamedTuple

import lightgbm
import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.table.dataset import Dataset
from benchmarks.buying.market import Market
from benchmarks.buying.readings import (
    BASE,
    Predict,
    TreeSetting,
    fit_trees,
    log_loss,
)
from benchmarks.buying.rival import Stopper
from benchmarks.buying.walks import Walk

N_MASKS, N_FOLDS = 8, 3
# Of the rows as they are masked: there are N_MASKS of each.
SETTINGS: tuple[TreeSetting, ...] = (
    (4, 0.1, 120, 20),
    (8, 0.05, 140, 20),
    (15, 0.05, 140, 40),
)
GAINS = {**BASE, "objective": "regression", "num_leaves": 8, "learning_rate": 0.1}
N_GAIN_ROUNDS, LEAST_GAIN = 60, 1e-9


class Masked(NamedTuple):
    """Rows of which some vendors are bought."""

    values: FloatArray
    is_bought: BoolArray
    targets: IntArray
    folds: IntArray


class Buyer(NamedTuple):
    """What predicts the class, and the gain of each vendor."""

    market: Market
    predict: Predict
    gains: list[lightgbm.Booster]

    def walk(self, values: FloatArray) -> Walk:
        """Buy everything, vendor after vendor, noting how ready each case was."""
        n_rows, prices = len(values), self.market.prices
        is_bought = np.zeros((n_rows, prices.size), bool)
        spends, labels, readiness = [], [], []
        for _ in range(prices.size + 1):
            columns = show(self.market, values, is_bought)
            gains = np.column_stack(
                [gain.predict(columns, num_threads=1) for gain in self.gains]
            )
            rates = np.where(is_bought, -np.inf, np.maximum(gains, 0.0) / prices)
            best = rates.argmax(axis=1)
            spends.append(is_bought @ prices)
            labels.append(self.predict(columns).argmax(axis=1))
            readiness.append(-np.log(np.maximum(rates.max(axis=1), LEAST_GAIN)))
            is_bought[np.arange(n_rows), best] = True
        return Walk(np.array(spends), np.array(labels), np.array(readiness))


def fit_stopper(
    market: Market, training: Dataset, testing: Dataset, seed: int
) -> Stopper:
    """Fit on all rows, and without each fold to walk it."""
    random = np.random.default_rng([seed, 1])
    masked = mask(market, training, random)
    folds = np.arange(training.n_samples) % N_FOLDS
    setting, predicts = choose_setting(market, training, masked)
    gained = list_gains(market, masked, predicts)
    parts = []
    for fold, predict in enumerate(predicts):
        is_in = masked.folds != fold
        gains = fit_gains(market, masked, gained, is_in)
        parts.append(Buyer(market, predict, gains).walk(training.values[folds == fold]))
    order = np.argsort(np.argsort(folds, kind="stable"), kind="stable")
    walked = zip(*parts, strict=True)
    held_out = Walk(*(np.hstack(part)[:, order] for part in walked))
    everywhere = np.ones(masked.targets.size, bool)
    whole = Buyer(
        market,
        fit_predictor(market, training, masked, everywhere, setting),
        fit_gains(market, masked, gained, everywhere),
    )
    return Stopper(held_out, whole.walk(testing.values))


def mask(market: Market, training: Dataset, random: np.random.Generator) -> Masked:
    """Return each row some times, with any number of vendors bought."""
    n_vendors, n_rows = market.prices.size, training.n_samples
    rows = np.tile(np.arange(n_rows), N_MASKS)
    ranks = random.random((rows.size, n_vendors)).argsort(axis=1).argsort(axis=1)
    counts = random.integers(0, n_vendors + 1, rows.size)
    return Masked(
        training.values[rows],
        ranks < counts[:, None],
        training.targets[rows],
        rows % N_FOLDS,
    )


def show(market: Market, values: FloatArray, is_bought: BoolArray) -> FloatArray:
    """Return what is known, and of each vendor: not bought, empty or answered."""
    known = np.where(is_bought[:, market.vendor_of], values, np.nan)
    firsts = np.searchsorted(market.vendor_of, np.arange(market.prices.size))
    states = is_bought.astype(np.float64) + ~np.isnan(known[:, firsts])
    return np.hstack([known, states])


def fit_predictor(
    market: Market,
    training: Dataset,
    masked: Masked,
    is_in: BoolArray,
    setting: TreeSetting,
) -> Predict:
    types = [feature.type for feature in training.catalogue.features]
    categories = [idx for idx, type_ in enumerate(types) if type_ == "category"]
    columns = show(market, masked.values[is_in], masked.is_bought[is_in])
    n_classes = len(training.classes)
    return fit_trees(setting, categories, n_classes, columns, masked.targets[is_in])


def choose_setting(
    market: Market, training: Dataset, masked: Masked
) -> tuple[TreeSetting, list[Predict]]:
    """Return the setting of least held-out log-loss, and what it fits by fold."""
    tried = []
    for setting in SETTINGS:
        predicts, losses = [], []
        for fold in range(N_FOLDS):
            is_out = masked.folds == fold
            predict = fit_predictor(market, training, masked, ~is_out, setting)
            columns = show(market, masked.values[is_out], masked.is_bought[is_out])
            losses.append(log_loss(predict(columns), masked.targets[is_out]))
            predicts.append(predict)
        tried.append((float(np.mean(losses)), setting, predicts))
    _, setting, predicts = min(tried, key=lambda fitted: fitted[0])
    return setting, predicts


def list_gains(market: Market, masked: Masked, predicts: list[Predict]) -> FloatArray:
    """Return by how much each vendor raises the largest chance; (n_rows, n_vendors).

    Chances of a row are by what was fitted without its fold.
    """
    gained = np.empty(masked.is_bought.shape)
    for fold, predict in enumerate(predicts):
        is_out = masked.folds == fold
        values, is_bought = masked.values[is_out], masked.is_bought[is_out]
        before = predict(show(market, values, is_bought)).max(axis=1)
        for vendor in range(market.prices.size):
            with_it = is_bought.copy()
            with_it[:, vendor] = True
            after = predict(show(market, values, with_it)).max(axis=1)
            gained[is_out, vendor] = after - before
    return gained


def fit_gains(
    market: Market, masked: Masked, gained: FloatArray, is_in: BoolArray
) -> list[lightgbm.Booster]:
    """Fit the gain of each vendor to the rows that have not bought it."""
    fitted = []
    for vendor in range(market.prices.size):
        rows = is_in & ~masked.is_bought[:, vendor]
        columns = show(market, masked.values[rows], masked.is_bought[rows])
        params = {**GAINS, "min_data_in_leaf": 40}
        data = lightgbm.Dataset(columns, gained[rows, vendor], params=params)
        fitted.append(lightgbm.train(params, data, N_GAIN_ROUNDS))
    return fitted
