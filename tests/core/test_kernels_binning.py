import numpy as np
import pytest

from core import kernels

NAN = float("nan")


@pytest.mark.parametrize("n_features", [1, 6])
def test_encode_marks_missing_and_counts_the_cuts_below(n_features):
    values = np.array([[0.0], [0.5], [1.0], [NAN], [9.0]]).repeat(n_features, axis=1)
    cuts = np.tile([0.5, 1.5], n_features)
    starts = np.arange(0, 2 * n_features + 1, 2)
    codes = np.empty((n_features, 5), np.uint8)

    kernels.encode(values, cuts, starts, codes)

    assert codes.tolist() == [[0, 0, 1, kernels.MISSING, 2]] * n_features
