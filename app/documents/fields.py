"""Types of fields that several documents share: names, texts, amounts, values."""

import math
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from core.table.prices import AMOUNT_RULE, to_micros

MAX_NAME = 200
MAX_VALUE = 1000
NAME_RULE = f"must have 1 to {MAX_NAME} characters, printable ones only"
STORABLE_RULE = "must have neither U+0000 nor halves of characters"
VALUE_RULE = (
    "must be a finite number, true or false, or a text of 1 to "
    f"{MAX_VALUE} characters without NUL"
)


def is_storable(text: str) -> bool:
    """Whether every database and file can hold a text."""
    return "\0" not in text and not any("\ud800" <= one <= "\udfff" for one in text)


def is_name(text: str, least: int = 1) -> bool:
    """Whether a text can name a model, a feature or a group, wherever it is shown."""
    return least <= len(text) <= MAX_NAME and text.isprintable()


def read_amount(raw: Any) -> int:
    if isinstance(raw, str):
        raise ValueError(AMOUNT_RULE)
    return to_micros(raw)


def read_value(raw: Any) -> bool | int | float | str:
    """Let through what could be a feature's value; its feature decides later."""
    if isinstance(raw, str):
        if 1 <= len(raw) <= MAX_VALUE and is_storable(raw):
            return raw
    elif isinstance(raw, bool | int) or (isinstance(raw, float) and math.isfinite(raw)):
        return raw
    raise ValueError(VALUE_RULE)


Amount = Annotated[int, BeforeValidator(read_amount, json_schema_input_type=float)]
Value = Annotated[
    bool | int | float | str,
    BeforeValidator(read_value, json_schema_input_type=bool | int | float | str),
]
# A name that a request gives to find something: neither NUL nor half a character.
Key = Annotated[str, Field(min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00]*$")]
