"""Schemas of keys."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypeAliasType

from askless.app.documents.shape import EXAMPLE_TIME, Answer, Shape

KEY_ID = "key_9a1b2c3d4e5f60718293a4b5"
# Each has its own schema, so that generated clients have one name for it.
Scope = TypeAliasType(
    "Scope",
    Literal[
        "datasets:read",
        "datasets:write",
        "train:read",
        "train:write",
        "models:read",
        "models:write",
        "predict:read",
        "predict:write",
        "ledger:read",
        "ledger:write",
        "providers:read",
        "providers:write",
        "keys:read",
        "keys:write",
    ],
)
LimitName = TypeAliasType(
    "LimitName",
    Literal[
        "requests_per_minute",
        "trainings",
        "sessions",
        "streams",
        "dataset_bytes",
        "rows",
        "columns",
        "rounds",
    ],
)
MAX_DAYS = 3650
MAX_LIMIT = 10**15


class KeyRequest(Shape):
    """A key to create; it can do no more than the key that creates it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "night clinic",
                    "scopes": ["models:read", "predict:read", "predict:write"],
                    "days": 90,
                }
            ]
        }
    )

    name: str = Field(min_length=1, max_length=200, examples=["night clinic"])
    scopes: list[Scope] = Field(
        min_length=1, examples=[["models:read", "predict:read", "predict:write"]]
    )
    limits: dict[LimitName, Annotated[int, Field(ge=1, le=MAX_LIMIT)]] = Field(
        default={},
        examples=[{"requests_per_minute": 600}],
        description="At most the maker's, which also hold where they are left out.",
    )
    days: int | None = Field(
        default=None,
        ge=1,
        le=MAX_DAYS,
        examples=[90],
        description="After these it is no longer valid, and not after its maker; "
        "null: as long as its maker.",
    )


class Key(Answer):
    """A key without its secret."""

    id: str = Field(examples=[KEY_ID])
    name: str = Field(examples=["night clinic"])
    scopes: list[Scope] = Field(examples=[["predict:read", "predict:write"]])
    limits: dict[LimitName, int] = Field(examples=[{"requests_per_minute": 600}])
    created_at: datetime = Field(examples=[EXAMPLE_TIME])
    expires_at: datetime | None = Field(examples=[None])
    revoked_at: datetime | None = Field(examples=[None])
    last_used_at: datetime | None = Field(
        examples=[None], description="To within five minutes."
    )
    subject: str | None = Field(
        examples=[None],
        description="Of a person who signs in: their identity provider and its name "
        "for them. Null: a key with a secret.",
    )


class NewKey(Key):
    """A key and its secret, which is shown only once."""

    token: str | None = Field(
        examples=["askl_9a1b2c3d4e5f60718293a4b5_…"],
        description="For `Authorization: Bearer …`; null in an answer given again.",
    )


class KeyPage(Answer):
    items: list[Key]
    next: str | None = Field(examples=[None], description="For `?after=`.")
