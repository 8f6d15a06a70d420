"""What several nouns share: money, values, pages, problems."""

from pydantic import BaseModel, ConfigDict, Field

EXAMPLE_TIME = "2026-11-20T09:30:00Z"


class Request(BaseModel):
    """A body: nothing is converted, nothing unknown is passed over."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class Answer(BaseModel):
    """What is sent back, made from a record of the service."""

    model_config = ConfigDict(from_attributes=True, extra="forbid")


class BrokenRule(BaseModel):
    """One field and the rule it breaks; never what was found there."""

    field: str = Field(examples=["answers[0].value"])
    rule: str = Field(examples=["must be a finite number"])


class Problem(BaseModel):
    """A problem document (RFC 9457). Its type is documented at its own address."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "/problems/over-budget",
                    "title": "The price exceeds what remains of the budget",
                    "status": 409,
                    "detail": "ca: its price must not exceed what remains",
                    "request_id": "req_5f0c",
                    "feature": "ca",
                    "price": 100.9,
                    "remaining": 49.73,
                }
            ]
        },
    )

    type: str
    title: str
    status: int
    detail: str
    request_id: str | None
    errors: list[BrokenRule] | None = None
    feature: str | None = None
    price: float | None = None
    remaining: float | None = None
