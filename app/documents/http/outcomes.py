"""Schemas of outcomes, and of a model's monitor, which is computed from them."""

from datetime import date, datetime
from typing import Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from app.documents.fields import Label
from app.documents.http.models import MODEL_ID, Estimate, Figures
from app.documents.http.sessions import SESSION_ID
from app.documents.shape import EXAMPLE_TIME, Answer, Shape, Units

# With a schema of its own: by its place it would be named as one that there is.
BucketSize = TypeAliasType("BucketSize", Literal["day", "week", "month"])


class OutcomeRequest(Shape):
    """What came of the case."""

    label: Label = Field(
        examples=["1"], description="The true label: one of the model's classes."
    )


class SessionOutcome(Answer):
    """The true label of a case beside what was predicted when it was told."""

    session: str = Field(validation_alias="session_id", examples=[SESSION_ID])
    label: str = Field(examples=["1"])
    predicted: str = Field(examples=["1"])
    probability: float = Field(
        examples=[0.71], description="That the session gave to the true label."
    )
    version: int = Field(examples=[5], description="Of the session, at that time.")
    at: datetime = Field(examples=[EXAMPLE_TIME])


class FeatureDrift(Answer):
    """Values of a feature beside those of training; null: the model does not know."""

    values: int = Field(validation_alias="n_values", examples=[120])
    outside: Estimate | None = Field(
        description="Share of numbers outside the range of training, or of categories "
        "that it did not see."
    )
    mean: float | None = Field(examples=[54.2])
    training_mean: float | None = Field(examples=[54.5])
    psi: float | None = Field(
        examples=[None],
        description="Population stability index of a boolean or category; by custom "
        "above 0.1 to be looked at, above 0.25 another population.",
    )


class MonitoredFeature(Answer):
    """What came of questions about one feature; it is told where anything did."""

    feature: str = Field(examples=["chol"])
    answers: int = Field(examples=[130], description="Of sessions that keep theirs.")
    refused: Estimate
    unavailable: Estimate
    unknown: Estimate
    drift: FeatureDrift | None = Field(description="Null where no value came.")


class MonitorBucket(Answer):
    """Sessions that began within a time, by UTC."""

    start: date = Field(examples=["2026-11-16"])
    sessions: int = Field(examples=[140])
    closed: int = Field(examples=[128])
    mean_spend: Units | None = Field(examples=[31.5], description="Of closed ones.")
    mean_spend_interval: tuple[Units, Units] | None = Field(
        examples=[(29.8, 33.2)], description="Of 95 %."
    )
    outcomes: int = Field(examples=[60], description="On which the figures rest.")
    error: Estimate | None = Field(description="Null without outcomes.")
    figures: Figures | None = Field(
        description="Calibration and the rest; null without outcomes."
    )
    features: list[MonitoredFeature]


class Monitor(Answer):
    """What became of a model's sessions over time."""

    model: str = Field(examples=[MODEL_ID])
    unit: str = Field(examples=["CAD"])
    bucket: BucketSize = Field(examples=["week"])
    whole: MonitorBucket
    buckets: list[MonitorBucket]
