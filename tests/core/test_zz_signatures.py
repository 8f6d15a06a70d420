"""Runs last: by then every kernel was called in every way that core calls it."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import product
from pkgutil import walk_packages
from typing import get_args

import numpy as np
import pytest

from askless.core import kernels, warm
from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.codes.binning import Binned, bin_values, pack_features
from askless.core.model.hypotheses import Stump
from askless.core.session.machine import start
from askless.core.simulation.simulate import simulate
from askless.core.table.dataset import ClassLabel, Dataset
from askless.core.training.baselines import BASELINES
from askless.core.training.boosting import boost, initial_weights, make_weights
from askless.core.training.feature_sampling import SearchName
from askless.core.training.learners import LEARNERS
from askless.core.training.params import BoostParams
from askless.core.training.shards.histograms import PARALLEL_SUMS
from askless.core.training.shards.shards import PARALLEL_ROWS
from askless.core.warm import warm_up
from tests.conftest import IS_COMPILED
from tests.panels import shorten
from tests.sessions import observe
from tests.small import finish, train

SEARCHES = get_args(SearchName)
STAGES = [
    import_module(module.name)
    for module in walk_packages(kernels.__path__, f"{kernels.__name__}.")
]


def kernels_of(stage):
    found = {name: one for name, one in vars(stage).items() if hasattr(one, "py_func")}
    return found.items()


def tables_of(dataset: Dataset) -> Iterator[Dataset]:
    """Give tables with groups or none, of two classes or three."""
    groups = (Group("g", fee=1), Group("b", price=1))
    features = (
        Feature("f0", group="g"),
        Feature("f1", cost=2_000_000),
        Feature("f2", cost=0, group="b"),
    )
    classes = (*dataset.classes, ClassLabel("2", "maybe"))
    for catalogue, n_classes in product(
        (Catalogue(features, groups), Catalogue(features[1:2])), (2, 3)
    ):
        values = np.tile(dataset.values[:, :1], (3, len(catalogue.features)))
        values[0, 0] = 1.0
        targets = np.arange(values.shape[0]) % n_classes
        weights = np.full(targets.size, 1 / targets.size)
        yield Dataset(catalogue, classes[:n_classes], values, targets, weights)


def exercise(dataset: Dataset) -> None:
    """Train by each learner, search and algorithm, and play."""
    for table in tables_of(dataset):
        for learner in LEARNERS:
            play(table, BoostParams(rounds=3, learner=learner, leaves=3))
            for search in SEARCHES:
                run(table, BoostParams(rounds=3, learner=learner, search=search))
        for algorithm in BASELINES:
            play(table, BoostParams(algorithm, rounds=3))
        if len(table.classes) == 2:
            params = BoostParams("cascade", rounds=3, stages=1, false_alarm=1.0)
            play(table, params, ("ordered", "cascade"))


def run(table: Dataset, params: BoostParams) -> None:
    """Boost, and go on after the first round."""
    shards = [(bin_values(table), initial_weights(table))]
    rounds = list(boost(shards, table.catalogue, params))
    list(boost(shards, table.catalogue, params, rounds[:1]))


def play(
    table: Dataset, params: BoostParams, policies: Sequence[str] = ("ordered", "sample")
) -> None:
    """Train, walk and ask once by each policy."""
    ensemble = finish(train(table, params, folds=2)).ensemble
    for policy in policies:
        simulate(ensemble, table.values, [0, 1, None], policy, needs_ranks=True)
        state = start(ensemble, None, policy=policy)
        # A baseline may find nothing to ask for.
        if state.next_feature_idx is not None:
            observe(ensemble, state, 0, "value", 1.0)


def exercise_large(n_outputs: int) -> None:
    """Search a table so large that all cores take part."""
    n_samples = PARALLEL_ROWS
    n_features = PARALLEL_SUMS // 500
    codes = np.zeros((n_features, n_samples), np.uint8)
    n_codes, none = np.full(n_features, 254), np.zeros(n_features, np.bool_)
    cuts = (np.arange(253.0),) * n_features
    binned = Binned(
        codes, n_codes, none, none, cuts, pack_features(codes, n_codes, none)
    )
    signed = np.full((n_samples, n_outputs), 1 / n_samples / n_outputs)
    for search in ("all", "lazy"):
        weights = make_weights([(binned, signed)], BoostParams(search=search))
        weights.search_stumps(np.arange(search == "lazy", n_features))
        place, _ = weights.split(weights.root_place(), 0, 0)
        weights.search_splits(place, (1,) * n_outputs, np.arange(n_features))
        weights.apply(Stump(0, 0.0, (1,) * n_outputs), 0.5)


def public_counts() -> dict[str, int]:
    """How many signatures each public kernel has; nothing where none is compiled."""
    return {name: len(kernel.signatures) for name, kernel in kernels_of(kernels)}


def test_warming_up_compiles_every_public_kernel(monkeypatch):
    if not IS_COMPILED:
        # Nothing is compiled: few rows come by the same lines.
        monkeypatch.setattr(warm, "LARGE", (30, 3))
        shorten(monkeypatch)

    warm.run_once.cache_clear()
    warm_up()

    assert [name for name, count in public_counts().items() if count == 0] == []


@pytest.mark.usefixtures("short_pruning")
@pytest.mark.skipif(not IS_COMPILED, reason="nothing is compiled")
def test_every_public_kernel_has_exactly_one_signature(dataset):
    warm_up()
    exercise(dataset)
    exercise_large(n_outputs=1)
    exercise_large(n_outputs=3)

    counts = public_counts()

    assert counts == dict.fromkeys(counts, 1)


@pytest.mark.skipif(not IS_COMPILED, reason="nothing is compiled")
@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.__name__)
def test_no_inner_kernel_has_a_second_signature(stage):
    several = {
        name: compiled.signatures
        for name, compiled in kernels_of(stage)
        if len(compiled.signatures) > 1
    }

    assert several == {}
