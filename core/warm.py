"""Compile, or load from the cache, every kernel before a request needs it."""

from dataclasses import replace
from functools import cache

import numpy as np

from core.panels.ladders import fit_ladder
from core.session import machine
from core.session.policies import served_by
from core.session.state import Answer
from core.simulation.curves import evaluate
from core.table.binning import bin_values
from core.table.catalogue import Catalogue, Feature
from core.table.dataset import ClassLabel, Dataset
from core.training.algorithms import make_ensemble
from core.training.boosting import boost, initial_weights
from core.training.params import BoostParams
from core.work import end_of

PARAMS = (
    BoostParams(rounds=3, learner="stump"),
    BoostParams(rounds=3, learner="tree", leaves=3, search="ucb", search_size=2),
)

# A table large enough that the parallel kernels run, too.
LARGE = 1500, 70


@cache
def warm_up() -> None:
    """Train on a few rows of two and of three classes, and play their sessions.

    The real path, so that each kernel is compiled for the types it is used with. A
    second call in the same process finds all of it compiled, and does nothing.
    """
    for n_classes in (2, 3):
        rows = make_rows(12, n_classes)
        shards = [(bin_values(rows), initial_weights(rows))]
        for params in PARAMS:
            rounds = list(boost(shards, rows.catalogue, params))
            ensemble = make_ensemble(rows, params, rounds)
            if params.learner == "stump":
                ensemble = replace(ensemble, panels=end_of(fit_ladder(rows)))
            for policy in served_by(ensemble):
                evaluate(ensemble, rows, [1_000_000, None], policy)
                state = machine.start(ensemble, 10_000_000, policy=policy)
                state = machine.observe(ensemble, state, [Answer(0, "refused")])
                machine.forecast(ensemble, state)
    rows = make_rows(*LARGE)
    params = BoostParams(rounds=1, learner="product", factors=2)
    shards = [(bin_values(rows), initial_weights(rows))]
    list(boost(shards, rows.catalogue, params))


def make_rows(n_samples: int, n_classes: int) -> Dataset:
    """Return rows of random values, some of them missing."""
    values = np.random.default_rng(0).random((n_samples, 3))
    values[:2] = np.nan
    return Dataset(
        catalogue=Catalogue(tuple(Feature(f"x{idx}") for idx in range(3))),
        classes=tuple(ClassLabel(str(idx), str(idx)) for idx in range(n_classes)),
        values=values,
        targets=np.arange(n_samples) % n_classes,
        weights=np.full(n_samples, 1 / n_samples),
    )
