"""Runs in requests, sessions and events."""

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from askless.app.documents.buying.providers import MAX_URL, check_url
from askless.app.documents.buying.templates import NAME
from askless.app.documents.fields import is_storable
from askless.app.documents.shape import EXAMPLE_TIME, Answer, Shape
from askless.app.documents.words import CallState, RunState

MAX_KEYS = 100
MAX_KEY = 500
KEY_RULE = f"must be a text of 1 to {MAX_KEY} characters without NUL, or an integer"


def read_key(raw: object) -> str:
    """Return a key as text; registers have numbers, which may come as integers."""
    if isinstance(raw, int) and not isinstance(raw, bool):
        return str(raw)
    if isinstance(raw, str) and 1 <= len(raw) <= MAX_KEY and is_storable(raw):
        return raw
    raise ValueError(KEY_RULE)


def check_literal_url(url: str) -> str:
    if "{" in url or "}" in url:
        raise ValueError("must be an address without placeholders")
    return check_url(url)


KeyValue = Annotated[str, BeforeValidator(read_key, json_schema_input_type=str | int)]
KeyName = Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
Keys = Annotated[dict[KeyName, KeyValue], Field(max_length=MAX_KEYS)]


class WebhookWish(Shape):
    """The address that is told of a run's end, by Standard Webhooks."""

    url: Annotated[
        str, Field(max_length=MAX_URL), AfterValidator(check_literal_url)
    ] = Field(examples=["https://api.example/hooks/askless"])
    secret: KeyName = Field(
        examples=["WEBHOOK"],
        description="A file of ASKLESS_SECRETS; each of its lines signs, so that a new "
        "secret is added before the old one goes.",
    )


class RunView(Answer):
    """The buying of a session."""

    state: RunState = Field(examples=["buying"])
    left_out: dict[str, str] = Field(
        examples=[{"registry": "key vat is missing"}],
        description="Providers that the case goes on without, each with the reason.",
    )


class RunEvent(Answer):
    """A call that has ended; the event `ended` has only the time."""

    at: datetime = Field(examples=[EXAMPLE_TIME])
    number: int | None = Field(default=None, examples=[1])
    provider: str | None = Field(default=None, examples=["firmo"])
    features: list[str] = Field(default=[], examples=[["size", "industry"]])
    state: CallState | None = Field(default=None, examples=["settled"])
    charged: float | None = Field(default=None, examples=[0.05])
    unit: str | None = Field(default=None, examples=["USD"])
    reason: str | None = Field(default=None, examples=["empty"])
    latency_ms: int | None = Field(default=None, examples=[180])
    before: list[float] | None = Field(
        default=None,
        examples=[[0.4, 0.6]],
        description="Chance of each class before it, in the model's order.",
    )
    after: list[float] | None = Field(default=None, examples=[[0.7, 0.3]])
