"""The weights of a run on all cores, and in shards: the same bits."""

import numba
import numpy as np
import pytest

from askless.core.codes.binning import bin_values
from askless.core.model.hypotheses import Stump
from askless.core.training.boosting import boost, initial_weights
from askless.core.training.params import BoostParams
from askless.core.training.shards import histograms, shards
from tests.conftest import IS_COMPILED
from tests.core.training.test_weights import all_features, bits, hold, varied_table
from tests.small import random_dataset
from tests.ugly import table_of


def use_all_cores(monkeypatch):
    """Let all cores take part however little there is to do."""
    for name in ("PARALLEL_SUMS", "PARALLEL_CELLS"):
        monkeypatch.setattr(histograms, name, 0)
    monkeypatch.setattr(shards, "PARALLEL_ROWS", 0)


def run_bits(dataset, signed, **kwargs):
    """What the steps of a round come to, as bits."""
    n_outputs = signed.shape[1]
    weights = hold(dataset, signed, **kwargs)
    features = all_features(dataset)
    stump = Stump(0, float(weights.binned.cuts[0][0]), (1,) * n_outputs)
    results = []
    for _ in range(3):
        results += bits(weights.search_stumps(features))
        sides = weights.split(weights.root_place(), 1, 1)
        for side in sides:
            results += bits(weights.search_splits(side, (1,) * n_outputs, features))
        results += bits(weights.search_factors(stump, (0,), features))
        results.append(weights.apply(stump, 0.4).hex())
    return results


@pytest.mark.parametrize("is_split", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize(
    "n_features", [2, 4, 7, pytest.param(40, marks=pytest.mark.slow)]
)
def test_parallel_kernels_give_the_same_bits_as_the_serial_ones(
    n_features, n_outputs, is_split, monkeypatch
):
    dataset = varied_table(31, n_features)
    if not is_split:
        values = np.nan_to_num(dataset.values)
        types = [feature.type for feature in dataset.catalogue.features]
        dataset = table_of(values.T, dataset.targets, dataset.weights, types)
    signed = np.random.default_rng(2).normal(size=(31, n_outputs))
    signed /= np.abs(signed).sum()

    serial = run_bits(dataset, signed, is_split=is_split)
    use_all_cores(monkeypatch)

    assert run_bits(dataset, signed, is_split=is_split) == serial


@pytest.mark.skipif(not IS_COMPILED, reason="threads belong to compiled kernels")
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_result_is_the_same_bits_whatever_the_number_of_threads(n_outputs, monkeypatch):
    dataset = varied_table(9001, 23)
    signed = np.random.default_rng(2).normal(size=(9001, n_outputs))
    signed /= np.abs(signed).sum()
    expected = run_bits(dataset, signed)
    use_all_cores(monkeypatch)
    most = numba.config.NUMBA_NUM_THREADS
    results = []
    for n_threads in sorted({1, min(2, most), most}):
        numba.set_num_threads(n_threads)
        results.append(run_bits(dataset, signed))
    numba.set_num_threads(most)

    assert all(result == expected for result in results)


def run_in_parts(dataset, params, parts):
    binned, signed = bin_values(dataset), initial_weights(dataset)
    shards = [(binned.take(rows), signed[rows]) for rows in parts]
    return list(boost(shards, dataset.catalogue, params))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_classes", "learner", "search"),
    [(2, "stump", "all"), (3, "tree", "lazy"), (2, "product", "ucb")],
)
def test_shards_make_the_same_rounds_whatever_the_learner(n_classes, learner, search):
    n_samples = 5000
    dataset = random_dataset(6, n_classes, n_samples=n_samples, n_features=9)
    params = BoostParams(
        "speedboost", rounds=6, learner=learner, leaves=5, search=search, search_size=4
    )
    order = np.random.default_rng(1).permutation(n_samples)
    whole = run_in_parts(dataset, params, [np.arange(n_samples)])

    for n_parts in (2, 4):
        parts = np.array_split(order, n_parts)
        assert repr(run_in_parts(dataset, params, parts)) == repr(whole)
