"""Schemas of what a session may spend, and of targets for the average session."""

from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from askless.app.documents.fields import ABSENT, Limit
from askless.app.documents.shape import Answer, Shape, Units, shape_of
from askless.core.session.state import Aim


class AimWish(shape_of(Aim)):  # type: ignore[misc]  # made of core's fields
    """Target for the average over many sessions; exactly one field is set."""


class WithBudget(Shape):
    """A request that must have a budget."""

    @model_validator(mode="before")
    @classmethod
    def tell_rule_of_budget(cls, raw: Any) -> Any:
        """Refuse an absent budget by a rule that names null."""
        is_absent = isinstance(raw, dict) and "budget" not in raw
        return raw | {"budget": ABSENT} if is_absent else raw


class TermsRequest(Shape):
    """A change of the budget, of the aim, or of both; what is left out stays."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"budget": 80}]})

    budget: Limit = Field(
        default=None,
        examples=[80.0],
        description="Most that may be charged in all, at least what is spent; null: "
        "unlimited.",
    )
    aim: AimWish | None = Field(
        default=None, examples=[{"mean_budget": 75}], description="Null: none."
    )


class SessionChange(TermsRequest):
    """A change of the terms of a session, or of what its run does."""

    run: Literal["paused", "buying"] | None = Field(
        default=None,
        examples=["paused"],
        description="`paused`, `buying` to go on, or null to hand it to a person.",
    )


class SessionAim(Answer):
    """An aim with the mean spend and error of such sessions on held-out rows."""

    mean_budget: Units | None = Field(examples=[75.0])
    wanted_error: float | None = Field(examples=[None])
    error_price: Units | None = Field(examples=[None])
    expected_spend: Units = Field(examples=[74.8])
    expected_error: float = Field(examples=[0.18])
