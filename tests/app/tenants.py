"""Transactions of the first tenant, whose everything is in tests that ask no keys."""

from contextlib import AbstractContextManager

import sqlalchemy as sa

from askless.app.records import DEFAULT_TENANT
from askless.app.store.database import engine as engines
from askless.app.store.database.transactions import Transaction


def transaction(
    engine: sa.Engine, *, is_read: bool = False
) -> AbstractContextManager[Transaction]:
    return engines.transaction(engine, DEFAULT_TENANT, is_read=is_read)
