"""Read a cell as missing, a number, a boolean or a category.

The rules are the same for tables, answers and options of the command line.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import Any

import numpy as np

from askless.core.catalogue.catalogue import Feature, FeatureType
from askless.core.table.texts.categories import category_code
from askless.core.table.texts.numbers import (
    NEGATIVE,
    SIGNED,
    has_leading_zero,
    is_coded,
    is_measure,
    parse_number,
    read_number,
    uses_decimal_commas,
    write_number,
)

#: The beginning of the names that pandas makes up for columns without one.
UNNAMED = "Unnamed: "
# The beginning of the name that pandas gives an index in Parquet.
INDEX = "__index_level_"
#: These mean missing in a column of any type, unless a spec says other words.
MISSING_WORDS = (
    *("", "NA", "N/A", "n/a", "#N/A", "<NA>"),
    *("NaN", "nan", "null", "NULL", "?"),
)
#: These mean missing in a column of numbers or booleans, in capitals too; a category
#: may have such a name.
GAP_WORDS = frozenset(
    {"-", "--", ".", "none", "missing", "na", "n/a", "n.a.", "#n/a", "<na>", "null"}
)
TRUE_WORDS = frozenset({"true", "t", "yes", "y"})
FALSE_WORDS = frozenset({"false", "f", "no", "n"})
# Text with more distinct values than this may be numbers that are written oddly.
MANY_CATEGORIES = 20
# A column with more units than so many has codes that end with a letter, as 37F.
MOST_UNITS = 4
DATES = "these are dates: write numbers, such as days since, or ignore the column"
SIGNS = "these are numbers with signs or units: say type number and the `unit`"
# A column of numbers, of which so large a share has leading zeros, has codes.
ZERO_SHARE = 0.01

_MONTH = (
    "(?:jan|feb|fev|fév|ene|mar|mär|mrz|apr|avr|abr|may|mai|jun|juin|jul|juil|aug|aou|"
    "aoû|ago|sep|set|oct|okt|out|nov|dec|dez|déc|dic)[^\\W\\d_]*\\.?"
)
DATE = re.compile(
    r"(?:[^\W\d_]{2,9}\.?,? )?"
    r"((?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
    r"|(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|[12]\d|3[01])(?:19|20)\d\d"
    r"|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})"
    r"|(19|20)\d\d-(0[1-9]|1[0-2])"
    rf"|\d{{1,2}}\.?[-/ ]?{_MONTH}[-/ ,]*(\d{{4}}|\d{{2}})"
    rf"|{_MONTH}[- ]*(\d{{1,2}}(st|nd|rd|th)?,?[- ]+)?\d{{4}})"
    r"([T ]+\d{1,2}:\d{2}.*)?",
    re.IGNORECASE,
)
# A cell that programs write for spreadsheets, so that they leave its text alone.
FORMULA_TEXT = re.compile(r'="([^"]*)"|=([-+]?[\d.,]+)')
# Characters without width, which pages and exports leave at the ends of texts.
WIDTHLESS = "\u200b\u200c\u200d\u2060\ufeff"
#: Time that says nothing: the day is meant.
MIDNIGHT = r"[ T]00:00:00(\.0+)?$"
TYPE_RULES: dict[FeatureType, str] = {
    "number": "must be a number, or empty",
    "boolean": "must be true or false, or empty",
}


def write_cell(value: object) -> str | None:
    """Return a value of any library as the text of its cell; None: it is missing.

    A number, a boolean or a day is written as tables of text have it, so that one
    value is one text whatever way it comes in.
    """
    if value is None:
        return None
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        return None if value != value else write_number(float(value))
    if isinstance(value, Decimal):
        is_whole = value.is_finite() and value % 1 == 0
        return f"{value:.0f}" if is_whole else str(value)
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    return value if isinstance(value, str) else re.sub(MIDNIGHT, "", str(value))


def tidy_text(cell: str) -> str:
    """Return a cell as it is meant: without white space around it, `="x"` as x."""
    text = cell.strip().strip(WIDTHLESS).strip()
    match = FORMULA_TEXT.fullmatch(text)
    return (match[1] or match[2] or "").strip() if match else text


def tidy_cells(
    cells: Iterable[str | None], missing: Collection[str] = MISSING_WORDS
) -> list[str | None]:
    """Return cells as `tidy_text` does; None for an empty one or a missing word."""
    cells = list(cells)
    tidied: dict[str | None, str | None] = {None: None}
    for cell in {*cells} - {None}:
        text = tidy_text(str(cell))
        tidied[cell] = None if not text or text in missing else text
    return [tidied[cell] for cell in cells]


def missing_words(feature: Feature) -> Collection[str]:
    """Return the words that mean missing in a feature, besides its own `missing`."""
    words = feature.missing_words
    return MISSING_WORDS if words is None else words


def means_missing(cell: str) -> bool:
    """Return whether a cell means missing in a column of numbers or booleans."""
    return cell.lower() in GAP_WORDS


def is_unnamed(name: str) -> bool:
    """Return whether pandas made up a column's name; the column is often an index."""
    return name.startswith((UNNAMED, INDEX))


def infer_cell_type(
    counts: Counter[str], *, has_gaps: bool = True, is_declared: bool = False
) -> FeatureType:
    """Return the type that a column's cells suggest.

    `counts` has how often each tidied cell occurs. Gap words such as `-` or `none` do
    not count, unless `has_gaps` is False. Number if more than half of the other cells
    are numbers, or the column is empty: the rest is refused later, so that one stray
    word does not turn numbers into categories. Codes (`is_coded`) are no numbers, and a
    column where a hundredth has leading zeros has none. Neither has one of declared
    texts. Boolean if all are true or false and either both occur or no gap word does.
    Else category.
    """
    words = {
        cell: count
        for cell, count in counts.items()
        if not (has_gaps and means_missing(cell))
    }
    total = sum(words.values())
    if not counts or (not is_declared and 2 * count_numbers(words) > total):
        return "number"
    lower = {cell.lower() for cell in words}
    has_both = bool(lower & TRUE_WORDS) and bool(lower & FALSE_WORDS)
    # A single "yes" beside "none" is a category, and so are dashes alone.
    if lower <= TRUE_WORDS | FALSE_WORDS and (has_both or len(words) == len(counts)):
        return "boolean"
    return "category"


def count_numbers(counts: dict[str, int]) -> int:
    """Return how many cells are numbers and no codes; 0 where the column has codes."""
    decimal_comma = uses_decimal_commas(counts)
    numbers = {
        cell: count
        for cell, count in counts.items()
        if read_number(cell, decimal_comma=decimal_comma) is not None
    }
    n_zeros = sum(n for cell, n in numbers.items() if has_leading_zero(cell))
    if n_zeros > ZERO_SHARE * sum(counts.values()):
        return 0
    n_plain = sum(n for cell, n in numbers.items() if not is_coded(cell))
    n_marked = sum(n for cell, n in numbers.items() if NEGATIVE.fullmatch(cell))
    # Where all are (1), (2), (3) these are marks: no number is above 0.
    return n_plain if n_plain > n_marked else 0


def parse_boolean(cell: str) -> float | None:
    """Return a text, such as yes, f or 1, as 1.0 or 0.0; None where it is neither."""
    word = cell.strip().lower()
    if word in TRUE_WORDS | FALSE_WORDS:
        return float(word in TRUE_WORDS)
    number = parse_number(word)
    return number if number in (0.0, 1.0) else None


def is_date(cell: str) -> bool:
    """Return whether a text looks like a date, with or without a time."""
    return DATE.fullmatch(cell) is not None


def advise_on_writing(categories: Collection[str]) -> str:
    """Return advice on categories that are mostly dates or measures; "": no advice."""
    half = len(categories) / 2
    if sum(map(is_date, categories)) > half:
        return DATES
    if len(categories) > MANY_CATEGORIES and are_measures(categories):
        return SIGNS
    return ""


def are_measures(texts: Collection[str]) -> bool:
    """Return whether most texts are numbers with one of a few signs or units.

    Codes such as 37F and 21B have many.
    """
    signed = [text for text in texts if is_measure(text) and parse_number(text) is None]
    units = {match[2] for match in map(SIGNED.fullmatch, signed) if match and match[2]}
    return 2 * len(signed) > len(texts) and len(units) <= MOST_UNITS


def is_within_limits(feature: Feature, numbers: Any) -> Any:
    """Return whether a number, or each of an array, is possible by the limits."""
    least = -math.inf if feature.least is None else feature.least
    most = math.inf if feature.most is None else feature.most
    return (least <= numbers) & (numbers <= most)


def is_blank(feature: Feature, cell: str) -> bool:
    """Return whether a tidied text stands for a missing value."""
    if not cell or cell in missing_words(feature) or cell in feature.missing:
        return True
    if feature.type == "category":
        return False
    if feature.missing_words is None and means_missing(cell):
        return True
    numbers = list_missing_numbers(feature)
    if not numbers:
        return False
    number = read_number(cell, feature.unit, decimal_comma=feature.decimal_comma)
    # A number beyond the range of doubles is not the one that is called missing.
    is_number = number is not None and (math.isfinite(number) or cell[-1:].isalpha())
    return is_number and number in numbers


def list_missing_numbers(feature: Feature) -> set[float]:
    """Return the numbers that stand for a missing value."""
    marks = (*feature.missing, *(feature.missing_words or ()))
    numbers = map(parse_number, marks)
    return {number for number in numbers if number is not None}


def read_cell(feature: Feature, cell: str | None) -> float | None:
    """Return a tidied cell as in `Dataset.values`; None where it has another type."""
    if cell is None or is_blank(feature, cell):
        return math.nan
    if feature.type == "category":
        return category_code(feature, cell)
    if feature.type == "number":
        return read_number(cell, feature.unit, decimal_comma=feature.decimal_comma)
    return parse_boolean(cell)
