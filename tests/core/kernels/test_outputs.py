"""The kernels of several outputs, given one: against the naive formulas."""

import os

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.table.binning import bin_values
from core.training.boosting import initial_weights
from core.training.learners.stump import find_stumps, make_stump
from core.training.weights import ManyOutputs, OneOutput
from tests import naive
from tests.strategies import datasets, plain_stump, rows_of
from tests.ugly import (
    UGLY,
    dyadic_tables,
    naive_bests,
    naive_edge,
    naive_presents,
    random_table,
    table_of,
)

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def output_bests(dataset):
    """Best stumps as the learner of several outputs finds and makes them."""
    binned, signed = bin_values(dataset), initial_weights(dataset)
    found = find_stumps(binned, signed, np.arange(len(binned.cuts)))
    bests = []
    for idx, (edge, cut) in enumerate(zip(found.edges, found.cuts, strict=True)):
        if cut < 0:
            bests.append(naive.Best(edge, None, 1))
        else:
            stump = make_stump(binned, found, idx, signed)
            bests.append(naive.Best(edge, *plain_stump(stump)[1:3]))
    return bests


def all_features(dataset):
    return np.arange(len(dataset.catalogue.features))


@pytest.mark.parametrize("case", UGLY)
def test_best_stumps_equal_the_naive_ones_on_ugly_tables(case):
    assert output_bests(UGLY[case]) == naive_bests(UGLY[case])


@given(dyadic_tables())
def test_best_stumps_equal_the_naive_ones_ties_included(dataset):
    assert output_bests(dataset) == naive_bests(dataset)


@pytest.mark.parametrize("n_features", [1, 3, 4, 5, 8, 11, 16, 17, 33])
@pytest.mark.parametrize("n_samples", [2, 9, 20])
def test_best_stumps_equal_the_naive_ones_across_blocks(n_features, n_samples):
    dataset = random_table(n_samples, n_features, seed=n_features)

    actual, expected = output_bests(dataset), naive_bests(dataset)

    edges = [best.edge for best in expected]
    assert [best.edge for best in actual] == pytest.approx(edges, abs=1e-15)
    for idx, best in enumerate(actual):
        if best.cut is None:
            continue
        again = naive_edge(dataset, idx, best)
        assert again == pytest.approx(best.edge, abs=1e-15)


@pytest.mark.parametrize("n_features", [1, 4, 6])
def test_presents_are_the_weight_of_rows_that_have_the_feature(n_features):
    dataset = random_table(13, n_features)

    found = find_stumps(
        bin_values(dataset), initial_weights(dataset), all_features(dataset)
    )

    expected = naive_presents(dataset)
    assert found.presents.tolist() == pytest.approx(expected, abs=1e-15)


@given(dataset=datasets(), data=st.data())
def test_best_stumps_of_a_leaf_equal_the_naive_ones_of_its_rows(dataset, data):
    members = st.sets(st.integers(0, dataset.n_samples - 1), min_size=1)
    leaf = np.array(sorted(data.draw(members)))
    binned, signed = bin_values(dataset), initial_weights(dataset)

    found = find_stumps(binned, signed, all_features(dataset), leaf)

    rows, signs = rows_of(dataset.values[leaf]), dataset.signs[leaf].tolist()
    weights = dataset.weights[leaf].tolist()
    part = table_of(
        dataset.values[leaf].T,
        dataset.targets[leaf],
        weights,
        [feature.type for feature in dataset.catalogue.features],
    )
    edges = [best.edge for best in naive_bests(part)]
    assert found.edges.tolist() == pytest.approx(edges, abs=1e-15)
    for idx in all_features(dataset).tolist():
        values = naive.column(rows, idx)
        present = naive.present_weight(values, weights)
        assert not binned.has_missing[idx] or found.presents[idx] == pytest.approx(
            present, abs=1e-15
        )
        if found.cuts[idx] >= 0:
            stump = plain_stump(make_stump(binned, found, idx, signed, leaf))
            again = naive.edge_of(values, signs, weights, *stump[1:])
            assert again == pytest.approx(edges[idx], abs=1e-15)


def reweight_outputs(binned, stump, alpha, signed):
    """Reweight as with several outputs: the normaliser and the new weights."""
    weights = ManyOutputs(binned, signed)
    return weights.apply(stump, alpha), weights.signed


def reweight_one(binned, stump, alpha, signed):
    """Reweight by the engine of one output, whose Z is a share of the weight."""
    weights = OneOutput(binned, signed)
    return weights.apply(stump, alpha) * np.abs(signed).sum(), weights.signed


every_reweight = pytest.mark.parametrize(
    "apply", [reweight_outputs, reweight_one], ids=["outputs", "one output"]
)


@every_reweight
@pytest.mark.parametrize("case", [*UGLY, "random"])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 10.7])
def test_reweight_equals_the_naive_one(apply, case, alpha):
    dataset = UGLY.get(case) or random_table(15, 6)
    binned = bin_values(dataset)
    signed = initial_weights(dataset)
    found = find_stumps(binned, signed, all_features(dataset))
    for idx in np.flatnonzero(found.cuts >= 0):
        stump = make_stump(binned, found, int(idx), signed)

        z, moved = apply(binned, stump, alpha, signed)

        weights, naive_z = naive.reweight(
            naive.column(rows_of(dataset.values), idx),
            dataset.signs.tolist(),
            dataset.weights.tolist(),
            plain_stump(stump),
            alpha,
        )
        assert z == pytest.approx(naive_z)
        assert np.abs(moved[:, 0]).tolist() == pytest.approx(weights)


@every_reweight
def test_reweight_keeps_the_sign_of_every_row(apply):
    dataset = random_table(15, 3)
    binned = bin_values(dataset)
    signed = initial_weights(dataset)
    found = find_stumps(binned, signed, all_features(dataset))
    stump = make_stump(binned, found, 1, signed)

    _, moved = apply(binned, stump, 0.5, signed)

    assert (np.sign(moved[:, 0]) == dataset.signs).all()


def output_search(dataset, *, is_parallel):
    """Outputs of the learner's search, as bits."""
    found = find_stumps(
        bin_values(dataset),
        initial_weights(dataset),
        all_features(dataset),
        is_parallel=is_parallel,
    )
    return [out.tobytes() for out in (found.edges, found.cuts, found.presents)]


@pytest.mark.parametrize("n_features", [1, 4, 7, 40])
def test_parallel_search_gives_the_same_bits_as_the_serial_one(n_features):
    dataset = random_table(31, n_features)

    parallel = output_search(dataset, is_parallel=True)

    assert parallel == output_search(dataset, is_parallel=False)


@pytest.mark.skipif(not IS_COMPILED, reason="threads belong to compiled kernels")
def test_result_is_the_same_bits_whatever_the_number_of_threads():
    dataset = random_table(2001, 23)
    expected = output_search(dataset, is_parallel=False)
    most = numba.config.NUMBA_NUM_THREADS
    results = []
    for n_threads in sorted({1, min(2, most), most}):
        numba.set_num_threads(n_threads)
        results.append(output_search(dataset, is_parallel=True))
    numba.set_num_threads(most)

    assert all(result == expected for result in results)
