"""Read and write numbers as texts: signs, units, thousands, decimal commas."""

import math
import re
from collections.abc import Iterable

# A number with a comma, as a person types it; the comma may part thousands.
COMMA_NUMBER = re.compile(r"[-+]?\d*,[\d.,]*\d[\d.,]*", re.ASCII)
# Signs between thousands besides commas and points: spaces and apostrophes.
SPACERS = " '\u2019\u00a0\u2009\u202f"
# Digits in threes, or by lakhs as in 1,23,456. A leading 0 is none of a number of
# thousands: 0,125 has a decimal comma.
THOUSANDS = re.compile(
    rf"[-+]?([1-9]\d{{0,2}}([,{SPACERS}])\d{{3}}(\2\d{{3}})*|[1-9]\d?(,\d\d)+,\d{{3}})"
    r"(\.\d*)?",
    re.ASCII,
)
# A number with a decimal comma; points, spaces or apostrophes may part its thousands.
DECIMAL_COMMA = re.compile(
    rf"[-+]?(\d+|[1-9]\d{{0,2}}(?:([.{SPACERS}])\d{{3}})(?:\2\d{{3}})*),\d+", re.ASCII
)
# A negative number as accountants and older programs write it: (5.20), $(5) and 5.20-.
NEGATIVE = re.compile(r"([^-+()\w]*)\(([^-+()]*\d[^-+()]*)\)|([^-+()]*\d[\d.,]*)-")
SYMBOLS = "$€£¥₹₽₩₪₫₴₺₦฿¢"
CURRENCIES = "USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|BRL|ZAR"
# A number with one sign: a currency before it, or a currency or unit behind it.
SIGNED = re.compile(
    rf"[-+]?\s?([A-Z]{{0,2}}[{SYMBOLS}]|{CURRENCIES})?\s?[-+]?\s?\d[\d,.'\u2019\s]*"
    rf"([{SYMBOLS}]|[%‰°µμ]\S{{0,15}}|[^\W\d_]\S{{0,15}})?"
)
# A number with a sign before it, such as $ or <, or a unit behind it.
MEASURE = re.compile(r"[<>~=$€£¥±≤≥ ]*[-+]?\d[\d., ]*( ?[%°µa-zA-Z/]{1,8})?")
PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
INFINITE = re.compile(r"[-+]?inf(inity)?", re.IGNORECASE)
# The body of a number between its signs.
BODY = re.compile(r"[-+]?\d[\d,.'\u2019\s]*")
# A sign apart from its number, as in accounts: - 5.20.
SIGN_APART = re.compile(r"([-+])\s+(?=[\d.])")
# Signs for a minus that are no hyphen: U+2212, an en dash, a small and a wide hyphen.
HYPHENS = str.maketrans(dict.fromkeys("\u2212\u2013\ufe63\uff0d", "-"))
# Programs write powers of ten with a sign or a point: 1e+05, 1.0E5. Codes have neither.
EXPONENT_CODE = re.compile(r"\d+e\d+", re.ASCII | re.IGNORECASE)
ZERO_CODE = re.compile(r"[-+]?0\d[\d.]*", re.ASCII)
WHOLE_DIGITS = re.compile(r"([-+]?\d+)(\.0*)?", re.ASCII)
#: Whole numbers up to this size differ as doubles.
MOST_EXACT = 2**53
#: Codes have fewer digits.
MOST_CODE = 1e25


def parse_number(cell: str) -> float | None:
    """Return a text as a number; None where it is no number.

    Digits are ASCII. It is infinite for `inf`, and beyond the range of doubles.
    """
    if PLAIN.fullmatch(cell):
        return float(cell)
    plain = put_sign_first(cell.strip())
    if PLAIN.fullmatch(plain) or INFINITE.fullmatch(plain):
        return float(plain)
    return None


def read_number(
    cell: str, unit: str | None = None, *, decimal_comma: bool = False
) -> float | None:
    """Return a cell of numbers as a number; None where it is no number.

    It may have signs between thousands: 1,234.5 and 1 234.5. It may have the unit of
    the feature, before or behind it: £5 and 5 £ are 5 where the unit is £. With
    `decimal_comma` 1,5 is 1.5, and 1,234 is 1.234.
    """
    number = parse_number(cell)
    if number is not None:
        return number
    plain = strip_unit(cell, unit) if unit else put_sign_first(cell)
    if decimal_comma and DECIMAL_COMMA.fullmatch(plain):
        plain = re.sub(f"[.{SPACERS}]", "", plain).replace(",", ".")
    elif THOUSANDS.fullmatch(plain):
        plain = re.sub(f"[,{SPACERS}]", "", plain)
    return parse_number(plain)


def put_sign_first(cell: str) -> str:
    """Return a number with a hyphen before it, however its minus is written."""
    plain = cell if cell.isascii() else cell.translate(HYPHENS)
    if plain.startswith(("-", "+")):
        return SIGN_APART.sub(r"\1", plain, 1)
    match = NEGATIVE.fullmatch(plain) if plain.endswith((")", "-")) else None
    return f"-{match[3] or match[1] + match[2]}" if match else plain


def strip_unit(cell: str, unit: str | None) -> str:
    """Return a cell without the unit before or behind its number."""
    cell = put_sign_first(cell)
    if not unit or parse_number(cell) is not None:
        return cell
    sign, rest = ("-", cell[1:].lstrip()) if cell.startswith("-") else ("", cell)
    if rest.startswith(unit):
        return sign + rest.removeprefix(unit).lstrip()
    return sign + rest.removesuffix(unit).rstrip()


def common_unit(cells: Iterable[str]) -> str:
    """Return the sign that all of some numbers have, such as £ or mg/dL; "": none."""
    unit, cells = "", list(cells)
    decimal_comma = uses_decimal_commas(cells)
    for cell in cells:
        # A power of ten is no unit: 1.5E5.
        match = parse_number(cell) is None and SIGNED.fullmatch(put_sign_first(cell))
        signs = [*filter(None, match.groups())] if match else []
        if len(signs) != 1 or (unit and signs[0] != unit):
            return ""
        unit = signs[0]
        if read_number(cell, unit, decimal_comma=decimal_comma) is None:
            return ""
    return unit


def uses_decimal_commas(cells: Iterable[str]) -> bool:
    """Return whether the commas of a column's cells are decimal commas.

    So it is where each number with a comma has one and no more than that, none has a
    point without one, and one at least has no thousands to part, as 2,75.
    """
    is_decisive = False
    listed = [*cells]
    if not any("," in cell for cell in listed):
        return False
    for cell in listed:
        body = BODY.search(cell) if "," in cell or "." in cell else None
        number = body[0].strip() if body else ""
        if "." in number and "," not in number:
            return False
        if "," in number:
            if not DECIMAL_COMMA.fullmatch(number):
                return False
            is_decisive |= not THOUSANDS.fullmatch(number)
    return is_decisive


def to_decimal_point(typed: str) -> str:
    """Return a number as a person typed it with a decimal point: 12,50 is 12.50.

    Raises ValueError, which says what to type, where it may be two numbers, as 1,234
    may be 1234 or 1.234, or is none; a text that is no number is returned as it is.
    """
    text = typed.strip()
    if not COMMA_NUMBER.fullmatch(text):
        return typed
    whole, _, decimals = text.partition(",")
    has_thousands = THOUSANDS.fullmatch(text) is not None
    has_decimals = "," not in decimals and "." not in decimals
    if has_thousands and has_decimals:
        rule = f"type {whole}{decimals}, as tables read it, or {whole}.{decimals}"
        raise ValueError(f"may be two numbers: {rule}")
    if has_thousands:
        return text.replace(",", "")
    if has_decimals:
        return f"{whole}.{decimals}"
    raise ValueError("must be typed without a sign between thousands")


def write_number(number: float) -> str:
    """Return a number as text; a whole one, unless it is vast, without a point."""
    is_whole = abs(number) < MOST_CODE and number % 1 == 0
    return f"{number:.0f}" if is_whole else repr(float(number))


def is_measure(cell: str) -> bool:
    """Return whether a text is a number with a sign before it or a unit behind it."""
    return MEASURE.fullmatch(cell) is not None


def has_leading_zero(cell: str) -> bool:
    """Return whether a number has a 0 before its digits, as codes such as 007 have."""
    return ZERO_CODE.fullmatch(cell) is not None


def is_coded(cell: str) -> bool:
    """Return whether a text that reads as a number is a code by its writing.

    Such are 007, 12E7, 3E402 and whole numbers beyond 2^53: as numbers they would lose
    their zeros, mean something else, or be equal to their neighbours.
    """
    if has_leading_zero(cell) or EXPONENT_CODE.fullmatch(cell):
        return True
    whole = WHOLE_DIGITS.fullmatch(cell)
    if whole is not None:
        return len(whole[1]) > 15 and abs(int(whole[1])) > MOST_EXACT
    return not math.isfinite(parse_number(cell) or 0.0)
