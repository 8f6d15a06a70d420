"""What a spec should say of a column that nobody has described yet."""

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from core.arrays import FloatArray, IntArray
from core.errors import describe
from core.table.binning import MAX_CODES
from core.table.catalogue import Feature, FeatureType
from core.table.cells import (
    infer_cells,
    is_date,
    is_gap,
    number_text,
    parse_number,
)
from core.table.columns import Column, as_text, learn_categories, read_feature
from core.table.leaks import score_column

# Of what it would take to be certain, a column that says so much is suspected.
LEAK = 0.95
NEARLY_EMPTY = 0.95
# Words among so few different numbers are categories.
FEW_NUMBERS = 20
MAX_STRAYS = 50
# Codes for missing that people use; they stand outside of what else is there.
NEGATIVE_CODES = (-7.0, -8.0, -9.0, -99.0, -999.0, -9999.0, -99999.0)
POSITIVE_CODES = (99.0, 999.0, 9999.0, 99999.0)
# Least counts of categories that are tried, and the most that may be left then.
RARES = (5, 10, 20, 50, 100, 200, 500, 1000)
KEPT_CATEGORIES = 100
# Last words of the names of identifiers.
ID_WORDS = frozenset(
    {"id", "ids", "uid", "uuid", "guid", "key", "nr", "nbr", "index", "idx", "mrn"}
)
LEAST_ROWS = 20
DATES = "dates; a number says more, such as days since a day"
IDENTIFIER = "an identifier"
REPEATED = "an identifier that repeats; as `group_by` it keeps its rows together"


@dataclass(frozen=True)
class ColumnDraft:
    """What a spec should say of a column, and what a person should know of it.

    `missing` and `rare` are for the feature; `reason` says why a column is to be
    ignored, "": it is a feature.
    """

    name: str
    type: FeatureType
    missing: tuple[str, ...] = ()
    rare: int = 0
    reason: str = ""
    notes: tuple[str, ...] = ()


def draft_column(
    name: str, column: Column, targets: IntArray, n_classes: int
) -> ColumnDraft:
    """Return what a column should be, as far as its cells tell.

    Parameters
    ----------
    column : array, shape (n_samples,)
        float64 with NaN, or str and None.
    targets : int64 array, shape (n_samples,)
        Class positions, for columns that say too much of them.
    """
    kind, missing, notes = read_kind(column)
    feature = Feature(name, type=kind, missing=missing)
    rare = 0
    if kind == "category":
        feature, rare, reason = draft_categories(feature, column)
        if reason:
            return ColumnDraft(name, kind, reason=reason)
    values, _ = read_feature(feature, column)
    if kind == "number":
        codes = suspect_codes(values)
        missing += tuple(map(number_text, codes))
        values = np.where(np.isin(values, codes), np.nan, values)
        notes += [f"{number_text(one)} is taken for missing" for one in codes]
    reason = find_reason(name, kind, values)
    notes += [] if reason else find_oddities(values, targets, n_classes)
    return ColumnDraft(name, kind, missing, rare, reason, tuple(notes))


def read_kind(column: Column) -> tuple[FeatureType, tuple[str, ...], list[str]]:
    """Return a column's type, stray words that are to be missing, and notes."""
    if column.dtype != np.object_:
        return "number", (), []
    cells = as_text(column)
    kind = infer_cells(cells.present)
    if kind != "number":
        return kind, (), []
    counts = Counter({one: n for one, n in cells.present.items() if not is_gap(one)})
    strays = sorted(cell for cell in counts if parse_number(cell) is None)
    if not strays:
        return kind, (), []
    row = next(row for row, cell in enumerate(cells) if cell in strays)
    place = f"{describe(cells[row])} in row {row + 1}"
    if len(counts) - len(strays) <= FEW_NUMBERS or len(strays) > MAX_STRAYS:
        note = f"has numbers and words, as {place}, so it is read as categories"
        return "category", (), [note]
    n_rows = sum(counts[cell] for cell in strays)
    more = "" if n_rows == 1 else f" and {n_rows - 1} more cells"
    note = f"{place}{more} stands among numbers, so it is taken for missing"
    return kind, tuple(strays), [note]


def draft_categories(feature: Feature, column: Column) -> tuple[Feature, int, str]:
    """Return a feature with categories, the count that joins rare ones, or a reason.

    The reason says why the column is to be ignored.
    """
    counts = as_text(column).present
    n_rows, n_categories = counts.total(), len(counts)
    if 2 * sum(map(is_date, counts)) > n_categories:
        return feature, 0, DATES
    reason = name_rows(feature.name, n_categories, n_rows)
    if reason:
        return feature, 0, reason
    rare = 0
    if n_categories > MAX_CODES:
        kept = {least: [n for n in counts.values() if n >= least] for least in RARES}
        few = (one for one in RARES if len(kept[one]) <= KEPT_CATEGORIES)
        rare = next(few, 0)
        if 2 * sum(kept.get(rare, ())) < n_rows:
            return feature, 0, f"free text: {n_categories} values, few of them common"
    return learn_categories(feature, column, rare)[0], rare, ""


def name_rows(name: str, n_distinct: int, n_rows: int) -> str:
    """Return why words or whole numbers are an identifier; "": they are none."""
    if n_rows <= LEAST_ROWS:
        return ""
    if n_distinct == n_rows:
        return IDENTIFIER
    return REPEATED if has_id_name(name) and 2 * n_distinct > n_rows else ""


def has_id_name(name: str) -> bool:
    """Whether a column is called as identifiers are: "patient_id", "RowNr"."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+", name)
    return bool(words) and words[-1].lower() in ID_WORDS


def suspect_codes(values: FloatArray) -> list[float]:
    """Return numbers that people write for missing, and that stand apart.

    Negative ones where nothing else is negative; positive ones further from the rest
    than that is wide. One that might be measured, too, stands twice at least.
    """
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    suspects = [
        one
        for one, count in zip(distinct.tolist(), counts.tolist(), strict=True)
        if one in NEGATIVE_CODES + POSITIVE_CODES and (one < -100 or count > 1)
    ]
    rest = distinct[~np.isin(distinct, suspects)]
    if rest.size == 0:
        return []
    least, most = float(rest[0]), float(rest[-1])
    return [
        one
        for one in suspects
        if (one < 0 <= least) or (one > 0 and one > 2 * most - least)
    ]


def find_reason(name: str, kind: FeatureType, values: FloatArray) -> str:
    """Return why a column is to be ignored; "": it is a feature."""
    present = values[~np.isnan(values)]
    if present.size == 0:
        return "empty"
    n_distinct = np.unique(present).size
    if n_distinct == 1:
        return "constant"
    if kind != "number" or np.any(present % 1 != 0):
        return ""
    reason = name_rows(name, n_distinct, present.size)
    # Whole numbers that all differ may be measured, unless they are almost in a row.
    is_dense = np.ptp(present) < 2 * present.size
    return reason if is_dense or has_id_name(name) else ""


def find_oddities(values: FloatArray, targets: IntArray, n_classes: int) -> list[str]:
    """Return what a person should look at, although the column is a feature."""
    notes = []
    empty = float(np.isnan(values).mean())
    if empty >= NEARLY_EMPTY:
        notes.append(f"{100 * empty:.0f} % of its values are missing")
    told = score_column(values, targets, n_classes)
    if told >= LEAK:
        notes.append(
            "says nearly all of the target by itself; if it is known only after the "
            "answer, put it in `ignore`"
        )
    return notes
