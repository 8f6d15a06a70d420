"""Days as parameters of addresses."""

import re
from datetime import date
from typing import Annotated, Any

from fastapi import Query
from pydantic import BeforeValidator


def read_day(raw: object) -> date:
    """Return a day that is written as one."""
    if isinstance(raw, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", raw, re.ASCII):
        return date.fromisoformat(raw)
    raise ValueError("must be a day, such as 2026-11-20")


def day(what: str) -> Any:
    """Make a parameter that is a day in UTC."""
    return Query(alias=what, description="A day in UTC, itself included.")


Day = Annotated[date, BeforeValidator(read_day, json_schema_input_type=date)]
