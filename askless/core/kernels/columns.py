"""Standardised columns of the values of features."""

from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.kernels.jit import kernel

# Codes of columns: for a number, and for a column that marks missing values.
NUMBER_CODE, MISSING_CODE = -1, -2

MOST = np.finfo(np.float64).max


class ColumnScales(NamedTuple):
    """How values become columns; each array (n_columns,), as in `Columns`."""

    feature_idxs: IntArray
    codes: IntArray
    lows: FloatArray
    highs: FloatArray
    means: FloatArray
    scales: FloatArray


@kernel
def standardise_rows(values, columns, out_columns):
    """Write the standardised columns of rows; NaN, a missing value, becomes 0.

    values: (n_rows, n_features); columns: a `ColumnScales`. out_columns: float64
    (n_rows, n_columns).
    """
    for row in range(values.shape[0]):
        for place in range(columns.codes.shape[0]):
            value = values[row, columns.feature_idxs[place]]
            code = columns.codes[place]
            if code == MISSING_CODE:
                value = 1.0 if np.isnan(value) else 0.0
            elif code == NUMBER_CODE:
                # NaN is neither below nor above, and stays.
                value = columns.lows[place] if value < columns.lows[place] else value
                value = columns.highs[place] if value > columns.highs[place] else value
            elif not np.isnan(value):
                value = 1.0 if value == code else 0.0
            scaled = (value - columns.means[place]) / columns.scales[place]
            if np.isnan(scaled):
                scaled = 0.0
            out_columns[row, place] = min(max(scaled, -MOST), MOST)
