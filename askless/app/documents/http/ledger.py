"""Schemas of the ledger."""

from datetime import datetime

from pydantic import Field

from askless.app.documents.fields import Reason
from askless.app.documents.http.models import MODEL_ID
from askless.app.documents.http.sessions import SESSION_ID
from askless.app.documents.shape import EXAMPLE_TIME, Answer, Shape, Units
from askless.app.documents.words import EntryKind

ENTRY_ID = f"{SESSION_ID}-2"
EXAMPLE_DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


class SessionEntry(Answer):
    """An entry of the ledger, as a receipt shows it."""

    id: str = Field(examples=[ENTRY_ID])
    at: datetime = Field(examples=[EXAMPLE_TIME])
    feature: str = Field(examples=["chol"])
    group: str | None = Field(examples=["blood"])
    kind: EntryKind = Field(examples=["charge"])
    amount: Units = Field(examples=[7.27])
    unit: str = Field(examples=["CAD"])
    number: int = Field(
        examples=[1],
        description="Counts the feature's charges and misses in the session, from 1; a "
        "reversal has the number of what it takes back.",
    )
    reverses: str | None = Field(
        validation_alias="reversed_id",
        examples=[None],
        description="The charge or miss that a reversal takes back.",
    )
    reason: str | None = Field(examples=[None], description="Why it was reversed.")
    provider: str | None = Field(
        examples=[None], description="The provider that a run paid."
    )
    digest: str = Field(
        examples=[EXAMPLE_DIGEST],
        description="SHA-256 of the entry and of the session's entry before it.",
    )


class LedgerEntry(SessionEntry):
    """An entry of the ledger, with its session, model and key."""

    session: str = Field(validation_alias="session_id", examples=[SESSION_ID])
    model: str = Field(validation_alias="model_id", examples=[MODEL_ID])
    key: str | None = Field(
        validation_alias="key_id",
        examples=[None],
        description="In whose name it was written; null: without a key.",
    )


class LedgerSum(Answer):
    """Sums of all entries of one unit; exact up to 4 billion units."""

    unit: str = Field(examples=["CAD"])
    entries: int = Field(examples=[2])
    charged: Units = Field(examples=[8.27], description="Charges and misses.")
    reversed: Units = Field(examples=[0.0])
    net: Units = Field(examples=[8.27], description="Charged less what was reversed.")


class LedgerPage(Answer):
    items: list[LedgerEntry]
    next: str | None = Field(examples=[None], description="For `?after=`.")
    sums: list[LedgerSum] = Field(
        description="Of all entries that are meant, not of this page alone; by unit."
    )


class ReversalRequest(Shape):
    """A request to reverse a charge."""

    reason: Reason = Field(
        examples=["The laboratory lost the sample."],
        description="It is kept for good: name no person.",
    )
