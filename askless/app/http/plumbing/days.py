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


def day_parameter(name: str) -> Any:
    """Return a query parameter for a day in UTC."""
    return Query(alias=name, description="A day in UTC, itself included.")


Day = Annotated[date, BeforeValidator(read_day, json_schema_input_type=date)]


def day_start(day: date) -> datetime:
    """Return the first moment of a day."""
    return datetime.combine(day, time(), UTC)


def day_end(day: date) -> datetime:
    """Return the first moment after a day, or the last moment of the calendar."""
    if day == date.max:
        return datetime.max.replace(tzinfo=UTC)
    return day_start(day) + timedelta(days=1)


def days_before(day: date, n_days: int) -> date:
    """Return the day `n_days` before `day`, at least the calendar's first."""
    return date.fromordinal(max(day.toordinal() - n_days, 1))
