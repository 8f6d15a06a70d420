"""Schemas of explanations: the effect of an answer, and of possible next ones."""

from pydantic import Field

from askless.app.documents.shape import Answer
from askless.app.documents.words import TakenOutcome


class Prospect(Answer):
    """Probability of a class now, and the least and greatest after the answer."""

    label: str = Field(
        examples=["1"],
        description="Of two classes the positive one, of more the one predicted now.",
    )
    display: str = Field(examples=["disease"])
    now: float = Field(examples=[0.44])
    low: float = Field(examples=[0.31])
    high: float = Field(examples=[0.58])


class AnswerStep(Answer):
    """Effect of one answer on the probability of a class, given the earlier ones."""

    feature: str = Field(examples=["cp"])
    outcome: TakenOutcome = Field(examples=["value"])
    label: str = Field(
        examples=["1"],
        description="Of two classes the positive one, of more the one predicted now.",
    )
    before: float = Field(examples=[0.12])
    after: float = Field(examples=[0.18])
    log_odds: float = Field(
        examples=[0.48],
        description="By how much the log odds of this class rose. They add up over "
        "the steps; in another order of answers each step may be another.",
    )
    words: str = Field(examples=["raised the chance of disease from 12 to 18 %"])
