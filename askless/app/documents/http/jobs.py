"""Schemas of jobs: a model applied to a whole table."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from askless.app.documents.fields import AcceptUnseen, Cell, Key, Limit, Policy
from askless.app.documents.http.datasets import DATASET_ID
from askless.app.documents.http.models import MODEL_ID
from askless.app.documents.http.sessions import MAX_SEED
from askless.app.documents.http.terms import AimWish
from askless.app.documents.http.trainings import Failure, Standing
from askless.app.documents.shape import EXAMPLE_TIME, Answer, Shape
from askless.app.documents.words import JobKind, Spend, TrainingState
from askless.core.parameters import parameters_of
from askless.core.session.state import StopRule

JOB_ID = "job_5e6f708192a3b4c5d6e7f809"
MAX_BUDGETS = 1000
MAX_LEARNT_ROWS = 10_000
STOP = parameters_of(StopRule)
Budgets = Annotated[list[Limit], Field(min_length=1, max_length=MAX_BUDGETS)]


ACCEPT_UNSEEN = Field(
    default=False,
    examples=[False],
    description="Whether most cells of a column may be categories that training did "
    "not see. Else such a table is refused.",
)


class Order(Shape):
    """Fields that all orders share."""

    policy: Policy | None = Field(
        default=None, examples=["ordered"], description="By default the model's."
    )
    seed: int = Field(
        default=0,
        ge=0,
        le=MAX_SEED,
        examples=[7],
        description="Of the policy `sample`, and of aims.",
    )
    spend: Spend = Field(
        default="worthwhile",
        examples=["worthwhile"],
        description="`worthwhile`: sessions of the policies `panels` and `worth` end "
        "where going on is not worth it; `all`: they spend the budget.",
    )
    accept_unseen: AcceptUnseen = ACCEPT_UNSEEN


class PredictOrder(Order):
    """Order to predict the rows of a table, under `budgets` or `budget_from`."""

    model_config = ConfigDict(
        title="PredictOrder", json_schema_extra={"examples": [{"budgets": [20, 60]}]}
    )

    budgets: Budgets | None = Field(
        default=None,
        examples=[[20, 60]],
        description="Each row is predicted under each; null: unlimited.",
    )
    budget_from: Key | None = Field(
        default=None,
        examples=[None],
        description="Column of the table with each row's budget; inf: unlimited.",
    )
    keep: list[Key] = Field(
        default=[],
        max_length=MAX_BUDGETS,
        examples=[[]],
        description="Columns of the table to be in the result too.",
    )
    aim: AimWish | None = Field(default=None, examples=[None])
    exact_budget: bool = Field(
        default=False,
        examples=[False],
        description="Whether a budget is spent although the model's curve says that a "
        "smaller one does as well. Else rows are played under the smaller one, and the "
        "result has a column `budget_used`.",
    )


class PredictCall(PredictOrder):
    """An order with the id of the dataset it applies to."""

    model_config = ConfigDict(
        title="PredictCall",
        json_schema_extra={"examples": [{"dataset_id": DATASET_ID, "budgets": [60]}]},
    )

    dataset_id: str = Field(examples=[DATASET_ID])


class EvaluateOrder(Order):
    """Order to measure a model on the labelled rows of a table."""

    model_config = ConfigDict(
        title="EvaluateOrder",
        json_schema_extra={"examples": [{"budgets": [5, 60, None]}]},
    )

    budgets: Budgets | None = Field(
        default=None,
        examples=[[5, 60, None]],
        description="By default those of the model's curve; null: unlimited. With "
        "`aims` at most one.",
    )
    aims: list[AimWish] = Field(
        default=[], max_length=MAX_BUDGETS, examples=[[{"mean_budget": 75}]]
    )
    threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        examples=[None],
        description="Least chance of the positive class that counts as positive.",
    )
    weight: Key | None = Field(
        default=None, examples=[None], description="Column: how much each row counts."
    )
    group_by: Key | None = Field(
        default=None, examples=[None], description="Column: rows that belong together."
    )
    disagreement: float | None = Field(
        default=None,
        gt=STOP["disagreement"].above,
        ge=STOP["disagreement"].least,
        le=STOP["disagreement"].most,
        examples=[None],
        description="Measure early stops too, of which at most this share differs.",
    )
    delta: float = Field(
        default=STOP["delta"].default,
        gt=STOP["delta"].above,
        ge=STOP["delta"].least,
        le=STOP["delta"].most,
        examples=[0.1],
        description="Chance that this share is missed.",
    )


class EvaluateCall(EvaluateOrder):
    """An order with the id of the dataset it applies to."""

    model_config = ConfigDict(
        title="EvaluateCall",
        json_schema_extra={
            "examples": [{"dataset_id": DATASET_ID, "budgets": [5, None]}]
        },
    )

    dataset_id: str = Field(examples=[DATASET_ID])


class LearnOrder(Shape):
    """Order to go on learning from the labelled rows of a table."""

    model_config = ConfigDict(title="LearnOrder", json_schema_extra={"examples": [{}]})

    newest: bool = Field(
        default=False,
        examples=[False],
        description="Whether learning fails if the name has got a newer version by the "
        "end, which the next one would hide. It is so of a bare name.",
    )
    accept_unseen: AcceptUnseen = ACCEPT_UNSEEN


class LearnCall(LearnOrder):
    """Rows to learn, or the id of the dataset that has them."""

    model_config = ConfigDict(
        title="LearnCall",
        json_schema_extra={"examples": [{"rows": [{"age": 63, "label": "1"}]}]},
    )

    rows: (
        Annotated[
            list[dict[Key, Cell]], Field(min_length=1, max_length=MAX_LEARNT_ROWS)
        ]
        | None
    ) = Field(
        default=None,
        examples=[[{"age": 63, "label": "1"}]],
        description="Each with the target, and the features that are known.",
    )
    dataset_id: str | None = Field(
        default=None, examples=[None], description="Else the dataset with the rows."
    )


class JobResult(Answer):
    rows: int = Field(examples=[303], description="Of the result.")
    formats: list[str] = Field(
        examples=[["csv", "parquet"]], description="For `?format=`; the first if none."
    )
    model_id: str | None = Field(
        default=None, examples=[None], description="Of `learn`: the new version."
    )


class Job(Answer):
    id: str = Field(examples=[JOB_ID])
    kind: JobKind = Field(examples=["predict"])
    state: TrainingState = Field(examples=["running"])
    progress: float = Field(
        validation_alias="share",
        examples=[0.42],
        description="How much is done, 0 to 1.",
    )
    dataset_id: str | None = Field(
        examples=[DATASET_ID], description="Null once that was deleted."
    )
    model_id: str = Field(validation_alias="asked_model", examples=[MODEL_ID])
    order: dict[str, Any] = Field(
        validation_alias="spec", examples=[{"budgets": [20, 60]}]
    )
    result: JobResult | None = Field(description="Once it succeeded.")
    error: Failure | None = Field(examples=[None], description="Once it failed.")
    warnings: list[str] = Field(examples=[["chol: 2 rows with categories …"]])
    created_at: datetime = Field(examples=[EXAMPLE_TIME])
    started_at: datetime | None = Field(examples=[EXAMPLE_TIME])
    finished_at: datetime | None = Field(examples=[None])


class ShownJob(Job, Standing):
    """A job with its place in the queue or its expected end."""


class JobPage(Answer):
    items: list[Job]
    next: str | None = Field(examples=[None], description="For `?after=`.")
