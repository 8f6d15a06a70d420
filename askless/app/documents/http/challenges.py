"""Schemas of refreshes, and of how a challenger stands against its champion."""

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from askless.app.documents.http.datasets import Time
from askless.app.documents.http.models import MODEL_ID
from askless.app.documents.http.trainings import StartedTraining
from askless.app.documents.shape import EXAMPLE_TIME, Answer, Shape, Units
from askless.app.documents.words import ChallengeState, Decision, Promotion

CHALLENGE_ID = "chl_5b0c7d2e9f4a61830c1d2e3f"


class PromotionRule(Shape):
    """When the challenger takes the champion's place, stated before any look."""

    alpha: Annotated[float, Field(gt=0, le=0.5)] = Field(
        default=0.05,
        examples=[0.05],
        description="At most this share of challengers that are no better than the "
        "margin is ever promoted by the rule, however often one looks.",
    )
    margin: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.0,
        examples=[0.0],
        description="By how much the challenger's loss must be lower: 0.01 is one "
        "error less in 100 cases. With error costs 1 is the dearest error.",
    )
    promote: Promotion = Field(
        default="by_person",
        examples=["by_person"],
        description="Who makes the challenger champion.",
    )


class RefreshRequest(Shape):
    """A training on the champion's first table and the cases since."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"rule": {"promote": "by_rule"}}]}
    )

    since: Time | None = Field(
        default=None,
        examples=[None],
        description="First moment that counts of when a case became known. Without it "
        "it is that of the refresh before, or else the champion's training.",
    )
    rule: PromotionRule = Field(
        default=PromotionRule(), examples=[{"alpha": 0.05, "promote": "by_person"}]
    )


class StartedRefresh(StartedTraining):
    """A training whose model challenges the champion."""

    challenge: str = Field(examples=[CHALLENGE_ID])
    champion: str = Field(examples=[MODEL_ID])
    cases: int = Field(
        examples=[120], description="Cases that the champion has not learnt."
    )


class Gap(Answer):
    """A mean paired difference: champion minus challenger, above 0 for the better."""

    value: float = Field(examples=[0.021])
    interval: tuple[float, float] = Field(
        examples=[(-0.004, 0.046)],
        description="Each end is passed with a chance of at most the rule's alpha at "
        "any look, at all looks together.",
    )


class ComparedLosses(Answer):
    """Losses on all cases, each given the same answers to both models."""

    champion: float = Field(examples=[0.181])
    challenger: float = Field(examples=[0.16])
    difference: Gap


class UnitGap(Answer):
    """As a difference of losses, in units of money."""

    value: Units = Field(examples=[1.2])
    interval: tuple[Units, Units] = Field(examples=[(-0.5, 2.9)])


class ComparedSpends(Answer):
    """Mean spends on those cases whose log answers what either model asks."""

    cases: int = Field(examples=[84])
    share: float = Field(examples=[0.7], description="Of all cases.")
    champion: Units = Field(examples=[31.5])
    challenger: Units = Field(examples=[30.3])
    difference: UnitGap


class ChallengeLook(Answer):
    """The difference of losses after a number of cases."""

    cases: int = Field(examples=[120])
    difference: float = Field(examples=[0.021])
    low: float = Field(examples=[-0.004])
    high: float = Field(examples=[0.046])


class ChallengeDecision(Answer):
    outcome: Decision = Field(examples=["promoted"])
    at: datetime = Field(examples=[EXAMPLE_TIME])
    cases: int = Field(examples=[212], description="After how many cases.")
    by_rule: bool = Field(examples=[False])
    by: str | None = Field(
        examples=["clinic"],
        description="The name of the key; null for the rule, or without a key.",
    )


class Challenge(Answer):
    """How a challenger stands against its champion."""

    id: str = Field(examples=[CHALLENGE_ID])
    name: str = Field(examples=["heart-cleveland"])
    state: ChallengeState = Field(examples=["playing"])
    training: str = Field(validation_alias="training_id", examples=["trn_0a1b2c3d"])
    champion: str = Field(validation_alias="champion_id", examples=[MODEL_ID])
    champion_version: int = Field(examples=[3])
    challenger: str | None = Field(
        examples=[MODEL_ID], description="Null until it is trained."
    )
    challenger_version: int | None = Field(examples=[4])
    rule: PromotionRule
    started_at: datetime = Field(validation_alias="created_at", examples=[EXAMPLE_TIME])
    cases_after: datetime = Field(
        validation_alias="cut_at",
        examples=[EXAMPLE_TIME],
        description="Only sessions that began after this count: neither model can have "
        "learnt from them.",
    )
    cases: int = Field(examples=[120], description="Compared so far.")
    better_after: int | None = Field(
        examples=[None],
        description="After how many cases the lower bound was first above the margin.",
    )
    loss: ComparedLosses | None = Field(description="Null without cases.")
    spend: ComparedSpends | None = Field(description="Null without such cases.")
    unit: str = Field(examples=["CAD"])
    looks: list[ChallengeLook] = Field(description="At most 60, for a chart.")
    decision: ChallengeDecision | None = Field(description="Null while it is open.")
    verdict: str = Field(examples=["The challenger is not better yet: …"])
