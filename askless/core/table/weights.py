"""Read the weights of a table's rows, and which rows belong together."""

import math

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.catalogue import Feature
from askless.core.errors import Refusal
from askless.core.table.columns import (
    Columns,
    cell_refusal,
    read_feature,
    scale_weights,
    show_numbers,
    to_text_cells,
)
from askless.core.table.spec import TableSpec
from askless.core.table.texts.categories import unify_spellings


def read_weights(
    columns: Columns, spec: TableSpec, n_rows: int
) -> tuple[FloatArray, float, list[Refusal]]:
    """Read the weights of the rows, scaled to sum to 1, and their mean before that.

    All weights are 1 without a column, and where there are refusals.
    """
    values, refusals = read_raw_weights(columns, spec, n_rows)
    if not refusals and not values.any():
        refusals.append(Refusal(f"column {spec.weight}", "must not be 0 in every row"))
    if refusals:
        values = np.ones(n_rows)
    return scale_weights(values), overflow_safe_mean(values), refusals


def read_raw_weights(
    columns: Columns, spec: TableSpec, n_rows: int
) -> tuple[FloatArray, list[Refusal]]:
    """Read the weights of the rows without scaling them; 1 without a column."""
    if spec.weight is None or spec.weight not in columns:
        return np.ones(n_rows), []
    values, refusals = read_feature(Feature(spec.weight), columns[spec.weight])
    # Not `values < 0`: a missing weight, NaN, is wrong too.
    wrong = np.flatnonzero(~(values >= 0))
    if wrong.size and not refusals:
        rule = "must be a number of at least 0"
        shown = show_numbers(values, wrong)
        refusals.append(cell_refusal(spec.weight, rule, wrong, shown))
    return values, refusals


def overflow_safe_mean(weights: FloatArray) -> float:
    """Return the mean of weights, even where their sum would overflow.

    It is above 0: a mean below the least positive number is that number.
    """
    # Scaling by a power of 2 is exact.
    power = np.frexp(weights.max())[1]
    mean = float(np.ldexp(np.ldexp(weights, -power).mean(), power))
    return max(mean, math.ulp(0.0))


def read_row_groups(
    columns: Columns, spec: TableSpec
) -> tuple[IntArray | None, list[Refusal]]:
    """Return a number for each row, the same for rows that belong together."""
    if spec.group_by is None or spec.group_by not in columns:
        return None, []
    cells = to_text_cells(columns[spec.group_by], spec.words)
    missing = np.flatnonzero(cells.is_missing)
    if missing.size:
        return None, [cell_refusal(spec.group_by, "must not be empty", missing, cells)]
    names = unify_spellings(cells.present)
    words = np.array([names.get(word or "", "") for word in cells.words], dtype=str)
    return np.unique(words, return_inverse=True)[1][cells.numbers], []
