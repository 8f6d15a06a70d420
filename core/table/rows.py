"""Weights of rows, and the groups of rows that belong together."""

import numpy as np

from core.arrays import FloatArray, IntArray
from core.errors import Refusal
from core.table.catalogue import Feature
from core.table.columns import Columns, as_text, cell_refusal, read_feature
from core.table.spec import TableSpec


def read_weights(
    columns: Columns, spec: TableSpec, n_rows: int
) -> tuple[FloatArray, list[Refusal]]:
    """Read the weights of the rows, scaled to sum to 1; equal without a column."""
    ones = scale_weights(np.ones(n_rows))
    if spec.weight is None or spec.weight not in columns:
        return ones, []
    feature = Feature(spec.weight)
    _, values, refusals = read_feature(feature, columns[spec.weight])
    wrong = np.flatnonzero(~(values >= 0)).tolist()
    if wrong and not refusals:
        rule = "must be a number of at least 0"
        shown = [str(value) for value in values]
        refusals.append(cell_refusal(spec.weight, rule, wrong, list(shown)))
    if not refusals and not values.any():
        refusals.append(Refusal(f"column {spec.weight}", "must not be 0 in every row"))
    return (ones if refusals else scale_weights(values)), refusals


def scale_weights(weights: FloatArray) -> FloatArray:
    """Scale weights to sum to 1, also those whose sum no double holds.

    Beside the largest the smallest may become 0.
    """
    # By a power of 2 first, which changes no digit.
    bounded = np.ldexp(weights, -np.frexp(weights.max())[1])
    scaled: FloatArray = bounded / bounded.sum()
    return scaled


def read_row_groups(
    columns: Columns, spec: TableSpec
) -> tuple[IntArray | None, list[Refusal]]:
    """Give rows that belong together one number."""
    if spec.group_by is None or spec.group_by not in columns:
        return None, []
    cells = as_text(columns[spec.group_by])
    missing = [row for row, cell in enumerate(cells) if cell is None]
    if missing:
        return None, [cell_refusal(spec.group_by, "must not be empty", missing, cells)]
    return np.unique(np.array(cells, dtype=str), return_inverse=True)[1], []
