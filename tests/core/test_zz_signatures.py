"""Runs last: by then every kernel was called in every way that core calls it."""

import os
from importlib import import_module

import numpy as np
import pytest

from core import kernels
from core.anytime import observe, start
from core.binning import Binned
from core.boosting import BoostParams
from core.evaluate import walk
from core.learners.stump import PARALLEL_CELLS, find_stumps
from core.training import train
from core.types import Catalogue, Dataset, Feature, Group

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
STAGES = [import_module(f"core.kernels.{name}") for name in ("training", "inference")]


def kernels_of(stage):
    found = {name: one for name, one in vars(stage).items() if hasattr(one, "py_func")}
    return found.items()


def exercise(dataset: Dataset) -> None:
    """Call every public kernel, with groups and without."""
    groups = (Group("g", fee=1), Group("b", price=1))
    features = (
        Feature("f0", group="g"),
        Feature("f1", cost=2_000_000),
        Feature("f2", cost=0, group="b"),
    )
    for catalogue in (Catalogue(features, groups), Catalogue(features[1:2])):
        n_features = len(catalogue.features)
        values = np.tile(dataset.values[:, :1], n_features)
        values[0, 0] = 1.0
        table = Dataset(
            catalogue, dataset.classes, values, dataset.targets, dataset.weights
        )
        training = train(table, BoostParams(rounds=3), folds=2)
        try:
            while True:
                next(training)
        except StopIteration as stop:
            ensemble = stop.value.ensemble
        for policy in ("ordered", "sample"):
            walk(ensemble, values, [0, 1, None], policy, needs_ranks=True)
            state = start(ensemble, None, policy=policy)
            observe(ensemble, state, 0, "value", 1.0)


def exercise_large() -> None:
    """Search a table so large that all cores take part."""
    n_samples = PARALLEL_CELLS
    binned = Binned(
        codes=np.zeros((1, n_samples), np.uint8),
        n_codes=np.ones(1, np.int64),
        is_category=np.zeros(1, np.bool_),
        has_missing=np.zeros(1, np.bool_),
        cuts=(np.empty(0),),
    )
    find_stumps(binned, np.full(n_samples, 1 / n_samples))


def public_counts() -> dict[str, int]:
    """How many signatures each public kernel has; nothing where none is compiled."""
    public = {name: getattr(kernels, name) for name in kernels.__all__}
    return {
        name: len(one.signatures)
        for name, one in public.items()
        if hasattr(one, "py_func")
    }


def test_warming_up_compiles_every_public_kernel():
    kernels.warm_up()

    assert [name for name, count in public_counts().items() if count == 0] == []


@pytest.mark.skipif(not IS_COMPILED, reason="nothing is compiled")
def test_every_public_kernel_has_exactly_one_signature(dataset):
    kernels.warm_up()
    exercise(dataset)
    exercise_large()

    counts = public_counts()

    assert counts == dict.fromkeys(counts, 1)


@pytest.mark.skipif(not IS_COMPILED, reason="nothing is compiled")
@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.__name__)
def test_no_inner_kernel_has_a_second_signature(stage):
    counts = {name: len(one.signatures) for name, one in kernels_of(stage)}

    assert counts == {name: min(count, 1) for name, count in counts.items()}
