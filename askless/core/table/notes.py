"""Notes on a column: how its cells were read, and what is odd, though accepted.

A note has a cell as its example, and what to do where the cell is not meant so.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.catalogue import OTHER, Feature
from askless.core.errors import nearest_hint, shorten
from askless.core.table.cells import advise_on_writing
from askless.core.table.texts.categories import match_name, note_lookalikes
from askless.core.table.texts.numbers import (
    EXPONENT_CODE,
    INFINITE,
    MOST_CODE,
    MOST_EXACT,
    NEGATIVE,
    ZERO_CODE,
    has_leading_zero,
    is_coded,
    parse_number,
    read_number,
    write_number,
)

# So many values are checked first: most columns of fractions have one there.
N_FIRST = 1000
# Fewer rows may all differ by chance.
LEAST_ROWS = 20
# A missing word is named where so large a share of the cells read it.
FREQUENT = 0.05
# Nearly each cell has its own value where so large a share of them is distinct.
NEARLY_EACH = 0.9
# Numbers may be codes if there are at most so many, with so many rows each, which
# reach over so many times as many numbers.
MAX_CODE_VALUES, ROWS_PER_CODE, CODE_GAP = 50, 5, 4
# Numbers that people write for a missing value, outside the range of the others.
NEGATIVE_CODES = (-7.0, -8.0, -9.0, -99.0, -999.0, -9999.0, -99999.0)
POSITIVE_CODES = (99.0, 999.0, 9999.0, 99999.0)
# Numbers that may be something else: 007, 12E7, (5.20).
DOUBTFUL = (ZERO_CODE, EXPONENT_CODE, NEGATIVE)
AS_NUMBER = 'if it is a number, say "type": "number"'
AS_CODE = 'if these are codes, say "type": "category"'


def list_column_warnings(feature: Feature, values: FloatArray) -> list[str]:
    """Return warnings about a column that is odd, but accepted."""
    name = feature.name
    least = float(np.fmin.reduce(values, initial=math.nan))
    greatest = float(np.fmax.reduce(values, initial=math.nan))
    if math.isnan(least):
        return [f"{name}: every value is missing, so it is never bought"]
    if least == greatest:
        return [f"{name}: constant, so it is never bought"]
    return [f"{name}: {note}" for note in note_values(feature, values)]


def note_values(feature: Feature, values: FloatArray) -> list[str]:
    """Return notes on values whose cells may mean something else than was read."""
    if is_unique_per_row(feature, values):
        return ["looks like an identifier, each row has its own value"]
    if feature.type == "number":
        return [*note_numbers(values)]
    n_categories = len(feature.categories)
    remedy = advise_on_writing(feature.categories)
    if remedy:
        example = shorten(feature.categories[0])
        return [f"read as {n_categories} categories, as {example}; {remedy}"]
    warnings = note_lookalikes(feature.categories, "categories")
    if feature.type == "category" and is_nearly_unique(n_categories, values):
        example = shorten(next(c for c in feature.categories if c != OTHER))
        warnings.append(
            f"nearly each cell is a category of its own, as {example}, which says "
            "nothing of a new one; write numbers plainly, or ignore the column"
        )
    return warnings


def is_nearly_unique(n_categories: int, values: FloatArray) -> bool:
    """Return whether nearly each of many cells is a category of its own."""
    n_present = int(np.count_nonzero(~np.isnan(values)))
    return n_present > LEAST_ROWS and n_categories > NEARLY_EACH * n_present


def is_unique_per_row(feature: Feature, values: FloatArray) -> bool:
    """Return whether whole numbers or categories differ in all rows, none missing.

    Few rows may all differ by chance.
    """
    # Most columns end here: a few values decide.
    is_whole = feature.type == "number" and not np.any(values[:N_FIRST] % 1 != 0)
    if not is_whole and feature.type != "category":
        return False
    # Sorting takes long. Whole numbers in a narrow range repeat.
    # As floats of Python, since a difference of doubles may be infinite.
    width = float(values.max(initial=-math.inf)) - float(values.min(initial=math.inf))
    has_room = width >= values.size - 1 and values.size > LEAST_ROWS
    if not has_room or np.any(values % 1 != 0):
        return False
    return bool(np.unique(values).size == values.size)


def note_numbers(values: FloatArray) -> Iterator[str]:
    """Yield notes on whole numbers that doubles can't hold, and that are dates."""
    sizes = np.abs(values)
    large = np.flatnonzero((sizes > MOST_EXACT) & (sizes < MOST_CODE))
    if large.size:
        example = f"{write_number(values[large[0]])} in row {large[0] + 1}"
        yield (
            f"has numbers beyond 2^53, as {example}, whose last digits get lost; "
            f"{AS_CODE}"
        )
    if are_compact_dates(values):
        example = write_number(values[~np.isnan(values)][0])
        yield f"looks like dates, as {example}: a number says more, such as days since"


def are_compact_dates(values: FloatArray) -> bool:
    """Return whether all numbers are days of eight digits, as 20181014 or 10142018."""
    # Most columns end here: a few values decide.
    for numbers in (values[:N_FIRST], values):
        present = numbers[~np.isnan(numbers)]
        # Sorting takes long, so fractions are not sorted.
        present = present[:0] if np.any(present % 1 != 0) else np.unique(present)
        if present.size < 2:
            return False
        if present[0] < 1_01_1900 or present[-1] > 21_00_12_31:
            return False
        days = present.astype(np.int64)
        orders = (
            (days // 10_000, days // 100 % 100, days % 100),
            (days % 10_000, days // 1_000_000, days // 10_000 % 100),
            (days % 10_000, days // 10_000 % 100, days // 1_000_000),
        )
        if not any(are_days(*order) for order in orders):
            return False
    return True


def are_days(years: IntArray, months: IntArray, days: IntArray) -> bool:
    """Return whether all are years from 1900 to 2100, months and days of a month."""
    return bool(
        np.all((years >= 1900) & (years <= 2100))
        and np.all((months >= 1) & (months <= 12))
        and np.all((days >= 1) & (days <= 31))
    )


def note_reading(
    feature: Feature, counts: Counter[str], *, is_declared: bool = False
) -> list[str]:
    """Return notes on how the texts of a column were read, if its type was inferred.

    `counts` has how often each text occurs; those that mean missing are not in it.
    """
    words = [*counts]
    if feature.type == "number":
        return note_read_numbers(feature, words)
    if feature.type == "boolean":
        return []
    numbers = [
        word
        for word in words
        if read_number(word) is not None and not INFINITE.fullmatch(word)
    ]
    if not numbers or advise_on_writing(words):
        return []
    share = sum(counts[word] for word in numbers) / counts.total()
    for is_so, why in (
        (has_leading_zero, "has leading zeros"),
        (EXPONENT_CODE.fullmatch, "looks like a power of ten"),
        (is_coded, "has more digits than a number keeps"),
    ):
        example = next((word for word in numbers if is_so(word)), None)
        if example is not None:
            return [f"read as categories, since {shorten(example)} {why}; {AS_NUMBER}"]
    if is_declared and len(numbers) == len(words):
        text = f"{shorten(numbers[0])} is a text in its table"
        return [f"read as categories, since {text}; {AS_NUMBER}"]
    stray = next((word for word in words if word not in numbers), None)
    if stray is not None and (share >= FREQUENT and len(numbers) > 2):
        missing = f'put {shorten(stray)} in its `missing` and say "type": "number"'
        return [
            f"read as categories: it has numbers and words, as {shorten(numbers[0])} "
            f"and {shorten(stray)}; if the words mean missing, {missing}"
        ]
    return []


def note_read_numbers(feature: Feature, words: Sequence[str]) -> list[str]:
    """Return notes on numbers whose writing may mean something else."""
    if feature.decimal_comma:
        example = next((word for word in words if "," in word), "")
        number = read_number(example, feature.unit, decimal_comma=True)
        return (
            [f"has decimal commas: {shorten(example)} is {number}"] if example else []
        )
    return [
        f"{shorten(word)} is read as {write_number(number)}; {AS_CODE}"
        for word in words
        if any(written.fullmatch(word) for written in DOUBTFUL)
        and (number := parse_number(word)) is not None
        and math.isfinite(number)
    ][:1]


def note_missing_words(
    texts: Counter[str], n_rows: int, missing: Collection[str]
) -> list[str]:
    """Return a note on words by which many cells of a column are missing.

    `texts` has how often each text occurs in its `n_rows` cells.
    """
    frequent = [
        f"{count} cells read {word}"
        for word, count in texts.items()
        if word in missing and count >= max(2, FREQUENT * n_rows)
    ]
    if not frequent:
        return []
    return [
        f"{', '.join(frequent)}, which means missing; if it is a value, say in "
        "`missing_words` which words mean missing"
    ]


def note_unused_labels(feature: Feature, labels: Iterable[str]) -> list[str]:
    """Return a note for each category that has a label and is none of the feature's.

    `labels` are the names of the categories that a spec labels.
    """
    return [
        f"no row has the category {shorten(name)}, or it is joined as a rare one, so "
        f"its label is not used{nearest_hint(name, feature.categories)}"
        for name in labels
        if match_name(feature.categories, name) is None
    ]


def list_suspected_codes(values: FloatArray) -> list[float]:
    """Return numbers that probably mean missing, such as -999, outside the other range.

    A negative code counts if no other value is negative; a positive code if its
    distance from the other values exceeds their range. A code of -100 or above must
    occur at least twice.
    """
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    suspects = [
        code
        for code, count in zip(distinct.tolist(), counts.tolist(), strict=True)
        if code in NEGATIVE_CODES + POSITIVE_CODES and (code < -100 or count > 1)
    ]
    rest = distinct[~np.isin(distinct, suspects)]
    if rest.size == 0:
        return []
    least, most = float(rest[0]), float(rest[-1])
    return [
        code
        for code in suspects
        if (code < 0 <= least) or (code > 0 and code > 2 * most - least)
    ]


def note_codes(values: FloatArray) -> list[str]:
    """Return a note on numbers that may be codes: few whole ones, far apart.

    Each value has rows enough, and the numbers reach over several times as many whole
    numbers, in steps of their greatest common divisor.
    """
    known = np.unique(values[~np.isnan(values)])
    if (
        not 2 < known.size <= MAX_CODE_VALUES
        or values.size < ROWS_PER_CODE * known.size
    ):
        return []
    if np.any(known % 1 != 0) or np.abs(known).max() > MOST_EXACT:
        return []
    step = np.gcd.reduce(known.astype(np.int64))
    if np.ptp(known) < CODE_GAP * known.size * step:
        return []
    ends = f"{write_number(known[0])} to {write_number(known[-1])}"
    note = f"has few whole numbers, far apart ({known.size}, from {ends})"
    return [f"{note}; if they are codes, say type category"]
