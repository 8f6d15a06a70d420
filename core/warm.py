"""Compile, or load from the cache, every kernel before a request needs it."""

from dataclasses import replace

import numpy as np

from core.model.hypotheses import Stump
from core.session import machine
from core.session.curves import evaluate
from core.session.policies import served_by
from core.table.binning import bin_values
from core.table.catalogue import Catalogue, Feature
from core.table.dataset import ClassLabel, Dataset
from core.training.algorithms import make_ensemble
from core.training.boosting import boost, initial_weights
from core.training.feature_sampling import SearchName
from core.training.params import BoostParams, LearnerName
from core.training.shards import Shard
from core.training.weights import Weights

ROUNDS: tuple[tuple[LearnerName, SearchName], ...] = (
    ("stump", "all"),
    ("tree", "ucb"),
)


def warm_up() -> None:
    """Train on a few rows of two and of three classes, and play their sessions.

    The real path, so that each kernel is compiled for the types it is used with.
    """
    generator = np.random.default_rng(0)
    values = generator.random((12, 5))
    values[:2] = np.nan
    rows = Dataset(
        catalogue=Catalogue(tuple(Feature(f"x{idx}") for idx in range(5))),
        classes=tuple(ClassLabel(label, label) for label in "abc"),
        values=values,
        targets=np.arange(12) % 3,
        weights=np.full(12, 1 / 12),
    )
    warm(rows)
    warm(replace(rows, classes=rows.classes[:2], targets=np.minimum(rows.targets, 1)))


def warm(rows: Dataset) -> None:
    """Train on some rows, draw curves and play a session of each policy."""
    binned = bin_values(rows)
    weights = initial_weights(rows)
    for learner, search in ROUNDS:
        params = BoostParams(
            rounds=3, learner=learner, leaves=3, search=search, search_size=2
        )
        rounds = list(boost(binned, weights, rows.catalogue, params))
        ensemble = make_ensemble(rows, params, rounds)
        for policy in served_by(ensemble):
            evaluate(ensemble, rows, [1_000_000, None], policy)
            state = machine.start(ensemble, 10_000_000, policy=policy)
            machine.forecast(ensemble, state)
    # What only larger tables use: all cores at once.
    large = Weights([Shard(binned, weights, is_parallel=True)])
    large.find_stumps(np.arange(5))
    place, _ = large.split(large.everything(), 0, 0)
    large.find_in(place, (1,) * weights.shape[1], np.arange(5))
    large.apply(Stump(0, 0.5, (1,) * weights.shape[1]), 0.5)
