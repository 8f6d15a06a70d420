"""Bodies of problems."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypeAliasType

from askless.app.problems import KINDS


class BrokenRule(BaseModel):
    """A field and the rule that it breaks; never the value sent."""

    field: str = Field(examples=["answers[0].value"])
    rule: str = Field(examples=["must be a finite number"])


ProblemType = TypeAliasType(
    "ProblemType",
    Annotated[
        str,
        Field(
            json_schema_extra={"enum": [f"/problems/{kind}" for kind in KINDS]},
            description="An address of the service, which explains it.",
        ),
    ],
)


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

    type: ProblemType
    title: str
    status: int
    detail: str
    request_id: str | None
    errors: list[BrokenRule] | None = None
    feature: str | None = None
    price: float | None = None
    remaining: float | None = None
