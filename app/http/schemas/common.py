"""What several nouns share: money, values, pages, problems."""

import math
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MICROS = Decimal(1_000_000)
MAX_UNITS = 1_000_000_000
AMOUNT_RULE = f"must be a number from 0 to {MAX_UNITS} with at most 6 decimals"
MAX_TEXT = 200
MAX_VALUE = 1000
VALUE_RULE = (
    "must be a finite number, true or false, or a text of 1 to "
    f"{MAX_VALUE} characters without NUL"
)
EXAMPLE_TIME = "2026-11-20T09:30:00Z"


class Request(BaseModel):
    """A body: nothing is converted, nothing unknown is passed over."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class Answer(BaseModel):
    """What is sent back, made from a record of the service."""

    model_config = ConfigDict(from_attributes=True, extra="forbid")


def to_micros(value: Any) -> int:
    """Turn an amount of the JSON into micro-units, exactly."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(AMOUNT_RULE)
    try:
        amount = Decimal(repr(value))
    except (InvalidOperation, ValueError):
        raise ValueError(AMOUNT_RULE) from None
    if not amount.is_finite() or not 0 <= amount <= MAX_UNITS:
        raise ValueError(AMOUNT_RULE)
    micros = amount * MICROS
    if micros != micros.to_integral_value():
        raise ValueError(AMOUNT_RULE)
    return int(micros)


def to_units(micros: int) -> float:
    return micros / int(MICROS)


def check_value(value: Any) -> bool | int | float | str:
    """Let through what could be a feature's value; its feature decides later."""
    if isinstance(value, str):
        if 1 <= len(value) <= MAX_VALUE and is_storable(value):
            return value
        raise ValueError(VALUE_RULE)
    if isinstance(value, bool | int) or (
        isinstance(value, float) and math.isfinite(value)
    ):
        return value
    raise ValueError(VALUE_RULE)


def is_storable(text: str) -> bool:
    """Whether every database can hold a text: no NUL, no half of a character."""
    return not any(char == "\x00" or "\ud800" <= char <= "\udfff" for char in text)


Amount = Annotated[int, BeforeValidator(to_micros, json_schema_input_type=float)]
Value = Annotated[
    bool | int | float | str,
    BeforeValidator(check_value, json_schema_input_type=bool | int | float | str),
]
# Names travel into tables; there neither NUL nor half a character can be stored.
Name = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=r"^[^\x00]*$")]


class BrokenRule(BaseModel):
    """One field and the rule it breaks; never what was found there."""

    field: str = Field(examples=["answers[0].value"])
    rule: str = Field(examples=["must be a finite number"])


class Problem(BaseModel):
    """A problem document (RFC 9457). Its type is documented at its own address."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "/problems/over-budget",
                    "title": "The price exceeds what remains of the budget",
                    "status": 409,
                    "detail": "ca: its price must not exceed what remains",
                    "request_id": "req_5f0c",
                    "feature": "ca",
                    "price": 100.9,
                    "remaining": 49.73,
                }
            ]
        },
    )

    type: str
    title: str
    status: int
    detail: str
    request_id: str | None
    errors: list[BrokenRule] | None = None
    feature: str | None = None
    price: float | None = None
    remaining: float | None = None
