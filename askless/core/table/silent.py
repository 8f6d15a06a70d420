"""Mark missing cells that say nothing of their row: nobody asked, or none answered.

A table of cases has few of its cells: those that a policy asked for, which depends on
what was answered before. A cell that is missing for this reason must not be taken for
one that is missing in the world (Rubin 1976: missing by design, at random given what
was asked before).
"""

from collections.abc import Callable

import numpy as np

from askless.core.arrays import BoolArray, FloatArray

#: Returns which rows say nothing in a column, (n_samples,).
FindSilent = Callable[[str], BoolArray]

# A quiet NaN like any other for all who don't look at its bits: whatever treats missing
# cells as no information needs no mask, and no table a second array.
BITS = np.uint64(0x7FF8_0000_0000_51E7)
SILENT = np.array([BITS]).view(np.float64)


def mark_silent(values: FloatArray, is_silent: BoolArray) -> FloatArray:
    """Return values whose missing cells are marked where they say nothing.

    values : float64 array, shape (n_samples,); not changed.
    """
    marked: FloatArray = np.where(is_silent & np.isnan(values), SILENT, values)
    return marked


def mask_of_silent(values: FloatArray) -> BoolArray:
    """Return which cells are marked, in the shape of the values."""
    is_marked: BoolArray = values.view(np.uint64) == BITS
    return is_marked
