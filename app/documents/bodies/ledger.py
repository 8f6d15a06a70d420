"""Schemas of the ledger."""

from datetime import datetime

from pydantic import Field

from app.documents.bodies.predictions import SESSION_ID
from app.documents.shape import EXAMPLE_TIME, Answer, Units
from app.documents.words import EntryKind


class LedgerEntry(Answer):
    id: int = Field(examples=[12])
    at: datetime = Field(examples=[EXAMPLE_TIME])
    session: str = Field(validation_alias="session_id", examples=[SESSION_ID])
    feature: str = Field(examples=["chol"])
    group: str | None = Field(examples=["blood"])
    kind: EntryKind = Field(examples=["charge"])
    amount: Units = Field(examples=[7.27])
    unit: str = Field(examples=["CAD"])


class LedgerPage(Answer):
    items: list[LedgerEntry]
    next: str | None = Field(examples=[None], description="For `?after=`.")
