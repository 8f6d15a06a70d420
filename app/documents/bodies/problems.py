"""Bodies of problems."""

from pydantic import BaseModel, ConfigDict, Field


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
