"""Transactions of the first tenant, whose everything is in tests that ask no keys."""

from contextlib import AbstractContextManager
from datetime import datetime

import sqlalchemy as sa

from askless.app.documents.files import model_text
from askless.app.records import DEFAULT_TENANT
from askless.app.store import models
from askless.app.store.database import engine as engines
from askless.app.store.database.transactions import Transaction
from askless.core.model.model import Model


def transaction(
    engine: sa.Engine, *, is_read: bool = False
) -> AbstractContextManager[Transaction]:
    return engines.transaction(engine, DEFAULT_TENANT, is_read=is_read)


def store_model(db: Transaction, model: Model, now: datetime) -> None:
    """Store a model under a new name."""
    models.insert(db, model.name, model_text(model), now)
