"""Schemas of outcomes, and of a model's monitor, which is computed from them."""

from datetime import date, datetime
from typing import Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from askless.app.documents.fields import Label
from askless.app.documents.http.models import MODEL_ID, Estimate, Figures
from askless.app.documents.http.sessions import SESSION_ID
from askless.app.documents.shape import EXAMPLE_TIME, Answer, Shape, Units
from askless.app.documents.words import AlarmKind

# Has its own schema: a name made from its place would clash with another.
BucketSize = TypeAliasType("BucketSize", Literal["day", "week", "month"])


class OutcomeRequest(Shape):
    """The true label of a case, to be recorded."""

    label: Label = Field(
        examples=["1"], description="The true label: one of the model's classes."
    )


class SessionOutcome(Answer):
    """The true label of a case beside the prediction at the time it was recorded."""

    session: str = Field(validation_alias="session_id", examples=[SESSION_ID])
    label: str = Field(examples=["1"])
    predicted: str = Field(examples=["1"])
    probability: float = Field(
        examples=[0.71], description="That the session gave to the true label."
    )
    version: int = Field(examples=[5], description="Of the session, at that time.")
    at: datetime = Field(examples=[EXAMPLE_TIME])


class FeatureDrift(Answer):
    """Values of a feature compared with training; null where nothing was recorded."""

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
    """Outcomes of questions about one feature; listed only where there were any."""

    feature: str = Field(examples=["chol"])
    answers: int = Field(examples=[130], description="Of sessions that keep theirs.")
    refused: Estimate
    unavailable: Estimate
    unknown: Estimate
    drift: FeatureDrift | None = Field(description="Null where no value came.")


class MonitorBucket(Answer):
    """Figures of the sessions that began within a period, by UTC."""

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


class RefreshReason(Answer):
    """A figure that is surely beyond its tolerance."""

    kind: AlarmKind = Field(examples=["drift"])
    feature: str | None = Field(examples=["chol"], description="Of drift alone.")
    value: float = Field(examples=[0.34])
    tolerated: float = Field(examples=[0.1])
    told: str = Field(examples=["chol: its values differ from training (0.34)"])


class RefreshDue(Answer):
    """Whether the sessions speak for training the model anew."""

    is_due: bool = Field(examples=[False])
    reasons: list[RefreshReason]
    sentence: str = Field(examples=["Nothing speaks for a refresh: …"])


class Monitor(Answer):
    """Figures of a model's sessions over time."""

    model: str = Field(examples=[MODEL_ID])
    unit: str = Field(examples=["CAD"])
    bucket: BucketSize = Field(examples=["week"])
    refresh: RefreshDue
    whole: MonitorBucket
    buckets: list[MonitorBucket]
