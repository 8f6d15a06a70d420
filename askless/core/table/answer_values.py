"""Read one answer as a value, as the cells of a table are read."""

import math

from askless.core.catalogue.catalogue import Feature
from askless.core.errors import AnswerError, Refusal, shorten
from askless.core.table.cells import (
    category_code,
    is_blank,
    is_within_limits,
    parse_boolean,
    read_number,
    strip_unit,
    to_decimal_point,
    write_number,
)

BLANK_RULE = (
    "must be a value: this stands for a missing one, whose outcome is unavailable, "
    "refused or unknown"
)


def check_answer(feature: Feature, value: object) -> float:
    """Turn one answer into a value as in `Dataset.values`.

    A finite number, a boolean (or 0 or 1), or a category as text, white space around
    it aside; a category that training did not see is legal. `AnswerError` is raised
    for any other, for a number outside of the feature's limits, and for what stands for
    a missing value in tables.
    """
    if feature.type == "category":
        if isinstance(value, str) and value.strip():
            refuse_blank(feature, value)
            return category_code(feature, value.strip())
        rule = "must be a text"
    elif feature.type == "boolean":
        if isinstance(value, bool) or value in (0, 1):
            return float(bool(value))
        rule = "must be true or false"
    else:
        try:
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            number = float(value) if is_number else math.nan  # type: ignore[arg-type]  # a number by then
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            refuse_blank(feature, write_number(number))
            if is_within_limits(feature, number):
                return number
            unit = f" {feature.unit}" if feature.unit else ""
            rule = f"{feature.limit_rule}{unit}"
        else:
            rule = f"must be a finite number{seen_range_hint(feature)}"
    raise AnswerError([Refusal(feature.name, rule, shorten(value))])


def seen_range_hint(feature: Feature) -> str:
    """Return the end of a rule that names the range training saw; "": unknown."""
    if feature.value_range is None:
        return ""
    low, high = feature.value_range
    unit = f" {feature.unit}" if feature.unit else ""
    return f"; training saw {low:g} to {high:g}{unit}"


def refuse_blank(feature: Feature, text: str) -> None:
    """Raise `AnswerError` for a text that stands for a missing value in tables."""
    if is_blank(feature, text.strip()) and text not in feature.categories:
        raise AnswerError([Refusal(feature.name, BLANK_RULE, shorten(text))])


def parse_answer(feature: Feature, text: str) -> float:
    """Return the value of an answer written as text; raise as `check_answer` does.

    A number may have a decimal comma (`to_decimal_point`).
    """
    if feature.type == "category":
        return check_answer(feature, text)
    refuse_blank(feature, text)
    if feature.type == "number":
        try:
            text = to_decimal_point(strip_unit(text.strip(), feature.unit))
        except ValueError as error:
            refusal = Refusal(feature.name, str(error), shorten(text))
            raise AnswerError([refusal]) from None
    parse = read_number if feature.type == "number" else parse_boolean
    value = parse(text)
    # A text that can't be read is passed on, to be refused with its rule.
    return check_answer(feature, text if value is None else value)
