"""Runs in requests, sessions and events."""

from collections.abc import Mapping
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


class RunTerms(Shape):
    """How a run weighs seconds beside money."""

    value_of_second: float = Field(
        default=0.0,
        ge=0,
        le=1e6,
        examples=[0.002],
        description="What a second costs, in the model's unit of money. A call leaves "
        "beside others where the wait that this saves costs more than an answer that "
        "may not be needed.",
    )
    deadline_s: float | None = Field(
        default=None,
        gt=0,
        le=86_400,
        examples=[20],
        description="Seconds after which the run ends with what is known. Calls on "
        "their way count as spent; their answers are taken when they come.",
    )
    at_once: int = Field(
        default=3,
        ge=1,
        le=16,
        examples=[3],
        description="Most calls on their way at a time.",
    )

    @property
    def weighs_time(self) -> bool:
        """Whether it differs from calls one after the other, however long they take."""
        return self.value_of_second > 0 or self.deadline_s is not None


def read_run(raw: object) -> object:
    """Return the terms of a run, or None for none."""
    if isinstance(raw, bool):
        return RunTerms() if raw else None
    if raw is not None and not isinstance(raw, Mapping | RunTerms):
        raise ValueError("must be true, false or an object")
    return raw


RunWish = Annotated[
    RunTerms | None,
    BeforeValidator(read_run, json_schema_input_type=bool | RunTerms | None),
]


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
