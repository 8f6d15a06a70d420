"""Read columns of an outside table as values, or refuse them.

Columns come as float64 arrays (NaN: missing) or as arrays of str and None.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
import numpy.typing as npt

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.catalogue.catalogue import OTHER, Feature, FeatureType
from askless.core.errors import Refusal, nearest_hint, shorten
from askless.core.table.cells import (
    MISSING_WORDS,
    TYPE_RULES,
    advise_on_writing,
    infer_cell_type,
    is_blank,
    is_within_limits,
    list_missing_numbers,
    missing_words,
    read_cell,
    tidy_cells,
)
from askless.core.table.dataset import MAX_CODES
from askless.core.table.texts.categories import (
    list_ambiguous_labels,
    match_name,
    unify_spellings,
)
from askless.core.table.texts.numbers import (
    COMMA_NUMBER,
    read_number,
    strip_unit,
    uses_decimal_commas,
    write_number,
)

Column = npt.NDArray[np.float64] | npt.NDArray[np.object_]
Columns = Mapping[str, Column]

MAX_EXAMPLES = 3
# Columns that a refusal names.
MAX_NAMES = 8
CATEGORY_REMEDY = (
    'join rare ones by `rare`, say "type": "number" if these are numbers, or ignore '
    "the column"
)


def unknown_column(role: str, name: str, columns: Columns) -> Refusal:
    """Return a refusal of a name that no column has, with the nearest or all names."""
    hint = nearest_hint(name, columns)
    if not hint and columns:
        first = ", ".join(shorten(column) for column in [*columns][:MAX_NAMES])
        hint = f", which are {first}" + ", ..." * (len(columns) > MAX_NAMES)
    return Refusal(role, f"must be a column of the table{hint}", repr(name))


def size_refusals(task: str, needed: int, memory: int | None) -> list[Refusal]:
    """Return a refusal if a task needs more memory than there is, else none.

    `needed` and `memory` are in bytes; `memory` None: no limit.
    """
    if memory is None or needed <= memory:
        return []
    rule = (
        f"{task} must fit the memory; it needs {needed / 1e9:.1f} GB, and there are "
        f"{memory / 1e9:.1f} GB"
    )
    return [Refusal("table", rule)]


@dataclass(frozen=True, eq=False)
class Cells(Sequence[str | None]):
    """The cells of a column as tidied text, stored as words and their numbers.

    Row r has `words[numbers[r]]`; a word may occur twice. `numbers` (n_samples,).
    """

    words: tuple[str | None, ...]
    numbers: npt.NDArray[np.integer]

    def __len__(self) -> int:
        return int(self.numbers.size)

    @overload
    def __getitem__(self, row: int) -> str | None: ...
    @overload
    def __getitem__(self, row: slice) -> "Cells": ...
    def __getitem__(self, row: int | slice) -> "str | Cells | None":
        if isinstance(row, slice):
            return Cells(self.words, self.numbers[row])
        return self.words[int(self.numbers[row])]

    @property
    def present(self) -> Counter[str]:
        """How many rows have each word; missing cells are not counted."""
        counts = np.bincount(self.numbers, minlength=len(self.words)).tolist()
        n_rows: Counter[str] = Counter()
        for word, count in zip(self.words, counts, strict=True):
            if word is not None and count:
                n_rows[word] += count
        return n_rows

    @property
    def is_missing(self) -> BoolArray:
        """Whether a row has no word; (n_samples,)."""
        missing = np.array([word is None for word in self.words], np.bool_)
        is_missing: BoolArray = missing[self.numbers]
        return is_missing


def to_text_cells(column: Column, missing: Collection[str] = MISSING_WORDS) -> Cells:
    """Return cells as tidied text; whole numbers without a decimal point.

    Words in `missing` are missing cells.
    """
    if column.dtype == np.object_:
        places: dict[str | None, int] = {}
        place_of = (places.setdefault(cell, len(places)) for cell in column)
        numbers = np.fromiter(place_of, np.int32, len(column))
        return Cells(tuple(tidy_cells(places, missing)), numbers)
    # Adding 0.0 turns minus zero into zero.
    values, places_of = np.unique(column + 0.0, return_inverse=True)
    words = (None if math.isnan(x) else write_number(x) for x in values.tolist())
    return Cells(tuple(words), places_of)


def cell_refusal(
    name: str, rule: str, rows: IntArray, cells: Sequence[str | None] | dict[int, str]
) -> Refusal:
    """Return a refusal of a column's cells at `rows`, which shows the first few."""
    first, n_more = rows[:MAX_EXAMPLES].tolist(), len(rows[MAX_EXAMPLES:])
    tail = f" and {n_more} more" if n_more else ""
    shown = (f"{describe_cell(cells[row])} in row {row + 1}" for row in first)
    numbers = ", ".join(str(row + 1) for row in first)
    named = f"row{'s' * (len(rows) > 1)} {numbers}{tail}"
    return Refusal(f"column {name}", rule, ", ".join(shown) + tail, named)


def show_numbers(values: FloatArray, rows: IntArray) -> dict[int, str]:
    """Return, by row, the text of the numbers that a refusal of the rows shows."""
    return {row: str(values[row]) for row in rows[:MAX_EXAMPLES].tolist()}


def describe_cell(cell: str | None) -> str:
    """Return a wrong cell as short text."""
    return "nothing" if cell is None else shorten(cell)


def count_texts(column: Column) -> Counter[str]:
    """Return how many cells have each text, those that mean missing too.

    Numbers are no texts.
    """
    is_text = column.dtype == np.object_
    return to_text_cells(column, ()).present if is_text else Counter()


def select_present(feature: Feature, texts: Counter[str]) -> Counter[str]:
    """Return the counts of texts that don't mean missing in a feature of any type."""
    missing = {*missing_words(feature), *feature.missing}
    return Counter({text: n for text, n in texts.items() if text not in missing})


def infer_type(
    feature: Feature, column: Column, texts: Counter[str], *, is_declared: bool = False
) -> FeatureType:
    """Return the type that a column suggests; 0 and 1 are numbers too.

    `texts` are those of its cells (`count_texts`); what means missing doesn't count.
    `is_declared`: the source says that these are texts or categories, so they are no
    numbers whatever they look like.
    """
    if column.dtype != np.object_:
        return "category" if is_declared else "number"
    counts, has_gaps = select_present(feature, texts), feature.missing_words is None
    return infer_cell_type(counts, has_gaps=has_gaps, is_declared=is_declared)


def learn_writing(feature: Feature, texts: Iterable[str]) -> Feature:
    """Return a number feature that knows whether its column has decimal commas."""
    is_number = feature.type == "number" and not feature.decimal_comma
    if is_number and uses_decimal_commas(texts):
        return replace(feature, decimal_comma=True)
    return feature


def read_feature(
    feature: Feature, column: Column, remedy: str = ""
) -> tuple[FloatArray, list[Refusal]]:
    """Return the values of a column, read by its feature's type, and refusals.

    `remedy` ends the rule for cells of another type.
    """
    wrong: IntArray = np.empty(0, np.int64)
    cells: Cells | None = None
    if feature.type == "category" or column.dtype == np.object_:
        cells = to_text_cells(column, missing_words(feature))
        words = filter(None, cells.words)
        values, wrong = read_text_cells(learn_writing(feature, words), cells)
    else:
        # A column may be long, so it is copied only where something changes.
        values = np.asarray(column, np.float64)
        blanks = [*list_missing_numbers(feature)]
        if blanks:
            values = np.where(np.isin(values, blanks), math.nan, values)
        if feature.type == "boolean":
            is_wrong = ~np.isnan(values) & (values != 0) & (values != 1)
            wrong = np.flatnonzero(is_wrong)
    refusals = []
    if wrong.size:
        found_cells = to_text_cells(column) if cells is None else cells
        rule = type_rule(feature, found_cells, wrong) + remedy
        refusals.append(cell_refusal(feature.name, rule, wrong, found_cells))
    odd = [(np.isinf(values), f"must be finite{remedy}")]
    if feature.least is not None or feature.most is not None:
        is_outside = np.isfinite(values) & ~is_within_limits(feature, values)
        odd.append((is_outside, feature.limit_rule))
    for is_odd, rule in odd:
        if (rows := np.flatnonzero(is_odd)).size:
            shown = show_numbers(values, rows) if cells is None else cells
            refusals.append(cell_refusal(feature.name, rule, rows, shown))
    return values, refusals


def read_text_cells(feature: Feature, cells: Cells) -> tuple[FloatArray, IntArray]:
    """Return the values of text cells, and the rows of those of another type.

    A unit must be in every number or in none: the rarer ones are wrong.
    """
    read = [read_cell(feature, cell) for cell in cells.words]
    is_wrong = np.array([value is None for value in read], np.bool_)
    parsed = [math.nan if value is None else value for value in read]
    values = np.array(parsed, np.float64)
    if feature.type == "number" and feature.unit:
        is_number = ~np.isnan(values)
        plain = [word and read_number(word) for word in cells.words]
        has_unit = np.array([number is None for number in plain], np.bool_)
        counts = np.bincount(cells.numbers, minlength=len(cells.words))
        n_with = counts[is_number & has_unit].sum()
        n_without = counts[is_number & ~has_unit].sum()
        if n_with and n_without:
            is_wrong |= is_number & (has_unit if n_with <= n_without else ~has_unit)
    return values[cells.numbers], np.flatnonzero(is_wrong[cells.numbers])


def type_rule(feature: Feature, cells: Cells, wrong: IntArray) -> str:
    """Return the rule that the wrong cells of a column break."""
    rule = TYPE_RULES[feature.type]
    if feature.type != "number":
        return rule
    shown = [cells[row] or "" for row in wrong[:MAX_EXAMPLES].tolist()]
    if feature.unit and any(read_cell(feature, cell) is not None for cell in shown):
        return f"must be numbers with the unit {feature.unit}, or all without it"
    if any(COMMA_NUMBER.fullmatch(strip_unit(cell, feature.unit)) for cell in shown):
        rule += "; a comma must part thousands, as in 1,234"
    return rule


def learn_categories(
    feature: Feature,
    column: Column,
    rare: int = 0,
    labels: Mapping[str, str] | None = None,
) -> tuple[Feature, list[Refusal]]:
    """Return a category feature with the values present as its categories.

    Categories of fewer than `rare` rows are joined into `OTHER`. More than `MAX_CODES`
    are refused, and so are `labels`, by category, that could mean two of them.
    """
    counts = count_categories(feature, column)
    frequent = {name for name, count in counts.items() if count >= rare}
    has_other = len(frequent) < len(counts)
    categories = sorted(frequent | {OTHER} if has_other else frequent)
    feature = replace(feature, has_other=has_other)
    if len(categories) <= MAX_CODES:
        feature = replace(feature, categories=tuple(categories))
        return label_categories(feature, labels or {})
    remedy = advise_on_writing(categories) or CATEGORY_REMEDY
    rule = f"must have at most {MAX_CODES} categories; {remedy}"
    shown = f"{len(categories)}, as {shorten(categories[0])}"
    return feature, [Refusal(f"column {feature.name}", rule, shown)]


def label_categories(
    feature: Feature, labels: Mapping[str, str]
) -> tuple[Feature, list[Refusal]]:
    """Return a category feature with its labels, and refusals of ambiguous ones.

    A category without a label is read as its name. Labels of categories that no row has
    are not kept.
    """
    by_place = {match_name(feature.categories, name): name for name in labels}
    shown = tuple(
        labels[by_place[place]] if place in by_place else category
        for place, category in enumerate(feature.categories)
    )
    if shown == feature.categories:
        return feature, []
    refusals = [
        Refusal(f"column {feature.name}", rule, shorten(label))
        for label, rule in list_ambiguous_labels(feature.categories, shown)
    ]
    return replace(feature, category_labels=shown), refusals


def count_categories(feature: Feature, column: Column) -> Counter[str]:
    """Return how many rows have each category; spellings of one are joined."""
    present = to_text_cells(column, missing_words(feature)).present
    words = [word for word in present if not is_blank(feature, word)]
    counts: Counter[str] = Counter()
    for word, name in unify_spellings(words).items():
        counts[name] += present[word]
    return counts


def scale_weights(weights: FloatArray) -> FloatArray:
    """Scale weights to sum to 1, even where their sum would overflow.

    Weights that are tiny compared with the largest may become 0.
    """
    # Scaling by a power of 2 first is exact.
    bounded = np.ldexp(weights, -np.frexp(weights.max())[1])
    scaled: FloatArray = bounded / bounded.sum()
    return scaled
