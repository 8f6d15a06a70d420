"""Small forests."""

import math

import numpy as np

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.model.ensemble import Ensemble
from askless.core.table.dataset import Dataset
from askless.core.training import baselines
from askless.core.training.algorithms import make_ensemble
from askless.core.training.params import BoostParams
from tests.conftest import IS_COMPILED
from tests.small import make_dataset

MICROS = 1_000_000
BAGGED = ("bagging", "random_forest")
N_TREES = 12 if IS_COMPILED else 5


def params_of(algorithm: str, **more) -> BoostParams:
    # A cascade's rates are such as any table meets.
    rates = {"stages": 2, "detection": 0.9, "false_alarm": 0.9}
    return BoostParams(algorithm, **({"rounds": N_TREES} | rates | more))


def mixed(
    seed=0, n_classes=2, n_samples=80, share_missing=0.0, noise=0.7, **more
) -> Dataset:
    """Two numbers, a boolean and a category that tell the classes, more or less."""
    random = np.random.default_rng(seed)
    targets = random.permutation(np.arange(n_samples) % n_classes)
    hidden = targets[:, None] + noise * random.normal(size=(n_samples, 4))
    values = np.column_stack(
        (
            hidden[:, 0],
            np.round(3 * hidden[:, 1]) / 10,
            hidden[:, 2] > 0.5,
            np.clip(np.round(hidden[:, 3] + 1), 0, 3),
        )
    ).astype(np.float64)
    values[random.random(values.shape) < share_missing] = math.nan
    catalogue = Catalogue(
        (
            Feature("a", cost=2 * MICROS, group="blood"),
            Feature("b", cost=MICROS, group="blood"),
            Feature("c", "boolean", cost=MICROS // 2),
            Feature("d", "category", cost=3 * MICROS, categories=tuple("pqrs")),
        ),
        (Group("blood", fee=MICROS),),
    )
    weights = random.uniform(0.5, 2.0, n_samples)
    return make_dataset(values, targets, n_classes, weights, catalogue, **more)


def numbers(values, targets, n_classes=2, **more) -> Dataset:
    values = np.asarray(values, np.float64)
    values = values.reshape(len(targets), -1)
    return make_dataset(values, np.asarray(targets), n_classes, **more)


def grow(dataset: Dataset, algorithm: str, **more):
    return list(baselines.grow_trees(dataset, params_of(algorithm, **more)))


def grown(dataset: Dataset, algorithm: str, **more) -> Ensemble:
    params = params_of(algorithm, **more)
    return make_ensemble(dataset, params, list(baselines.grow_trees(dataset, params)))


def noise(n_samples=150) -> Dataset:
    random = np.random.default_rng(2)
    return numbers(random.normal(size=(n_samples, 3)), random.integers(0, 2, n_samples))
