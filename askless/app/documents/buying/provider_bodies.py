"""Bodies of the calls about providers."""

from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field

from askless.app.documents.buying.calls import CALL_ID
from askless.app.documents.buying.providers import Provider
from askless.app.documents.buying.runs import Keys
from askless.app.documents.shape import EXAMPLE_TIME, Answer, Shape, Units
from askless.app.documents.words import CallState


class ProviderBody(Answer, Provider):
    """A provider as it was put, and its state; never a secret's value."""

    model_config = ConfigDict(json_schema_extra={"examples": []})

    name: str = Field(examples=["firmo"])
    created_at: datetime = Field(examples=[EXAMPLE_TIME])
    updated_at: datetime = Field(examples=[EXAMPLE_TIME])
    cools_until: datetime | None = Field(
        examples=[None],
        description="It failed or asked to wait, and is not called earlier.",
    )
    spent: Units = Field(examples=[3.15], description="Today, by UTC.")
    held: Units = Field(
        examples=[0.05], description="Today's, for calls that have not ended."
    )
    warnings: list[str] = Field(
        default=[],
        examples=[["fills: no model has a bundle or feature 'firmo'"]],
        description="What no model uses yet; only in the answer to `PUT`.",
    )

    def describe_state(self, now: datetime) -> str:
        """Return in words whether it can be called, or until when it can't."""
        until = self.cools_until
        if until is None or until <= now:
            return "ready"
        day = "" if until.date() == now.date() else f"{until.day} {until:%B} "
        return f"cools until {day}{until:%H:%M:%S} UTC"

    def strip_state(self) -> dict[str, Any]:
        """Return the provider as it was put, without its state."""
        own = Provider.model_fields.keys() & self.model_fields_set
        return self.model_dump(
            mode="json", by_alias=True, include=own, exclude_unset=True
        )


class ProviderPage(Answer):
    items: list[ProviderBody]
    next: str | None = Field(examples=[None], description="For `?after=`.")


class ProviderTest(Shape):
    """A case to test a provider with, by one call that is paid."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"keys": {"domain": "acme.example"}}]}
    )

    keys: Keys = Field(
        default_factory=dict,
        examples=[{"domain": "acme.example"}],
        description="Keys by which the provider knows the case; never stored.",
    )


class ProviderTestResult(Answer):
    """The values that a test has read, which are stored nowhere, and its cost."""

    call: str = Field(examples=[CALL_ID], description="In the list of calls.")
    state: CallState = Field(
        examples=["settled"],
        description="`reserved` in an answer given again: see the call itself.",
    )
    status: int | None = Field(
        examples=[200], description="HTTP status; null: no answer came."
    )
    reason: str | None = Field(examples=[None], description="Why it ended so.")
    values: dict[str, Any] | None = Field(
        examples=[{"size": 120}],
        description="Values by feature, as the provider wrote them; null in an answer "
        "given again.",
    )
    problems: dict[str, str] = Field(
        examples=[{}], description="Reasons by feature why a value can't be used."
    )
    price: Units = Field(examples=[0.05], description="Amount reserved for it.")
    charged: Units = Field(examples=[0.05])
    unit: str = Field(examples=["USD"])
    latency_ms: int | None = Field(examples=[48])
