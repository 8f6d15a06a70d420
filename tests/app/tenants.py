"""Transactions of the first tenant, whose everything is in tests that ask no keys."""

from contextlib import AbstractContextManager

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.records import DEFAULT_TENANT
from app.store import engine as engines


def transaction(
    engine: sa.Engine, *, is_read: bool = False
) -> AbstractContextManager[Session]:
    return engines.transaction(engine, DEFAULT_TENANT, is_read=is_read)
