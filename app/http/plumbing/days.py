"""Days as query parameters."""

import re
from datetime import UTC, date, datetime, time, timedelta
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


def begin(one: date) -> datetime:
    """Return the first moment of a day."""
    return datetime.combine(one, time(), UTC)


def end(one: date) -> datetime:
    """Return the first moment after a day; of the calendar's last day, its last."""
    if one == date.max:
        return datetime.max.replace(tzinfo=UTC)
    return begin(one) + timedelta(days=1)


def days_before(one: date, n_days: int) -> date:
    """Return the day so many days before another, or the calendar's first."""
    return date.fromordinal(max(one.toordinal() - n_days, 1))
