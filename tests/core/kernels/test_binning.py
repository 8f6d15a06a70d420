import numpy as np
import pytest

from askless.core import kernels
from askless.core.codes.cuts import tabulate_cuts
from askless.core.kernels import CHUNK, FEW, MISSING

NAN = float("nan")
NO_CUTS = tabulate_cuts([np.empty(0)] * 3)


def outputs(n_features, n_samples, known=()):
    """Known values, how many, whether any is missing, and codes."""
    values = np.full((n_features, FEW + 1), np.nan)
    values[:, : len(known)] = known
    sizes, has_missing = np.full(n_features, len(known)), np.zeros(n_features, np.bool_)
    learnt = kernels.ColumnFacts(values, sizes, has_missing)
    return learnt, np.zeros((n_features, n_samples), np.uint8)


@pytest.mark.parametrize("n_features", [1, 6])
def test_encode_marks_missing_and_counts_the_cuts_below(n_features):
    values = np.array([[0.0], [0.5], [1.0], [NAN], [9.0]]).repeat(n_features, axis=1)
    tables = tabulate_cuts([np.array([0.5, 1.5])] * n_features)
    found = outputs(n_features, 5, range(FEW + 1))

    kernels.encode(0, values, np.arange(n_features), tables, *found)

    (_, _, has_missing), codes = found
    assert codes.tolist() == [[0, 0, 1, MISSING, 2]] * n_features
    assert has_missing.all()


def test_encode_counts_the_known_values_below():
    values = np.array([[-0.0], [3.0], [NAN], [2.0]])
    found = outputs(1, 6, [0.0, 2.0, 3.0])

    kernels.encode(2, values, np.arange(1), NO_CUTS, *found)

    (_, sizes, has_missing), codes = found
    assert codes.tolist() == [[0, 0, 0, 2, MISSING, 1]]
    assert sizes.tolist() == [3]
    assert has_missing.tolist() == [True]


def test_encode_learns_the_distinct_values_in_order():
    values = np.array([[3.0], [NAN], [1.0], [3.0], [-np.inf], [np.inf]])
    found = outputs(1, 6, [1.0])

    kernels.encode(0, values, np.arange(1), NO_CUTS, *found)

    known, sizes, _ = found[0]
    assert known[0, : sizes[0]].tolist() == [-np.inf, 1.0, 3.0, np.inf]


@pytest.mark.parametrize("n_values", [FEW - 1, FEW, FEW + 1, FEW + 2, 1000])
def test_encode_learns_until_the_values_are_too_many(n_values):
    values = np.arange(n_values, dtype=np.float64)[:, np.newaxis]
    found = outputs(1, n_values)

    kernels.encode(0, values, np.arange(1), NO_CUTS, *found)

    assert found[0].sizes.tolist() == [min(n_values, FEW + 1)]


def test_encode_leaves_features_that_it_is_not_asked_for():
    values = np.arange(6.0).reshape(2, 3)
    found = outputs(3, 2)

    kernels.encode(0, values, np.array([1]), NO_CUTS, *found)

    assert found[0].sizes.tolist() == [0, 2, 0]


def test_encode_parallel_learns_what_every_chunk_has():
    n_samples = 2 * CHUNK + 1
    values = np.zeros((n_samples, 2))
    values[::CHUNK, 0] = [3.0, NAN, 1.0]
    values[CHUNK - FEW :, 1] = np.arange(n_samples - CHUNK + FEW)
    found = outputs(2, n_samples, [0.0])

    kernels.encode_parallel(values, np.arange(2), NO_CUTS, *found)

    (known, sizes, has_missing), codes = found
    assert known[0, : sizes[0]].tolist() == [0.0, 1.0, 3.0]
    assert sizes.tolist() == [3, FEW + 1]
    assert has_missing.tolist() == [True, False]
    assert codes[0, 1:CHUNK].tolist() == [0] * (CHUNK - 1)


def test_encode_parallel_codes_every_chunk_by_what_was_known():
    values = np.arange(2 * CHUNK + 1) % 3.0
    found = outputs(1, values.size, [0.0, 1.0, 2.0])

    kernels.encode_parallel(values[:, np.newaxis], np.arange(1), NO_CUTS, *found)

    assert found[1][0].tolist() == values.tolist()


@pytest.mark.parametrize(
    "cuts",
    [
        np.linspace(-1.0, 1.0, 254),
        # Nearly all cuts are in one place, or beyond what doubles hold.
        np.append(np.linspace(0.0, 1e-9, 253), 1.0),
        np.linspace(-1.7, 1.7, 9) * 1e308,
        np.arange(20) * 5e-324,
        np.array([3.0]),
    ],
)
def test_encode_counts_the_cuts_below_as_a_search_of_all_cuts(cuts):
    nearby = [np.nextafter(cuts, -np.inf), cuts, np.nextafter(cuts, np.inf)]
    values = np.concatenate([*nearby, [-1.75e308, -1.0, 0.0, 0.5, 1.75e308]])
    found = outputs(1, values.size, range(FEW + 1))

    kernels.encode(
        0, values[:, np.newaxis], np.arange(1), tabulate_cuts([cuts]), *found
    )

    assert found[1][0].tolist() == np.searchsorted(cuts, values).tolist()
