"""Compiled binning: codes from values.

Codes are uint8, one row per feature; `MISSING` marks a missing value.
"""

import numpy as np
from numba import prange

from core.kernels.jit import parallel_kernel

MISSING = np.uint8(255)
N_HISTOGRAM = 256
ENCODE_BLOCK = 8


@parallel_kernel
def encode(values, cuts, cut_starts, out_codes):
    """Code every value by binary search among its feature's cuts.

    values: (n_samples, n_features); cuts: flat, those of feature f from
    cut_starts[f] to cut_starts[f + 1], ascending, at most 255. The code of a number is
    how many cuts lie below it, of a category its position. out_codes: (n_features,
    n_samples).
    """
    n_samples, n_features = values.shape
    n_blocks = (n_features + ENCODE_BLOCK - 1) // ENCODE_BLOCK
    for block in prange(n_blocks):
        start = block * ENCODE_BLOCK
        stop = min(start + ENCODE_BLOCK, n_features)
        # Padded to one length, the search takes the same steps for every value and
        # needs no branch; eight features share each line of the cache.
        tables = np.full((ENCODE_BLOCK, N_HISTOGRAM), np.inf)
        for feature_idx in range(start, stop):
            for idx in range(cut_starts[feature_idx], cut_starts[feature_idx + 1]):
                tables[feature_idx - start, idx - cut_starts[feature_idx]] = cuts[idx]
        for row in range(n_samples):
            for feature_idx in range(start, stop):
                value = values[row, feature_idx]
                table = tables[feature_idx - start]
                code = 0
                for power in range(7, -1, -1):
                    step = 1 << power
                    code += step * (table[np.uint64(code + step - 1)] < value)
                out_codes[feature_idx, row] = MISSING if np.isnan(value) else code
