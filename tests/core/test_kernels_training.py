import os

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import kernels
from core.binning import bin_values
from core.learners.stump import find_stumps, make_stump, reweight
from core.types import Catalogue, ClassLabel, Dataset, Feature
from tests import naive
from tests.strategies import datasets, rows_of

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
NAN = float("nan")


def table_of(columns, targets, weights, types):
    """Make a dataset; weights as they are, also where they are zero."""
    return Dataset(
        Catalogue(tuple(Feature(f"f{i}", kind) for i, kind in enumerate(types))),
        (ClassLabel("0", "0"), ClassLabel("1", "1")),
        np.array(columns, dtype=np.float64).T.copy(),
        np.array(targets),
        np.array(weights, dtype=np.float64),
    )


def random_table(n_samples, n_features, seed=0):
    """Numbers, booleans and categories with missing cells, weights unlike."""
    generator = np.random.default_rng(seed)
    types = [("number", "category", "boolean")[i % 3] for i in range(n_features)]
    columns = [
        generator.integers(0, 2 if kind == "boolean" else 7, n_samples).astype(float)
        for kind in types
    ]
    for column in columns[1:]:
        column[generator.random(n_samples) < 0.2] = NAN
    weights = generator.random(n_samples) + 0.1
    targets = np.arange(n_samples) % 2
    return table_of(columns, targets, weights / weights.sum(), types)


UGLY = {
    "one sample": table_of([[1.0]], [1], [1.0], ["number"]),
    "one missing sample": table_of([[NAN]], [0], [1.0], ["number"]),
    "constant column": table_of([[2, 2], [0, 1]], [0, 1], [0.5, 0.5], ["number"] * 2),
    "empty column": table_of([[NAN, NAN], [0, 1]], [0, 1], [0.5, 0.5], ["number"] * 2),
    "only missing differs": table_of([[NAN, 1]], [0, 1], [0.5, 0.5], ["number"]),
    "tied cuts": table_of([[0, 1, 2, 3]], [0, 1, 0, 1], [0.25] * 4, ["number"]),
    "tied categories": table_of([[0, 1, 2, 3]], [0, 1, 0, 1], [0.25] * 4, ["category"]),
    "two categories": table_of([[0, 1, 1, 0]], [0, 1, 1, 0], [0.25] * 4, ["category"]),
    "no edge": table_of([[0, 0, 1, 1]], [0, 1, 0, 1], [0.25] * 4, ["number"]),
    "zero weight": table_of([[0, 1, 2]], [0, 1, 0], [0.5, 0.5, 0.0], ["number"]),
    "all zero but one": table_of([[0, 1, 2]], [0, 1, 0], [0.0, 1.0, 0.0], ["number"]),
    "odd rows": table_of([[0, 1, 2, 3, 4]], [1, 1, 0, 0, 1], [0.125] * 5, ["number"]),
    "weightless row": table_of(
        [[0, 1, 2, 3]], [0, 1, 0, 1], [0.25, 0.5, 2.0**-60, 0.25], ["number"]
    ),
    "four twins": table_of(
        [[3, 1, 2]] * 4, [0, 1, 0], [0.5, 0.25, 0.25], ["number"] * 4
    ),
}


def naive_bests(dataset):
    rows = rows_of(dataset.values)
    return [
        naive.best_stump(
            naive.column(rows, idx),
            dataset.signs.tolist(),
            dataset.weights.tolist(),
            feature.type == "category",
        )
        for idx, feature in enumerate(dataset.catalogue.features)
    ]


def kernel_bests(dataset):
    binned = bin_values(dataset)
    found = find_stumps(binned, dataset.signs * dataset.weights)
    return [
        naive.Best(
            edge,
            make_stump(binned, found, idx).cut if cut >= 0 else None,
            int(found.votes[idx]),
        )
        for idx, (edge, cut) in enumerate(zip(found.edges, found.cuts, strict=True))
    ]


@pytest.mark.parametrize("case", UGLY)
def test_best_stumps_equal_the_naive_ones_on_ugly_tables(case):
    assert kernel_bests(UGLY[case]) == naive_bests(UGLY[case])


@given(datasets(), st.data())
def test_best_stumps_equal_the_naive_ones_ties_included(dataset, data):
    # Weights of few bits add up without rounding, so that ties are exact.
    n = dataset.n_samples
    weights = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    dyadic = table_of(
        dataset.values.T,
        dataset.targets,
        weights / 64,
        [feature.type for feature in dataset.catalogue.features],
    )

    assert kernel_bests(dyadic) == naive_bests(dyadic)


@pytest.mark.parametrize("n_features", [1, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("n_samples", [2, 9, 20])
def test_best_stumps_equal_the_naive_ones_across_blocks(n_features, n_samples):
    dataset = random_table(n_samples, n_features, seed=n_features)

    actual, expected = kernel_bests(dataset), naive_bests(dataset)

    edges = [best.edge for best in expected]
    assert [best.edge for best in actual] == pytest.approx(edges, abs=1e-15)
    for idx, best in enumerate(actual):
        if best.cut is None:
            continue
        again = naive.edge_of(
            naive.column(rows_of(dataset.values), idx),
            dataset.signs.tolist(),
            dataset.weights.tolist(),
            best.cut,
            best.vote,
            dataset.catalogue.features[idx].type == "category",
        )
        assert again == pytest.approx(best.edge, abs=1e-15)


@pytest.mark.parametrize("n_features", [1, 4, 6])
def test_presents_are_the_weight_of_rows_that_have_the_feature(n_features):
    dataset = random_table(13, n_features)

    found = find_stumps(bin_values(dataset), dataset.signs * dataset.weights)

    expected = [
        naive.present_weight(column, dataset.weights.tolist())
        for column in zip(*rows_of(dataset.values), strict=True)
    ]
    assert found.presents.tolist() == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("case", [*UGLY, "random"])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 10.7])
def test_reweight_equals_the_naive_one(case, alpha):
    dataset = UGLY.get(case) or random_table(15, 6)
    binned = bin_values(dataset)
    signed = dataset.signs * dataset.weights
    found = find_stumps(binned, signed)
    for idx in np.flatnonzero(found.cuts >= 0):
        stump = make_stump(binned, found, int(idx))
        moved = signed.copy()

        z = reweight(binned, stump, alpha, moved)

        weights, naive_z = naive.reweight(
            naive.column(rows_of(dataset.values), idx),
            dataset.signs.tolist(),
            dataset.weights.tolist(),
            (idx, stump.cut, stump.vote, stump.is_category),
            alpha,
        )
        assert z == pytest.approx(naive_z)
        assert np.abs(moved).tolist() == pytest.approx(weights)


def test_reweight_keeps_the_sign_of_every_row():
    dataset = random_table(15, 3)
    binned = bin_values(dataset)
    signed = dataset.signs * dataset.weights
    stump = make_stump(binned, find_stumps(binned, signed), 1)

    reweight(binned, stump, 0.5, signed)

    assert (np.sign(signed) == dataset.signs).all()


@pytest.mark.parametrize("n_features", [1, 6])
def test_encode_marks_missing_and_counts_the_cuts_below(n_features):
    values = np.array([[0.0], [0.5], [1.0], [NAN], [9.0]]).repeat(n_features, axis=1)
    cuts = np.tile([0.5, 1.5], n_features)
    starts = np.arange(0, 2 * n_features + 1, 2)
    codes = np.empty((n_features, 5), np.uint8)

    kernels.encode(values, cuts, starts, codes)

    assert codes.tolist() == [[0, 0, 1, kernels.MISSING, 2]] * n_features


def search(kernel, dataset):
    """Outputs of a kernel that finds the best stumps, as bits."""
    binned = bin_values(dataset)
    n_features = len(dataset.catalogue.features)
    outs = (
        np.empty(n_features),
        np.empty(n_features, np.int64),
        np.empty(n_features, np.int64),
        np.empty(n_features),
    )
    flags = (binned.is_category, binned.has_missing)
    signed = dataset.signs * dataset.weights
    kernel(binned.codes, binned.n_codes, *flags, signed, *outs)
    return [out.tobytes() for out in (binned.codes, *outs)]


@pytest.mark.parametrize("n_features", [1, 4, 7])
def test_parallel_search_gives_the_same_bits_as_the_serial_one(n_features):
    dataset = random_table(31, n_features)

    parallel = search(kernels.best_stumps_parallel, dataset)

    assert parallel == search(kernels.best_stumps, dataset)


@pytest.mark.skipif(not IS_COMPILED, reason="threads belong to compiled kernels")
def test_result_is_the_same_bits_whatever_the_number_of_threads():
    dataset = random_table(2001, 23)
    expected = search(kernels.best_stumps, dataset)
    most = numba.config.NUMBA_NUM_THREADS
    results = []
    for n_threads in sorted({1, min(2, most), most}):
        numba.set_num_threads(n_threads)
        results.append(search(kernels.best_stumps_parallel, dataset))
    numba.set_num_threads(most)

    assert all(result == expected for result in results)
