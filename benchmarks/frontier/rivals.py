"""LightGBM and logistic regression on sets of features that a budget can pay.

Nothing here sees a test row before it predicts. A category is a column for each of its
values, but for CEGB, whose penalties are of columns, its code.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

import lightgbm
import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.prices import add_paid
from askless.core.panels.purchases import NOTHING, Shop
from askless.core.table.dataset import Dataset
from benchmarks.data import MICROS
from benchmarks.frontier.draws import N_TRAIN, Draw
from benchmarks.frontier.measures import LEAST_CHANCE, Method, measure

BASE = {
    "objective": "binary",
    "verbosity": -1,
    "num_threads": 1,
    "seed": 11,
    "deterministic": True,
    "force_col_wise": True,
    "min_data_in_leaf": 5,
    "min_data_in_bin": 1,
}
# Leaves, learning rate and rounds; held-out rows of training choose one.
SETTINGS = ((4, 0.1, 60), (4, 0.1, 130), (8, 0.08, 100), (15, 0.05, 150))
QUICK = SETTINGS[0]
N_FOLDS = 4

# Forward selection looks at the best of the rest only, by the gain of one split.
N_LOOKED_AT, N_BINS, RIDGE = 12, 12, 3.0
STRENGTHS = np.geomspace(0.002, 3.0, 12)
PENALTIES = np.geomspace(0.003, 3.0, 4)

# Price counts with this power; steps that may raise the loss.
POWERS, PATIENCE = (1.0, 0.0), 3

Set = tuple[int, ...]
Predict = Callable[[FloatArray], FloatArray]
Fit = Callable[[FloatArray, IntArray], Predict]
Judge = Callable[[Set], tuple[float, FloatArray]]


class Purse(NamedTuple):
    """What may be spent, and the power of prices that gains are divided by."""

    budget: int
    power: float


def lay(dataset: Dataset, feature_idxs: Set) -> FloatArray:
    """Return the columns of some features, of a category one for each value."""
    columns = []
    for idx in feature_idxs:
        feature, column = dataset.catalogue.features[idx], dataset.values[:, idx]
        codes = range(len(feature.categories))
        is_wide = feature.type == "category" and len(codes) > 2
        columns += [column == code for code in codes] if is_wide else [column]
    return np.column_stack(columns).astype(np.float64)


def fit_trees(
    setting: tuple[int, float, int], columns: FloatArray, targets: IntArray
) -> Predict:
    leaves, rate, rounds = setting
    params = {**BASE, "num_leaves": leaves, "learning_rate": rate}
    data = lightgbm.Dataset(columns, targets, params=params)
    booster = lightgbm.train(params, data, rounds)
    return lambda values: booster.predict(values, num_threads=1)


def tune(columns: FloatArray, targets: IntArray) -> Fit:
    """Choose the setting of LightGBM of least log-loss on held-out rows of training."""
    fits = [partial(fit_trees, setting) for setting in SETTINGS]
    losses = [find_loss(fit, columns, targets) for fit in fits]
    return fits[int(np.argmin(losses))]


def fit_logistic(columns: FloatArray, targets: IntArray) -> Predict:
    """Fit a ridge logistic regression, its penalty chosen on held-out rows."""
    regression = LogisticRegressionCV(
        Cs=PENALTIES,
        cv=N_FOLDS,
        scoring="neg_log_loss",
        l1_ratios=(0.0,),
        use_legacy_attributes=False,
    )
    fitted = make_pipeline(StandardScaler(), regression).fit(columns, targets)
    return lambda values: fitted.predict_proba(values)[:, 1]


def predict_held_out(
    fit: Fit, columns: FloatArray, targets: IntArray, n_folds: int = N_FOLDS
) -> FloatArray:
    """Predict each fold by what the others are fitted to."""
    chances = np.empty(targets.size)
    for fold in range(n_folds):
        is_out = np.arange(targets.size) % n_folds == fold
        chances[is_out] = fit(columns[~is_out], targets[~is_out])(columns[is_out])
    return np.clip(chances, LEAST_CHANCE, 1 - LEAST_CHANCE)


def find_log_loss(chances: FloatArray, targets: IntArray) -> float:
    return -float(np.log(np.where(targets == 1, chances, 1 - chances)).mean())


def find_loss(fit: Fit, columns: FloatArray, targets: IntArray) -> float:
    return find_log_loss(predict_held_out(fit, columns, targets), targets)


def refit(drawn: Draw, sets: Sequence[Set], fit: Fit | None = None) -> Method:
    """Measure what is fitted anew to the set of each budget; by default LightGBM."""
    chances = predict_sets(drawn, sets, fit or tune_to(drawn, sets))
    shop = make_shop(drawn.training)
    return settle(drawn, chances, [shop.price(members) for members in sets])


def tune_to(drawn: Draw, sets: Sequence[Set]) -> Fit | None:
    """Tune LightGBM once on the training rows, for the set in the middle, if any."""
    filled = [members for members in sets if members]
    if not filled:
        return None
    training = drawn.training
    return tune(lay(training, filled[len(filled) // 2]), training.targets)


def predict_sets(drawn: Draw, sets: Sequence[Set], fit: Fit | None) -> FloatArray:
    """Fit anew to each set and predict the test rows; (n_rows, n_sets)."""
    training, testing = drawn.training, drawn.testing
    shares = np.full(testing.n_samples, training.targets.mean())
    known: dict[Set, FloatArray] = {(): shares}
    for members in sets:
        if members not in known:
            assert fit is not None, "tuned on a set that isn't empty"
            predict = fit(lay(training, members), training.targets)
            known[members] = predict(lay(testing, members))
    return np.column_stack([known[members] for members in sets])


def settle(drawn: Draw, chances: FloatArray, amounts: Sequence[int]) -> Method:
    """Measure predictions that cost the same for every row."""
    targets = drawn.testing.targets
    spent = np.tile(np.array(amounts), (targets.size, 1))
    return measure(chances, targets, spent, drawn.budgets)


def make_shop(dataset: Dataset) -> Shop:
    """Return all that can be bought."""
    return Shop(dataset.catalogue, np.ones(len(dataset.catalogue.features), np.bool_))


def find_prefixes(drawn: Draw, order: Sequence[int]) -> list[Set]:
    """Buy in order until something doesn't fit, for each budget."""
    shop, steps = make_shop(drawn.training), find_steps(drawn, order)
    prices = np.array([shop.price(step) for step in steps])
    places = np.searchsorted(prices, drawn.budgets, side="right") - 1
    return [steps[place] for place in places.tolist()]


def find_steps(drawn: Draw, order: Sequence[int]) -> list[Set]:
    """Buy in order what the largest budget pays; what is had after each purchase.

    Bundles are bought whole.
    """
    shop = make_shop(drawn.training)
    offers = list(dict.fromkeys(shop.offers[shop.offer_of[idx]] for idx in order))
    steps = [tuple(chain.from_iterable(offers[:n])) for n in range(len(offers) + 1)]
    return [step for step in steps if shop.price(step) <= drawn.budgets[-1]]


def find_random(drawn: Draw) -> list[Set]:
    """Buy in an order that is drawn."""
    n_features = len(drawn.training.catalogue.features)
    order = np.random.default_rng(drawn.training.n_samples).permutation(n_features)
    return find_prefixes(drawn, order.tolist())


def make_judge(training: Dataset) -> Judge:
    """Return what judges a set; what several searches look at is judged once."""
    tried: dict[Set, tuple[float, FloatArray]] = {}

    def judge(one: Set) -> tuple[float, FloatArray]:
        key = tuple(sorted(one))
        if key not in tried:
            tried[key] = judge_set(training, key)
        return tried[key]

    return judge


def find_forward(drawn: Draw) -> list[Set]:
    """Select features for each budget by held-out log-loss, per price or not.

    Of the two ways the one of less loss.
    """
    shop, training = make_shop(drawn.training), drawn.training
    judge, sets = make_judge(training), []
    for budget in drawn.budgets:
        purses = [Purse(budget, power) for power in POWERS]
        found = [select(shop, purse, training, judge) for purse in purses]
        sets.append(min(found, key=lambda one: judge(one)[0]))
    return sets


def select(shop: Shop, purse: Purse, training: Dataset, judge: Judge) -> Set:
    """Add what gains most log-loss per price, until nothing has for some steps."""
    taken: Set = ()
    steps: list[Set] = [()]
    while len(steps) - find_least(steps, judge) <= PATIENCE:
        loss, chances = judge(taken)
        paid = add_paid(shop.catalogue, NOTHING, taken)
        gains = find_gains(training, chances)
        costs = np.maximum(shop.catalogue.costs, 1).astype(np.float64)
        offers = {
            starter: max(shop.price(starter, paid), 1) ** purse.power
            for starter in shop.list_starters(paid, gains, costs)
            if shop.price((*taken, *starter)) <= purse.budget
        }
        if not offers:
            break
        by_split = sorted(offers, key=lambda one: -gains[list(one)].sum() / offers[one])
        falls = {
            offer: loss - judge((*taken, *offer))[0] for offer in by_split[:N_LOOKED_AT]
        }
        # What raises the loss is least bad whatever it costs.
        best = max(falls, key=lambda one: falls[one] / offers[one])
        if falls[best] < 0:
            best = max(falls, key=falls.__getitem__)
        taken = (*taken, *best)
        steps.append(taken)
    return steps[find_least(steps, judge)]


def find_least(steps: Sequence[Set], judge: Judge) -> int:
    return int(np.argmin([judge(step)[0] for step in steps]))


def judge_set(training: Dataset, one: Set) -> tuple[float, FloatArray]:
    """Return the log-loss of held-out rows, and their chances."""
    targets = training.targets
    chances = np.full(targets.size, targets.mean())
    if one:
        chances = predict_held_out(
            partial(fit_trees, QUICK), lay(training, one), targets
        )
    return find_log_loss(chances, targets), chances


def find_gains(training: Dataset, chances: FloatArray) -> FloatArray:
    """Gain of the best single split of each feature on what is left; (n_features,)."""
    steps, curvatures = training.targets - chances, chances * (1 - chances)
    gains = np.zeros(training.values.shape[1])
    for idx, column in enumerate(training.values.T):
        edges = np.unique(np.quantile(column, np.linspace(0, 1, N_BINS + 1)[1:-1]))
        is_above = column[:, None] >= edges
        for is_side in (is_above, ~is_above):
            gains_here = (steps @ is_side) ** 2 / (curvatures @ is_side + RIDGE)
            gains[idx] += gains_here.max()
    return gains


def play_cegb(drawn: Draw) -> Method:
    """LightGBM with penalties for new features: the dearest model that a budget pays.

    A member of a group is penalised by its share of the fee, of a bundle of its price.
    """
    training, catalogue = drawn.training, drawn.training.catalogue
    shop, sizes = make_shop(training), np.bincount(catalogue.group_idxs + 1)[1:]
    shares = np.append(catalogue.fees / np.maximum(sizes, 1), 0)
    prices = (catalogue.costs + shares[catalogue.group_idxs]) / MICROS
    data = lightgbm.Dataset(training.values, training.targets, params=BASE)
    models = [(0, np.full(drawn.testing.n_samples, training.targets.mean()))]
    for strength in STRENGTHS * training.n_samples / N_TRAIN:
        leaves, rate, rounds = SETTINGS[1]
        params = {**BASE, "num_leaves": leaves, "learning_rate": rate}
        params |= {"cegb_tradeoff": strength}
        params |= {"cegb_penalty_feature_coupled": (10 * prices).tolist()}
        booster = lightgbm.train(params, data, rounds)
        read = np.flatnonzero(booster.feature_importance()).tolist()
        predicted = booster.predict(drawn.testing.values, num_threads=1)
        models.append((shop.price(read), predicted))
    chosen = [
        max((model for model in models if model[0] <= budget), key=lambda one: one[0])
        for budget in drawn.budgets
    ]
    chances = np.column_stack([predicted for _, predicted in chosen])
    return settle(drawn, chances, [amount for amount, _ in chosen])
