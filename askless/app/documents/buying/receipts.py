"""The receipt of a session: what it bought, what it did not buy, and why it ended."""

import json
from datetime import datetime
from hashlib import sha256
from typing import Any

from pydantic import Field

from askless.app.documents.http.ledger import EXAMPLE_DIGEST, SessionEntry
from askless.app.documents.http.sessions import (
    SESSION_ID,
    Budget,
    ClassProbability,
    ModelRef,
)
from askless.app.documents.shape import EXAMPLE_TIME, Answer, Units
from askless.app.documents.words import CallState, Outcome, StopReason


class Bought(Answer):
    """One call of a run, or one answer of a person."""

    number: int = Field(examples=[1])
    provider: str | None = Field(
        examples=["firmo"], description="Null: a person answered."
    )
    features: list[str] = Field(examples=[["size", "industry"]])
    state: CallState = Field(examples=["settled"])
    price: Units = Field(examples=[0.05], description="What was reserved.")
    charged: Units = Field(examples=[0.05])
    values: dict[str, bool | int | float | str | None] = Field(
        examples=[{"size": 250, "industry": None}]
    )
    outcomes: dict[str, Outcome] = Field(examples=[{"size": "value"}])
    reason: str | None = Field(
        examples=[None], description="Why no value came, in a word."
    )
    before: float | None = Field(
        examples=[0.31], description="Chance of `chance_of` before it."
    )
    after: float | None = Field(examples=[0.62])
    latency_ms: int | None = Field(examples=[180])
    at: datetime | None = Field(examples=[EXAMPLE_TIME])


class NotBought(Answer):
    """Something that was not bought, and why."""

    features: list[str] = Field(examples=[["score"]])
    price: Units = Field(examples=[0.6])
    why: str = Field(examples=["costs 0.60, and 0.21 was left"])


class Receipt(Answer):
    """The cost of one decision, the answers that it rests on, and why it ended."""

    session: str = Field(examples=[SESSION_ID])
    model: ModelRef
    version: int = Field(examples=[3], description="Of the model.")
    started_at: datetime = Field(examples=[EXAMPLE_TIME])
    ended_at: datetime | None = Field(examples=[EXAMPLE_TIME])
    state: str = Field(examples=["closed"])
    stop_reason: StopReason | None = Field(examples=["not_worth_it"])
    stop_words: str | None = Field(examples=["Nothing left is worth its price."])
    budget: Budget
    label: str = Field(examples=["1"])
    display: str = Field(examples=["good"])
    classes: list[ClassProbability]
    chance_of: str = Field(
        examples=["1"], description="The class whose chance `before` and `after` are."
    )
    known: dict[str, bool | int | float | str | None] = Field(
        examples=[{"source": "fair"}], description="Given at the start, free."
    )
    bought: list[Bought]
    not_bought: list[NotBought]
    left_out: dict[str, str] = Field(
        examples=[{"registry": "key vat is missing"}],
        description="Providers that the case went without, each with the reason.",
    )
    ledger: list[SessionEntry]
    hash: str = Field(
        default="",
        examples=[EXAMPLE_DIGEST],
        description="SHA-256 of the receipt without this field, as JSON with sorted "
        "names and without spaces.",
    )


def digest_receipt(document: dict[str, Any]) -> str:
    """Return the hash of a receipt: of all its fields but the hash itself."""
    text = json.dumps(
        {name: value for name, value in document.items() if name != "hash"},
        ensure_ascii=False,
        sort_keys=True,
        separators=(",", ":"),
    )
    return sha256(text.encode()).hexdigest()
