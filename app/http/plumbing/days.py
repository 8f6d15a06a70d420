"""Days as query parameters."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any

from fastapi import Query
from pydantic import BeforeValidator


def read_day(raw: object) -> date:
    """Return the day that a text such as 2026-11-20 names."""
    if isinstance(raw, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", raw, re.ASCII):
        return date.fromisoformat(raw)
    raise ValueError("must be a day, such as 2026-11-20")


def day(what: str) -> Any:
    """Make a parameter that is a day in UTC."""
    return Query(alias=what, description="A day in UTC, itself included.")


Day = Annotated[date, BeforeValidator(read_day, json_schema_input_type=date)]


def begin(day: date) -> datetime:
    """Return the first moment of a day."""
    return datetime.combine(day, time(), UTC)


def end(day: date) -> datetime:
    """Return the first moment after a day; of the calendar's last day, its last."""
    if day == date.max:
        return datetime.max.replace(tzinfo=UTC)
    return begin(day) + timedelta(days=1)


def days_before(day: date, n_days: int) -> date:
    """Return the day `n_days` before `day`, or the calendar's first."""
    return date.fromordinal(max(day.toordinal() - n_days, 1))
