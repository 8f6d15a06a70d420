"""Bodies of calls to providers: without keys, and without what was read."""

from datetime import datetime

from pydantic import Field

from askless.app.documents.http.sessions import SESSION_ID
from askless.app.documents.shape import EXAMPLE_TIME, Answer, Shape, Units
from askless.app.documents.words import CallState

CALL_ID = "cal_5d7f90a1c2e4f6071829303b"


class CallBody(Answer):
    """One request to a provider, with what it cost."""

    id: str = Field(examples=[CALL_ID])
    session: str | None = Field(
        validation_alias="session_id",
        examples=[SESSION_ID],
        description="Null: a test of the provider.",
    )
    provider: str = Field(examples=["firmo"])
    number: int = Field(examples=[1], description="Position in the session, from 1.")
    state: CallState = Field(examples=["settled"])
    features: list[str] = Field(examples=[["size"]])
    price: Units = Field(examples=[0.05], description="Amount reserved for it.")
    charged: Units = Field(examples=[0.05])
    unit: str = Field(examples=["USD"])
    attempts: int = Field(examples=[1])
    status: int | None = Field(
        examples=[200], description="HTTP status; null: no answer came."
    )
    reason: str | None = Field(examples=[None], description="Why it ended so.")
    latency_ms: int | None = Field(examples=[48])
    created_at: datetime = Field(examples=[EXAMPLE_TIME])
    sent_at: datetime | None = Field(examples=[EXAMPLE_TIME])
    ended_at: datetime | None = Field(examples=[EXAMPLE_TIME])


class CallPage(Answer):
    items: list[CallBody]
    next: str | None = Field(examples=[None], description="For `?after=`.")


class CallSettlement(Shape):
    """An operator's decision on a call in doubt."""

    charged: bool = Field(
        examples=[False], description="Whether the provider has charged it."
    )
