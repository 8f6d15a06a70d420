"""Read one answer as a value, as the cells of a table are read."""

import numpy as np

from askless.core.catalogue.catalogue import Feature
from askless.core.errors import AnswerError, Refusal, shorten
from askless.core.table.cells import is_blank, tidy_text, write_cell
from askless.core.table.columns import read_feature
from askless.core.table.texts.categories import name_category
from askless.core.table.texts.numbers import strip_unit, to_decimal_point

BLANK_RULE = (
    "must be a value: this stands for a missing one, whose outcome is unavailable, "
    "refused or unknown"
)
RULES = {
    "boolean": "must be true or false",
    "category": "must be a text, a number, true or false",
}


def check_answer(feature: Feature, value: object) -> float:
    """Turn one answer into a value as in `Dataset.values`.

    It is read as a table's column of this one cell: a number and its text are the same,
    for a category too, which its label means as well. A category that training did not
    see is legal. `AnswerError` is
    raised for what the feature can't have, for a number outside of the feature's
    limits, and for what stands for a missing value in tables.
    """
    is_scalar = isinstance(value, str | bool | int | float)
    text = tidy_text(write_cell(value) or "") if is_scalar else ""
    if text:
        text = name_category(feature, text)
        refuse_blank(feature, text)
        cell = np.array([text], np.object_)
        values, refusals = read_feature(feature, cell)
        if not refusals:
            return float(values[0])
        has_limits = (feature.least, feature.most) != (None, None)
        if has_limits and refusals[0].rule == feature.limit_rule:
            unit = f" {feature.unit}" if feature.unit else ""
            rule = f"{feature.limit_rule}{unit}"
            raise AnswerError([Refusal(feature.name, rule, shorten(value))])
    number_rule = f"must be a finite number{seen_range_hint(feature)}"
    rule = RULES.get(feature.type, number_rule)
    raise AnswerError([Refusal(feature.name, rule, shorten(value))])


def seen_range_hint(feature: Feature) -> str:
    """Return the end of a rule that names the range training saw; "": unknown."""
    if feature.value_range is None:
        return ""
    low, high = feature.value_range
    unit = f" {feature.unit}" if feature.unit else ""
    return f"; training saw {low:g} to {high:g}{unit}"


def stands_for_missing(feature: Feature, value: object) -> bool:
    """Return whether an answer is what stands for a missing value in tables."""
    text = tidy_text(write_cell(value) or "")
    return is_blank(feature, text) and text not in feature.categories


def refuse_blank(feature: Feature, text: str) -> None:
    """Raise `AnswerError` for a text that stands for a missing value in tables."""
    if stands_for_missing(feature, text):
        raise AnswerError([Refusal(feature.name, BLANK_RULE, shorten(text))])


def parse_answer(feature: Feature, text: str) -> float:
    """Return the value of an answer that a person wrote; raise as `check_answer` does.

    A number may have a decimal comma, but nobody knows what 1,234 means
    (`to_decimal_point`), unless the table has decimal commas.
    """
    if feature.type == "category":
        return check_answer(feature, text)
    refuse_blank(feature, text)
    if feature.type == "number" and not feature.decimal_comma:
        try:
            plain = strip_unit(tidy_text(text), feature.unit)
            text = to_decimal_point(plain) if "," in plain else text
        except ValueError as error:
            refusal = Refusal(feature.name, str(error), shorten(text))
            raise AnswerError([refusal]) from None
    return check_answer(feature, text)
