"""Bodies of the calls about providers."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from askless.app.documents.buying.calls import CALL_ID
from askless.app.documents.buying.providers import Provider
from askless.app.documents.buying.templates import NAME
from askless.app.documents.fields import WITHOUT_NUL, Value
from askless.app.documents.shape import EXAMPLE_TIME, Answer, Shape, Units
from askless.app.documents.words import CallState

MAX_KEYS = 100
MAX_KEY = 2_000
#: what identifies a case to providers
CaseKeys = Annotated[
    dict[
        Annotated[str, Field(pattern=f"^{NAME.pattern}$")],
        Annotated[str, Field(min_length=1, max_length=MAX_KEY, pattern=WITHOUT_NUL)],
    ],
    Field(max_length=MAX_KEYS, examples=[{"domain": "acme.example"}]),
]


class ProviderBody(Answer, Provider):
    """A provider as it was put, and its state; never a secret's value."""

    model_config = ConfigDict(json_schema_extra={"examples": []})

    name: str = Field(examples=["firmo"])
    created_at: datetime = Field(examples=[EXAMPLE_TIME])
    updated_at: datetime = Field(examples=[EXAMPLE_TIME])
    cools_until: datetime | None = Field(
        examples=[None],
        description="It failed or asked to wait, and is not called before.",
    )
    spent: Units = Field(examples=[3.15], description="Today, by UTC.")
    held: Units = Field(
        examples=[0.05], description="Today's, for calls that have not ended."
    )
    warnings: list[str] = Field(
        default=[],
        examples=[["fills: no model has a group or feature 'firmo'"]],
        description="Only where it was put: what no model needs yet.",
    )


class ProviderPage(Answer):
    items: list[ProviderBody]
    next: str | None = Field(examples=[None], description="For `?after=`.")


class ProviderTest(Shape):
    """A case to test a provider with, by one call that is paid."""

    keys: CaseKeys = Field(default_factory=dict)


class ProviderTestResult(Answer):
    """What a test read and cost. Its values are stored nowhere."""

    call: str = Field(examples=[CALL_ID], description="In the list of calls.")
    state: CallState = Field(examples=["settled"])
    status: int | None = Field(
        examples=[200], description="Of HTTP; null: there was no answer."
    )
    reason: str | None = Field(
        examples=[None], description="Why nothing was read, in a word."
    )
    values: dict[str, Value] | None = Field(
        examples=[{"size": 120}],
        description="By feature, what was read; null in an answer given again.",
    )
    problems: dict[str, str] = Field(
        examples=[{}], description="By feature, why its value could not be used."
    )
    charged: Units = Field(examples=[0.05])
    unit: str = Field(examples=["USD"])
    attempts: int = Field(examples=[1])
    latency_ms: int | None = Field(examples=[48])


def describe_provider(document: dict[str, Any], **more: Any) -> ProviderBody:
    """Return the body of a stored provider; `more` are the fields of its state."""
    return ProviderBody.model_validate({**document, **more})
