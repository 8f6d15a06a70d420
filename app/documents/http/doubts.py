"""Schemas of doubtful answers, and of answers tried without being stored."""

from pydantic import Field

from app.documents.shape import Answer, Units
from app.documents.words import DoubtKind


class Doubt(Answer):
    """What is odd about a value: it may be a slip."""

    feature: str = Field(examples=["chol"])
    kind: DoubtKind = Field(examples=["outside_range"])
    detail: str = Field(
        validation_alias="words", examples=["Training saw 126 mg/dL to 564 mg/dL only."]
    )
    nearest: str | None = Field(
        examples=[None], description="Of categories the one written most alike."
    )


class FoundCharge(Answer):
    feature: str = Field(examples=["chol"])
    amount: Units = Field(examples=[7.27])


class AnswersCheck(Answer):
    """What answers would do; nothing was taken or charged."""

    charges: list[FoundCharge]
    total: Units = Field(examples=[7.27])
    remaining: Units | None = Field(
        examples=[42.46], description="What would be left of the budget."
    )
    warnings: list[Doubt] = Field(description="Of these answers alone.")
