import math
import os

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import kernels
from core.table.binning import bin_values
from core.training.boosting import initial_weights
from core.training.histograms import Histograms, find_stumps
from core.training.learners.stump import make_stump
from core.training.weights import (
    ManyOutputs,
    OneOutput,
    OneOutputInPart,
    cast_ballots,
)
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
NAN = float("nan")


def varied_table(n_samples, n_features, seed=0):
    """Columns of 1 to more than 254 values, half with missing cells, one without any.

    Packed with others, and alone.
    """
    generator = np.random.default_rng(seed)
    widths = (254, 127, 2, 40, 128, 1, 3, n_samples, 85, 7)
    columns, types = [], []
    for idx in range(n_features):
        width = min(widths[idx % len(widths)], n_samples)
        column = generator.permutation(np.arange(n_samples) % width).astype(float)
        if generator.random() < 0.5:
            column[generator.random(n_samples) < 0.2] = NAN
        columns.append(column)
        is_category = width <= 128 and generator.random() < 0.5
        types.append("category" if is_category else "number")
    columns[-1][:] = NAN
    weights = generator.random(n_samples) + 0.1
    targets = generator.permutation(np.arange(n_samples) % 2)
    return table_of(columns, targets, weights / weights.sum(), types)


def stump_of(binned, found, position):
    """Give a candidate as a stump; its votes are known, no weights are asked."""
    return make_stump(binned, found, int(position), np.empty((0, 1)))


def kernel_bests(dataset):
    binned = bin_values(dataset)
    found = find_stumps(binned, dataset.signs * dataset.weights)
    return [
        naive.Best(
            edge,
            stump_of(binned, found, idx).cut if cut >= 0 else None,
            int(found.votes[idx]),
        )
        for idx, (edge, cut) in enumerate(zip(found.edges, found.cuts, strict=True))
    ]


@pytest.mark.parametrize("case", UGLY)
def test_best_stumps_equal_the_naive_ones_on_ugly_tables(case):
    assert kernel_bests(UGLY[case]) == naive_bests(UGLY[case])


@given(dyadic_tables())
def test_best_stumps_equal_the_naive_ones_ties_included(dataset):
    assert kernel_bests(dataset) == naive_bests(dataset)


@pytest.mark.parametrize("n_features", [1, 3, 4, 5, 8, 11, 40])
@pytest.mark.parametrize("n_samples", [2, 9, 20])
def test_best_stumps_equal_the_naive_ones_across_blocks(n_features, n_samples):
    dataset = random_table(n_samples, n_features, seed=n_features)

    actual, expected = kernel_bests(dataset), naive_bests(dataset)

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

    found = find_stumps(bin_values(dataset), dataset.signs * dataset.weights)

    expected = naive_presents(dataset)
    assert found.presents.tolist() == pytest.approx(expected, abs=1e-15)


def ballots_of(dataset, stump):
    """Votes of a stump by the naive formula, one per row."""
    return [
        naive.cast(value, *plain_stump(stump)[1:])
        for value in naive.column(rows_of(dataset.values), stump.feature_idx)
    ]


def bits(found):
    return [
        out.tobytes() for out in (found.edges, found.cuts, found.votes, found.presents)
    ]


def anew(binned, histograms):
    """The same weights in histograms that never saw a round."""
    other = Histograms(binned, histograms.signed_weights)
    return other.find_stumps()


@pytest.mark.parametrize("case", [*UGLY, "random"])
def test_ballots_equal_the_naive_ones(case):
    dataset = UGLY.get(case) or random_table(15, 6)
    binned = bin_values(dataset)
    found = find_stumps(binned, dataset.signs * dataset.weights)
    for idx in np.flatnonzero(found.cuts >= 0):
        stump = stump_of(binned, found, idx)

        assert cast_ballots(binned, stump).tolist() == ballots_of(dataset, stump)


@pytest.mark.parametrize("case", [*UGLY, "random"])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 10.7])
def test_apply_reweights_as_the_naive_formula(case, alpha):
    dataset = UGLY.get(case) or random_table(15, 6)
    binned = bin_values(dataset)
    signed = dataset.signs * dataset.weights
    found = find_stumps(binned, signed)
    for idx in np.flatnonzero(found.cuts >= 0):
        stump = stump_of(binned, found, idx)
        histograms = Histograms(binned, signed)

        z = histograms.apply(cast_ballots(binned, stump), alpha)

        whole = dataset.weights.sum()
        weights, naive_z = naive.reweight(
            naive.column(rows_of(dataset.values), idx),
            dataset.signs.tolist(),
            (dataset.weights / whole).tolist(),
            plain_stump(stump),
            alpha,
        )
        moved = histograms.signed_weights
        assert z == pytest.approx(naive_z)
        assert np.abs(moved).tolist() == pytest.approx(weights)
        assert (moved * dataset.signs >= 0).all()


@given(datasets(), st.data())
def test_sums_that_follow_the_weights_equal_those_of_all_rows(dataset, data):
    n, rounds = dataset.n_samples, data.draw(st.integers(1, 6))
    binned = bin_values(dataset)
    followed = Histograms(binned, dataset.signs * dataset.weights)
    late = Histograms(binned, dataset.signs * dataset.weights)
    for _ in range(rounds):
        votes = data.draw(st.lists(st.integers(-1, 1), min_size=n, max_size=n))
        ballots, alpha = np.array(votes, np.int8), data.draw(st.floats(0.0, 3.0))
        followed.apply(ballots, alpha)
        late.apply(ballots, alpha)

        actual = followed.find_stumps()

    # To the bit those of a run that looks only now, as one that was interrupted does.
    assert bits(actual) == bits(late.find_stumps())
    weights = followed.signed_weights
    assert bits(actual) == bits(followed.find_stumps())
    rows, moduli = rows_of(dataset.values), np.abs(weights).tolist()
    for idx, feature in enumerate(dataset.catalogue.features):
        values, signs = naive.column(rows, idx), dataset.signs.tolist()
        is_category = feature.type == "category"
        best = naive.best_stump(values, signs, moduli, is_category)
        present = naive.present_weight(values, moduli)
        assert actual.edges[idx] == pytest.approx(best.edge, abs=1e-14)
        assert actual.presents[idx] == pytest.approx(present, abs=1e-14)


def test_sums_follow_the_weights_over_many_rounds_and_scalings():
    # Several chunks of rows, or fewer rows where loops are slow.
    n_samples = 5000 if IS_COMPILED else 60
    dataset = random_table(n_samples, 13)
    binned = bin_values(dataset)
    histograms = Histograms(binned, dataset.signs * dataset.weights)
    generator = np.random.default_rng(3)
    n_scaled = 0
    for _ in range(60):
        ballots = generator.integers(-1, 2, n_samples).astype(np.int8)
        z = histograms.apply(ballots, float(generator.uniform(0.0, 0.8)))
        n_scaled += histograms.is_fresh

        found = histograms.find_stumps()

        other = anew(binned, histograms)
        assert found.edges.tolist() == pytest.approx(other.edges.tolist(), abs=1e-13)
        assert found.presents.tolist() == pytest.approx(
            other.presents.tolist(), abs=1e-13
        )
        assert math.isfinite(z)
    assert 0 < n_scaled < 30


def test_weights_survive_ten_thousand_rounds_of_perfect_separation():
    dataset = random_table(40, 5)
    binned = bin_values(dataset)
    histograms = Histograms(binned, dataset.signs * dataset.weights)
    before = histograms.signed_weights
    ballots = dataset.signs.astype(np.int8)
    for _ in range(10_000 if IS_COMPILED else 200):
        z = histograms.apply(ballots, 10.7)

    assert z == pytest.approx(math.exp(-10.7))
    assert histograms.signed_weights.tolist() == before.tolist()


def test_weights_that_underflow_to_zero_give_no_nan():
    dataset = random_table(40, 5)
    binned = bin_values(dataset)
    histograms = Histograms(binned, dataset.signs * dataset.weights)
    ballots = dataset.signs.astype(np.int8)
    ballots[:7] *= -1
    ballots[7:9] = 0
    with np.errstate(all="raise", under="ignore"):
        for _ in range(100):
            z = histograms.apply(ballots, 10.7)
            found = histograms.find_stumps()

    # In the end only the rows that are always wrong weigh anything.
    weights = np.abs(histograms.signed_weights)
    assert z == pytest.approx(math.exp(10.7))
    assert (weights[7:] == 0.0).all()
    assert weights.sum() == pytest.approx(1.0)
    assert np.isfinite(found.edges).all()
    assert found.edges.max() <= 1.0


def test_weights_given_to_histograms_are_not_changed():
    dataset = random_table(9, 3)
    signed = dataset.signs * dataset.weights
    before = signed.copy()

    Histograms(bin_values(dataset), signed).apply(np.ones(9, np.int8), 0.5)

    assert signed.tolist() == before.tolist()


@pytest.mark.parametrize("feature_idxs", [[0], [4, 2], [10, 1, 7, 3]])
def test_search_of_some_features_equals_that_of_all(feature_idxs):
    dataset = random_table(31, 11)
    binned, signed = bin_values(dataset), dataset.signs * dataset.weights
    whole = find_stumps(binned, signed)

    found = find_stumps(binned, signed, np.array(feature_idxs))

    assert found.feature_idxs.tolist() == feature_idxs
    assert found.edges.tolist() == whole.edges[feature_idxs].tolist()
    assert found.cuts.tolist() == whole.cuts[feature_idxs].tolist()
    assert found.votes.tolist() == whole.votes[feature_idxs].tolist()
    assert found.presents.tolist() == whole.presents[feature_idxs].tolist()


@pytest.mark.parametrize("engine", [OneOutput, OneOutputInPart])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_features", [5, 23, 90])
def test_one_output_finds_the_edges_of_the_kernel_of_several(engine, n_features, seed):
    dataset = varied_table(300, n_features, seed)
    binned, signed = bin_values(dataset), initial_weights(dataset)
    one, many = engine(binned, signed), ManyOutputs(binned, signed)
    order = np.random.default_rng(seed).permutation(n_features)
    parts = [np.arange(n_features), order[: n_features // 2]]
    for _ in range(5):
        for feature_idxs in parts[: 1 if engine is OneOutput else 2]:
            found, other = (side.find_stumps(feature_idxs) for side in (one, many))

            assert found.feature_idxs.tolist() == feature_idxs.tolist()
            assert found.edges.tolist() == pytest.approx(
                other.edges.tolist(), rel=0, abs=1e-12
            )
            assert found.presents.tolist() == pytest.approx(
                other.presents.tolist(), rel=0, abs=1e-12
            )
            # Of cuts that differ by rounding alone, they may take different ones.
            for position in np.flatnonzero(found.cuts >= 0):
                stump = make_stump(binned, found, int(position), one.signed)
                edge = cast_ballots(binned, stump) @ many.signed[:, 0]
                assert edge == pytest.approx(
                    float(other.edges[position]), rel=0, abs=1e-12
                )
        stump = make_stump(binned, found, int(np.argmax(found.edges)), one.signed)
        mirrored = -one.signed[::-1].copy()
        edges = [
            side.find_stumps_for(mirrored, order).edges.tolist() for side in (one, many)
        ]
        assert edges[0] == pytest.approx(edges[1], rel=0, abs=1e-12)
        z = [side.apply(stump, 0.7) for side in (one, many)]
        assert z[0] == pytest.approx(z[1], rel=1e-12)
        np.testing.assert_allclose(one.signed, many.signed, rtol=0, atol=1e-12)


def test_equal_features_have_equal_edges_however_they_are_packed():
    dataset = random_table(300, 3)
    columns = [*dataset.values.T] * 4
    types = [feature.type for feature in dataset.catalogue.features] * 4
    twins = table_of(columns, dataset.targets, dataset.weights, types)

    found = find_stumps(bin_values(twins), twins.signs * twins.weights)

    edges = found.edges.reshape(4, 3)
    assert (edges == edges[0]).all()


@pytest.mark.parametrize("n_features", [1, 3, 40])
def test_packed_columns_hold_the_codes_of_their_features(n_features):
    binned = bin_values(random_table(17, n_features))
    packing = binned.packing
    for column, joint in enumerate(packing.codes):
        rest = joint.astype(int)
        for idx in packing.members[packing.starts[column] : packing.starts[column + 1]]:
            radix = binned.n_codes[idx] + binned.has_missing[idx]
            digits = np.where(
                binned.codes[idx] == kernels.MISSING,
                binned.n_codes[idx],
                binned.codes[idx],
            )
            assert (rest % radix).tolist() == digits.tolist()
            assert packing.column_of[idx] == column
            rest //= radix
        assert (rest == 0).all()
    assert sorted(packing.members.tolist()) == list(range(n_features))


def round_bits(dataset, suffix):
    """Every output of a round's kernels, serial or parallel, as bits."""
    binned = bin_values(dataset)
    packing, signed = binned.packing, dataset.signs * dataset.weights * 2.0**50
    n_samples, n_features = dataset.n_samples, binned.n_codes.size
    n_chunks = -(-n_samples // kernels.CHUNK)
    n_columns = packing.starts.size - 1
    ballots = (np.arange(n_samples) % 3 - 1).astype(np.int8)
    groups = np.zeros((n_chunks, 4), np.int64)
    places = (n_chunks, min(n_samples, kernels.CHUNK) + 1)
    stops = np.zeros((n_chunks, 3), np.int64)
    moved = np.zeros(places, np.int64), np.zeros(places, np.int64), stops
    sums = np.zeros((2, n_columns, 2, 256), np.int64)
    columns = np.arange(n_columns)
    outs = (
        np.zeros(n_features),
        np.zeros(n_features, np.int64),
        np.zeros(n_features, np.int64),
        np.zeros(n_features),
    )
    sum_groups, move, add, scan = (
        getattr(kernels, name + suffix)
        for name in ("sum_groups", "move", "add", "scan_columns")
    )
    sum_groups(signed, ballots, groups)
    has_missing = binned.has_missing
    is_split = bool(has_missing.any())
    move(ballots, np.array([1.5, 1.25, 1.0]), False, is_split, signed, *moved)
    layout = (packing.members, packing.starts, columns)
    add(binned.codes, packing.codes, *layout, *moved, sums)
    flags = (binned.n_codes, binned.is_category, has_missing)
    n_packed = packing.codes.shape[0]
    scan(sums, *layout, n_packed, *flags, int(stops[:, 2].sum()), 2.0**50, *outs)
    return [
        out.tobytes() for out in (packing.codes, signed, groups, stops, sums, *outs)
    ]


@pytest.mark.parametrize("n_features", [1, 4, 7, 40])
def test_parallel_kernels_give_the_same_bits_as_the_serial_ones(n_features):
    dataset = random_table(31, n_features)

    assert round_bits(dataset, "_parallel") == round_bits(dataset, "")


@pytest.mark.skipif(not IS_COMPILED, reason="threads belong to compiled kernels")
def test_result_is_the_same_bits_whatever_the_number_of_threads():
    dataset = random_table(9001, 23)
    expected = round_bits(dataset, "")
    most = numba.config.NUMBA_NUM_THREADS
    results = []
    for n_threads in sorted({1, min(2, most), most}):
        numba.set_num_threads(n_threads)
        results.append(round_bits(dataset, "_parallel"))
    numba.set_num_threads(most)

    assert all(result == expected for result in results)
