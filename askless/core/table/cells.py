"""Read a cell as missing, a number, a boolean or a category.

The rules are the same for tables, answers and options of the command line.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from askless.core.catalogue.catalogue import OTHER, UNSEEN, Feature, FeatureType

#: The beginning of the names that pandas makes up for columns without one.
UNNAMED = "Unnamed: "
# The beginning of the name that pandas gives an index in Parquet.
INDEX = "__index_level_"
#: These mean missing in a column of any type.
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
# These are booleans only where the feature's type is given as boolean.
TRUE_NUMBERS = frozenset({"1", "1.0"})
FALSE_NUMBERS = frozenset({"0", "0.0"})

DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))"
    r"([T ]+\d{1,2}:\d{2}.*)?"
)
# A number with a comma, as a person types it; the comma may part thousands.
COMMA_NUMBER = re.compile(r"[-+]?\d*,[\d.,]*\d[\d.,]*", re.ASCII)
# Digits in threes, parted by commas, spaces or apostrophes. A leading 0 is none of a
# number of thousands: 0,125 has a decimal comma.
THOUSANDS = re.compile(
    r"[-+]?[1-9]\d{0,2}([, '\u00a0\u202f])\d{3}(\1\d{3})*(\.\d*)?", re.ASCII
)
SYMBOLS = "$€£¥₹₽₩₪₫₴₺₦฿¢"
CURRENCIES = "USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|BRL|ZAR"
# A number with one sign: a currency before it, or a currency or unit behind it.
SIGNED = re.compile(
    rf"[-+]?([A-Z]{{0,2}}[{SYMBOLS}]|{CURRENCIES})?\s?[-+]?\d[\d,.'\s]*"
    rf"([{SYMBOLS}]|[%‰°µμ]\S{{0,15}}|[^\W\d_]\S{{0,15}})?"
)
# A number with a sign before it, such as $ or <, or a unit behind it.
MEASURE = re.compile(r"[<>~=$€£¥±≤≥ ]*[-+]?\d[\d., ]*( ?[%°µa-zA-Z/]{1,8})?")
TYPE_RULES: dict[FeatureType, str] = {
    "number": "must be a number, or empty",
    "boolean": "must be true or false, or empty",
}


def tidy_cells(cells: Iterable[str | None]) -> list[str | None]:
    """Return cells without white space around them; None for a missing word."""
    cells = list(cells)
    tidied: dict[str | None, str | None] = {}
    for cell in set(cells):
        text = None if cell is None else cell.strip()
        tidied[cell] = None if text in MISSING_WORDS else text
    return [tidied[cell] for cell in cells]


def means_missing(cell: str) -> bool:
    """Return whether a cell means missing in a column of numbers or booleans."""
    return cell.lower() in GAP_WORDS


def is_unnamed(name: str) -> bool:
    """Return whether pandas made up a column's name; the column is often an index."""
    return name.startswith((UNNAMED, INDEX))


def infer_cell_type(counts: Counter[str]) -> FeatureType:
    """Return the type that a column's cells suggest.

    `counts` has how often each tidied cell occurs. Gap words such as `-` or `none` do
    not count. Number if more than half of the other cells are numbers, or the column is
    empty: the rest is refused later, so that one stray word does not turn numbers into
    categories. Boolean if all are true or false and either both occur or no gap word
    does. Else category.
    """
    counts_without_gaps = {
        cell: count for cell, count in counts.items() if not means_missing(cell)
    }
    n_numbers = sum(
        n for cell, n in counts_without_gaps.items() if read_number(cell) is not None
    )
    if not counts or 2 * n_numbers > sum(counts_without_gaps.values()):
        return "number"
    words = {cell.lower() for cell in counts_without_gaps}
    has_both = bool(words & TRUE_WORDS) and bool(words & FALSE_WORDS)
    # A single "yes" beside "none" is a category, and so are dashes alone.
    if words <= TRUE_WORDS | FALSE_WORDS and (
        has_both or len(counts_without_gaps) == len(counts)
    ):
        return "boolean"
    return "category"


def parse_number(cell: str) -> float | None:
    """Return a text as a number; None where it is no number.

    Python's `float` reads it, but digits are ASCII, and underscores are refused.
    """
    try:
        return float(cell) if cell.isascii() and "_" not in cell else None
    except ValueError:
        return None


def read_number(cell: str, unit: str | None = None) -> float | None:
    """Return a cell of numbers as a number; None where it is no number.

    It may have signs between thousands: 1,234.5 and 1 234.5. It may have the unit of
    the feature, before or behind it: £5 and 5 £ are 5 where the unit is £.
    """
    number = parse_number(cell)
    if number is not None:
        return number
    plain = strip_unit(cell, unit)
    if THOUSANDS.fullmatch(plain):
        plain = re.sub(r"[, '\u00a0\u202f]", "", plain)
    return parse_number(plain)


def strip_unit(cell: str, unit: str | None) -> str:
    """Return a cell without the unit before or behind its number."""
    if not unit or parse_number(cell) is not None:
        return cell
    sign, rest = ("-", cell[1:]) if cell.startswith("-") else ("", cell)
    if rest.startswith(unit):
        return sign + rest.removeprefix(unit).lstrip()
    return sign + rest.removesuffix(unit).rstrip()


def common_unit(cells: Iterable[str]) -> str:
    """Return the sign that all of some numbers have, such as £ or mg/dL; "": none."""
    unit = ""
    for cell in cells:
        match = SIGNED.fullmatch(cell)
        signs = [*filter(None, match.groups())] if match else []
        if len(signs) != 1 or (unit and signs[0] != unit):
            return ""
        unit = signs[0]
        if read_number(cell, unit) is None:
            return ""
    return unit


def to_decimal_point(typed: str) -> str:
    """Return a number as a person typed it with a decimal point: 12,50 is 12.50.

    One comma is a decimal comma, unless exactly three digits follow it: 1,234 may be
    1234 or 1.234. Raises ValueError, which says what to type, where commas are not
    plain; a text that is no number is returned as it is.
    """
    if not COMMA_NUMBER.fullmatch(typed.strip()):
        return typed
    whole, _, decimals = typed.strip().partition(",")
    if "," in decimals or "." in decimals:
        plain = typed.strip().replace(",", "")
        rule = "must be typed without a sign between thousands"
        raise ValueError(f"{rule}: {plain}" if plain.count(".") < 2 else rule)
    if len(decimals) == 3:
        rule = f"may be two numbers: type {whole}{decimals} or {whole}.{decimals}"
        raise ValueError(rule)
    return f"{whole}.{decimals}"


def write_number(number: float) -> str:
    """Return a number as text; a whole one without a decimal point."""
    return f"{number:.0f}" if number % 1 == 0 else repr(number)


def parse_boolean(cell: str) -> float | None:
    """Return a text, such as yes, f or 1, as 1.0 or 0.0; None where it is neither."""
    word = cell.strip().lower()
    if word in TRUE_WORDS | TRUE_NUMBERS:
        return 1.0
    return 0.0 if word in FALSE_WORDS | FALSE_NUMBERS else None


def is_date(cell: str) -> bool:
    """Return whether a text looks like a date, with or without a time."""
    return DATE.fullmatch(cell) is not None


def is_measure(cell: str) -> bool:
    """Return whether a text is a number with a sign before it or a unit behind it."""
    return MEASURE.fullmatch(cell) is not None


def is_within_limits(feature: Feature, numbers: Any) -> Any:
    """Return whether a number, or each of an array, is possible by the limits."""
    least = -math.inf if feature.least is None else feature.least
    most = math.inf if feature.most is None else feature.most
    return (least <= numbers) & (numbers <= most)


def is_blank(feature: Feature, cell: str) -> bool:
    """Return whether a text without white space around it is a missing value."""
    if cell in MISSING_WORDS or cell in feature.missing:
        return True
    if feature.type == "category":
        return False
    return means_missing(cell) or read_number(
        cell, feature.unit
    ) in list_missing_numbers(feature)


def list_missing_numbers(feature: Feature) -> set[float]:
    """Return the numbers that stand for a missing value."""
    numbers = map(parse_number, feature.missing)
    return {number for number in numbers if number is not None}


def read_cell(feature: Feature, cell: str | None) -> float | None:
    """Return a tidied cell as in `Dataset.values`; None where it has another type."""
    if cell is None or is_blank(feature, cell):
        return math.nan
    if feature.type == "category":
        return category_code(feature, cell)
    if feature.type == "number":
        return read_number(cell, feature.unit)
    return parse_boolean(cell)


def category_code(feature: Feature, category: str) -> float:
    """Return the code of a category, `UNSEEN` if training did not see it."""
    known = feature.categories
    if category not in known:
        # Old models hold categories with white space around them.
        known = tuple(known_category.strip() for known_category in known)
    if category in known:
        return float(known.index(category))
    return float(known.index(OTHER)) if feature.has_other else UNSEEN
