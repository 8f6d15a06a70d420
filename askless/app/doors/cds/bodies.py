"""Bodies of requests of CDS Hooks 2.0; fields that are not read may be anything."""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Hook = Literal["patient-view", "order-select"]
Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[!-~]+$")]
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Request(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)


class Context(Request):
    """The patient whose record was opened, and the orders that were selected."""

    patient_id: Id = Field(alias="patientId")
    selections: list[str] = Field(default=[], max_length=1000)
    draft_orders: dict[str, Any] = Field(default={}, alias="draftOrders")


class HookRequest(Request):
    """A call of a service."""

    hook: Hook
    hook_instance: Id = Field(alias="hookInstance")
    context: Context
    prefetch: dict[str, Any] | None = None


class OverrideReason(Request):
    reason: dict[str, Any] | None = None


class Feedback(Request):
    """A clinician's decision on a card."""

    card: str = Field(max_length=200)
    outcome: Literal["accepted", "overridden"]
    accepted_suggestions: list[dict[str, Any]] = Field(
        default=[], alias="acceptedSuggestions", max_length=100
    )
    override_reason: OverrideReason | None = Field(default=None, alias="overrideReason")


class FeedbackRequest(Request):
    feedback: list[Feedback] = Field(min_length=1, max_length=100)
