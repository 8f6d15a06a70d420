"""Columns of an outside table as values, weights and row groups, or what is wrong.

Columns come as float64 arrays (NaN: missing) or as arrays of str and None.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches

import numpy as np
import numpy.typing as npt

from core.arrays import FloatArray, IntArray
from core.errors import Refusal, describe
from core.table.binning import MAX_CODES
from core.table.catalogue import UNSEEN, Feature, FeatureType
from core.table.spec import TableSpec

Column = npt.NDArray[np.float64] | npt.NDArray[np.object_]
Columns = Mapping[str, Column]

TRUE_WORDS = frozenset({"true", "t", "yes", "y"})
FALSE_WORDS = frozenset({"false", "f", "no", "n"})
# Numbers are numbers; these are read where a feature is known to be boolean.
TRUE_NUMBERS = frozenset({"1", "1.0"})
FALSE_NUMBERS = frozenset({"0", "0.0"})
MAX_EXAMPLES = 3


def unknown_column(role: str, name: str, columns: Columns) -> Refusal:
    """Refuse a name that no column has, with the nearest that one has."""
    near = get_close_matches(name, list(columns), n=1)
    hint = f"; the nearest is {near[0]!r}" if near else ""
    return Refusal(role, f"must be a column of the table{hint}", repr(name))


def refuse_size(task: str, needed: int, memory: int | None) -> list[Refusal]:
    """Refuse a table for which a task would take more memory than there is, bytes."""
    if memory is None or needed <= memory:
        return []
    rule = (
        f"{task} must fit the memory; it needs {needed / 1e9:.1f} GB, and there are "
        f"{memory / 1e9:.1f} GB"
    )
    return [Refusal("table", rule)]


def as_text(column: Column) -> list[str | None]:
    """Return cells as text; whole numbers without a decimal point."""
    if column.dtype == np.object_:
        return list(column)
    return [
        None if math.isnan(value) else f"{value:.0f}" if value % 1 == 0 else repr(value)
        for value in column.tolist()
    ]


def cell_refusal(
    name: str, rule: str, rows: list[int], cells: list[str | None]
) -> Refusal:
    """Refuse cells of a column, naming the first few rows."""
    shown = [f"{describe(cells[row])} in row {row + 1}" for row in rows[:MAX_EXAMPLES]]
    more = len(rows) - len(shown)
    tail = f" and {more} more" if more else ""
    return Refusal(f"column {name}", rule, ", ".join(shown) + tail)


def infer_type(column: Column) -> FeatureType:
    """Return a feature's type: numbers (0 and 1 too), true or false, else category."""
    if column.dtype != np.object_:
        return "number"
    present = {cell for cell in column if cell is not None}
    if all(parse_number(cell) is not None for cell in present):
        return "number"
    words = {cell.strip().lower() for cell in present}
    return "boolean" if words <= TRUE_WORDS | FALSE_WORDS else "category"


def read_feature(
    feature: Feature, column: Column
) -> tuple[Feature, FloatArray, list[Refusal]]:
    """Read a column by its feature's type; a category's values are learnt once."""
    if feature.type == "category":
        return read_category(feature, as_text(column))
    is_boolean = feature.type == "boolean"
    if column.dtype == np.object_:
        parse = parse_boolean if is_boolean else parse_number
        parsed = [parse(cell) for cell in column]
        wrong = [row for row, value in enumerate(parsed) if value is None]
        values = np.array([math.nan if v is None else v for v in parsed], np.float64)
    else:
        values = np.asarray(column, np.float64)
        is_wrong = np.zeros(values.size, np.bool_)
        if is_boolean:
            is_wrong = ~np.isnan(values) & (values != 0) & (values != 1)
        wrong = np.flatnonzero(is_wrong).tolist()
    refusals = []
    if wrong:
        rule = "must be true or false" if is_boolean else "must be a number"
        refusals.append(cell_refusal(feature.name, rule, wrong, as_text(column)))
    infinite = np.flatnonzero(np.isinf(values)).tolist()
    if infinite:
        shown: list[str | None] = [str(value) for value in values]
        refusals.append(cell_refusal(feature.name, "must be finite", infinite, shown))
    return feature, values, refusals


def read_category(
    feature: Feature, cells: list[str | None]
) -> tuple[Feature, FloatArray, list[Refusal]]:
    """Read a category column; without known categories those present are learnt."""
    if not feature.categories:
        present = sorted({cell for cell in cells if cell is not None})
        if len(present) > MAX_CODES:
            rule = f"must have at most {MAX_CODES} categories"
            wrong = Refusal(f"column {feature.name}", rule, str(len(present)))
            return feature, np.zeros(len(cells)), [wrong]
        feature = replace(feature, categories=tuple(present))
    codes = {category: float(code) for code, category in enumerate(feature.categories)}
    values = [math.nan if c is None else codes.get(c, UNSEEN) for c in cells]
    return feature, np.array(values, np.float64), []


def parse_number(cell: str | None) -> float | None:
    """Return the number that a text is, None where it is none.

    The one rule for tables, answers and options: ASCII digits without underscores.
    """
    if cell is None:
        return math.nan
    try:
        return float(cell) if cell.isascii() and "_" not in cell else None
    except ValueError:
        return None


def parse_boolean(cell: str | None) -> float | None:
    """Return the boolean that a text is, also 0 or 1; None where it is none."""
    if cell is None:
        return math.nan
    word = cell.strip().lower()
    if word in TRUE_WORDS | TRUE_NUMBERS:
        return 1.0
    return 0.0 if word in FALSE_WORDS | FALSE_NUMBERS else None


def column_warnings(feature: Feature, values: FloatArray) -> list[str]:
    """Say what is odd about a column although it is legal."""
    present = values[~np.isnan(values)]
    if present.size == 0:
        return [f"{feature.name}: every value is missing, so it is never bought"]
    n_distinct = np.unique(present).size
    if n_distinct == 1:
        return [f"{feature.name}: constant, so it is never bought"]
    is_whole = feature.type == "number" and bool(np.all(present % 1 == 0))
    if n_distinct == values.size > 20 and (is_whole or feature.type == "category"):
        return [f"{feature.name}: looks like an identifier, each row has its own value"]
    return []


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
        shown: list[str | None] = [str(value) for value in values]
        refusals.append(cell_refusal(spec.weight, rule, wrong, shown))
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
    """Return a number for each row, the same for rows that belong together."""
    if spec.group_by is None or spec.group_by not in columns:
        return None, []
    cells = as_text(columns[spec.group_by])
    missing = [row for row, cell in enumerate(cells) if cell is None]
    if missing:
        return None, [cell_refusal(spec.group_by, "must not be empty", missing, cells)]
    return np.unique(np.array(cells, dtype=str), return_inverse=True)[1], []
