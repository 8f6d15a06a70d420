"""Types of fields that several documents share: names, texts, amounts, values.

The functions raise ValueError, which pydantic reports with the field.
"""

import math
import sys
from decimal import Decimal
from functools import partial
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from typing_extensions import TypeAliasType

from askless.core.catalogue.prices import MAX_UNITS, parse_amount
from askless.core.parameters import to_number
from askless.core.session.policies import POLICIES
from askless.core.table.texts.numbers import write_number

MAX_NAME = 200
MAX_VALUE = 1000
MAX_ERROR_COST = 1e12
# Stands for a budget that a request lacks.
ABSENT = object()
# A pattern also refuses halves of characters.
WITHOUT_NUL = r"^[^\x00]*$"
NAME_RULE = f"must have 1 to {MAX_NAME} characters, printable ones only"
STORABLE_RULE = "must have neither U+0000 nor halves of characters"
VALUE_RULE = (
    "must be a finite number, true or false, or a text of 1 to "
    f"{MAX_VALUE} characters without NUL"
)


def is_storable(text: str) -> bool:
    """Return whether every database and file can store a text."""
    return "\0" not in text and not any(
        "\ud800" <= character <= "\udfff" for character in text
    )


def is_name(text: str, least: int = 1) -> bool:
    """Return whether a text may name a model, a feature or a group."""
    return least <= len(text) <= MAX_NAME and text.isprintable()


def check_text(raw: Any, least: int = 1) -> str:
    """Return a text; refuse one that is not of `least` to `MAX_NAME` characters."""
    if not isinstance(raw, str):
        raise ValueError("must be a string")
    if not least <= len(raw) <= MAX_NAME:
        raise ValueError(f"must have {least} to {MAX_NAME} characters")
    return raw


def read_name(raw: Any, least: int = 1) -> str:
    """Return a text that may be a name."""
    if not is_name(check_text(raw, least), least):
        raise ValueError(NAME_RULE)
    return str(raw)


def read_reason(raw: Any) -> str:
    """Return a printable text that is not only white space."""
    if not is_name(check_text(raw)) or not raw.strip():
        raise ValueError(f"{NAME_RULE}, not only white space")
    return str(raw)


def read_label(raw: Any) -> str:
    """Return the label of a class as text; it may be a number or a boolean."""
    if isinstance(raw, bool):
        return str(raw).lower()
    return str(raw) if isinstance(raw, int | Decimal) else check_text(raw)


def read_missing_word(raw: Any) -> str:
    """Return as text a word or number that stands for a missing value."""
    if isinstance(raw, str):
        return check_text(raw.strip())
    number = to_number(raw, float)
    if not math.isfinite(number):
        raise ValueError("must be a word or a number")
    return write_number(number)


def read_word(raw: Any) -> str:
    """Return as text a word that means a missing value; "" is the empty cell."""
    return "" if raw == "" else read_missing_word(raw)


def read_error_cost(raw: Any) -> float:
    value = to_number(raw, float)
    if not 0 <= value <= MAX_ERROR_COST:
        raise ValueError(f"must be a number from 0 to {MAX_ERROR_COST:g}")
    return value


def read_policy(raw: Any) -> str:
    if not isinstance(raw, str) or raw not in POLICIES:
        raise ValueError(f"must be one of {', '.join(POLICIES)}")
    return raw


def read_limit(raw: Any) -> int | None:
    """Return a budget in micro-units; None: no limit."""
    if raw is ABSENT:
        raise ValueError("is required: an amount such as 12.50, or null for no limit")
    try:
        return None if raw is None else parse_amount(raw)
    except ValueError as error:
        raise ValueError(f"{error}, or null for no limit") from None


def read_value(raw: Any) -> bool | int | float | str:
    """Return a raw value that some feature may have; its feature is checked later."""
    if isinstance(raw, str):
        if 1 <= len(raw) <= MAX_VALUE and is_storable(raw):
            return raw
    elif isinstance(raw, bool | int | float) and abs(raw) <= sys.float_info.max:
        return raw
    raise ValueError(VALUE_RULE)


def check_cell(raw: Any) -> Any:
    """Return the cell of a row; refuse a text that no file can store."""
    if isinstance(raw, str) and not is_storable(raw):
        raise ValueError(STORABLE_RULE)
    return raw


# The same rules for the OpenAPI document.
_TEXT = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
_VALUE = Annotated[str, Field(min_length=1, max_length=MAX_VALUE)]
_UNIT = Annotated[str, Field(max_length=MAX_NAME)]
_AMOUNT = Annotated[float, Field(ge=0, le=MAX_UNITS)]
_CELL = bool | int | float | str | None
_ERROR_COST = Annotated[float, Field(ge=0, le=MAX_ERROR_COST)]

Text = Annotated[str, BeforeValidator(check_text, json_schema_input_type=_TEXT)]
Name = Annotated[str, BeforeValidator(read_name, json_schema_input_type=_TEXT)]
Reason = Annotated[str, BeforeValidator(read_reason, json_schema_input_type=_TEXT)]
Unit = Annotated[
    str, BeforeValidator(partial(read_name, least=0), json_schema_input_type=_UNIT)
]
Label = Annotated[
    str, BeforeValidator(read_label, json_schema_input_type=_TEXT | int | bool)
]
Mark = Annotated[
    str, BeforeValidator(read_missing_word, json_schema_input_type=_TEXT | float)
]
Word = Annotated[
    str,
    BeforeValidator(
        read_word,
        json_schema_input_type=Annotated[str, Field(max_length=MAX_NAME)] | float,
    ),
]
# Named in the schema, so that generated clients have one type for it.
Policy = TypeAliasType(
    "Policy",
    Annotated[
        str,
        BeforeValidator(read_policy, json_schema_input_type=str),
        Field(json_schema_extra=lambda schema: schema.update(enum=list(POLICIES))),
    ],
)
Amount = Annotated[int, BeforeValidator(parse_amount, json_schema_input_type=_AMOUNT)]
# No limit has to be said.
Limit = Annotated[
    int | None, BeforeValidator(read_limit, json_schema_input_type=_AMOUNT | None)
]
Value = Annotated[
    bool | int | float | str,
    BeforeValidator(read_value, json_schema_input_type=bool | int | float | _VALUE),
]
Cell = Annotated[_CELL, BeforeValidator(check_cell, json_schema_input_type=_CELL)]
ErrorCost = Annotated[
    float, BeforeValidator(read_error_cost, json_schema_input_type=_ERROR_COST)
]
# A name that a request looks something up by, without NUL or half characters.
Key = Annotated[str, Field(min_length=1, max_length=MAX_NAME, pattern=WITHOUT_NUL)]
# The caller's own name of a case; only the caller sees it.
ClientRef = Annotated[str, BeforeValidator(read_name, json_schema_input_type=_TEXT)]
AcceptUnseen = Annotated[
    bool, Field(description="Take categories that training did not see.")
]
