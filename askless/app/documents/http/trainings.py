"""Schemas of trainings."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from askless.app.documents.http.datasets import DATASET_ID
from askless.app.documents.http.problems import BrokenRule, ProblemType
from askless.app.documents.shape import EXAMPLE_TIME, Answer
from askless.app.documents.spec.spec import SPEC_EXAMPLE, SpecDocument
from askless.app.documents.words import TrainingState
from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.model.model import Curve
from askless.core.pipeline.validation import average_curves

#: Most datasets that one training joins.
MOST_TABLES = 20
TRAINING_ID = "trn_7d1e0f2a3b4c5d6e7f809102"


class TrainingOrder(SpecDocument):
    """A spec with the dataset to train on, or several, joined by their rows."""

    model_config = ConfigDict(
        title="TrainingOrder",
        json_schema_extra={"examples": [{"dataset_id": DATASET_ID} | SPEC_EXAMPLE]},
    )

    dataset_id: str | None = Field(
        default=None, examples=[DATASET_ID], description="Unless there are `datasets`."
    )
    datasets: list[str] | None = Field(
        default=None,
        min_length=1,
        max_length=MOST_TABLES,
        examples=[None],
        description="Ids of uploaded tables: all their rows, columns by name. A column "
        "that one of them lacks is missing there.",
    )


class Failure(BaseModel):
    """A problem document that says why a training made no model."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "/problems/worker-lost",
                    "title": "The training's workers died",
                    "detail": "The training was given up after it had lost 3 workers.",
                }
            ]
        }
    )

    type: ProblemType
    title: str
    detail: str
    errors: list[BrokenRule] | None = None


class Training(Answer):
    id: str = Field(examples=[TRAINING_ID])
    name: str = Field(examples=["heart-cleveland"])
    state: TrainingState = Field(examples=["running"])
    progress: float = Field(
        validation_alias="share",
        examples=[0.42],
        description="How much is done, 0 to 1.",
    )
    dataset_id: str | None = Field(
        examples=[DATASET_ID], description="Null once that was deleted."
    )
    model_id: str | None = Field(examples=[None], description="Once it succeeded.")
    error: Failure | None = Field(examples=[None], description="Once it failed.")
    warnings: list[str] = Field(examples=[["ignored columns: id"]])
    created_at: datetime = Field(examples=[EXAMPLE_TIME])
    started_at: datetime | None = Field(examples=[EXAMPLE_TIME])
    finished_at: datetime | None = Field(examples=[None])


class StartedTraining(Training):
    """A training that waits, and what its name will mean from now on."""

    name_will_mean: str = Field(
        examples=[
            "heart-cleveland will mean the model of this training: there is no other."
        ],
        description="A champion keeps the name; else the newest version takes it.",
    )


class Standing(Answer):
    """Place in the queue and expected end of a training or job; the end is a guess."""

    place: int | None = Field(
        examples=[None],
        description="In the queue, 1 is the next; null where it does not wait.",
    )
    expected_end: datetime | None = Field(
        examples=[EXAMPLE_TIME],
        description="While it runs: from what is done, and since when.",
    )


class TrainingWithSpec(Training, Standing):
    spec: dict[str, Any] = Field(examples=[SPEC_EXAMPLE])


class ShownShadow(Standing):
    """A shadow, as its page shows it."""

    id: str
    name: str
    state: TrainingState
    progress: float = Field(validation_alias="share")
    dataset_id: str | None
    model_id: str | None
    error: Failure | None
    created_at: datetime


class TrainingPage(Answer):
    items: list[Training]
    next: str | None = Field(examples=[None], description="For `?after=`.")


class Verdict(Answer):
    """Result of checking a spec against a table; nothing was stored."""

    valid: bool = Field(examples=[True])
    errors: list[BrokenRule] = Field(examples=[[]])
    warnings: list[str] = Field(default=[], examples=[["ignored columns: id"]])
    rows: int | None = Field(
        default=None,
        validation_alias="n_rows",
        examples=[303],
        description="Those with a target, and of positive weight.",
    )
    features: list[str] | None = Field(default=None, examples=[["age", "chol"]])
    classes: list[str] | None = Field(default=None, examples=[["0", "1"]])


class TestedPoint(Answer):
    """Error on held-out rows at a budget; costs in the unit of the training."""

    budget: float = Field(examples=[18.25])
    mean_spend: float = Field(examples=[11.4])
    error: float = Field(examples=[0.21])


class TestedParts(Answer):
    """The mean curve of the folds trained so far, before any calibration."""

    __test__ = False

    parts: int = Field(examples=[2], description="Folds tested so far.")
    rows: int = Field(examples=[122], description="Held-out rows used.")
    points: list[TestedPoint]

    @classmethod
    def of_curves(cls, curves: Sequence[Curve]) -> Self:
        """Return the mean of curves at the same budgets."""
        mean = average_curves(curves)
        points = [
            TestedPoint(
                budget=(budget or 0) / MICROS_PER_UNIT,
                mean_spend=spend / MICROS_PER_UNIT,
                error=error,
            )
            for budget, spend, error in zip(
                mean.budgets, mean.mean_spends, mean.errors_calibrated, strict=True
            )
        ]
        return cls(parts=len(curves), rows=mean.n_samples, points=points)


class TrainingEvent(BaseModel):
    """The data of one event of a stream; its name is the event's type."""

    state: TrainingState = Field(examples=["running"])
    progress: float = Field(examples=[0.42])
    at: datetime = Field(examples=[EXAMPLE_TIME])
    attempt: int | None = Field(default=None, examples=[None])
    part: int | None = Field(
        default=None,
        examples=[2],
        description="Counted from 0: the folds, then all rows.",
    )
    parts: int | None = Field(
        default=None, examples=[6], description="The folds, and all rows."
    )
    round: int | None = Field(default=None, examples=[117])
    tested: TestedParts | None = Field(
        default=None, description="Once the first fold is trained."
    )
    model_id: str | None = Field(default=None, examples=[None])
    error: Failure | None = Field(default=None, examples=[None])
