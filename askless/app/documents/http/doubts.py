"""Schemas of doubtful answers, and of answers tried without being stored."""

from pydantic import Field

from askless.app.documents.shape import Answer, Units
from askless.app.documents.words import DoubtKind


class Doubt(Answer):
    """A doubt about a value, which may be a typing error."""

    feature: str = Field(examples=["chol"])
    kind: DoubtKind = Field(examples=["outside_range"])
    detail: str = Field(
        validation_alias="words", examples=["Training saw 126 mg/dL to 564 mg/dL only."]
    )
    nearest: str | None = Field(
        examples=[None],
        description="Of known categories the one with the most similar spelling.",
    )


class FoundCharge(Answer):
    feature: str = Field(examples=["chol"])
    amount: Units = Field(examples=[7.27])


class AnswersCheck(Answer):
    """Effects that answers would have; none was stored or charged."""

    charges: list[FoundCharge]
    total: Units = Field(examples=[7.27])
    remaining: Units | None = Field(
        examples=[42.46], description="What would be left of the budget."
    )
    warnings: list[Doubt] = Field(description="Of these answers alone.")
