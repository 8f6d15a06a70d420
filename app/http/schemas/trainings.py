"""Schemas of trainings. A spec's are documentation: core reads it, exactly."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.http.schemas.common import EXAMPLE_TIME, Answer, BrokenRule
from app.http.schemas.datasets import DATASET_ID

TRAINING_ID = "trn_7d1e0f2a3b4c5d6e7f809102"

SPEC_EXAMPLE: dict[str, Any] = {
    "name": "heart-cleveland",
    "target": "disease",
    "positive": "1",
    "classes": {"1": "disease", "0": "no disease"},
    "cost_unit": "CAD",
    "features": [
        {
            "name": "age",
            "label": "Age",
            "type": "number",
            "unit": "years",
            "cost": 1.0,
        },
        {
            "name": "chol",
            "type": "number",
            "unit": "mg/dL",
            "cost": 5.17,
            "group": "blood",
        },
    ],
    "groups": [{"name": "blood", "fee": 2.10}],
    "algorithm": "adaboost_bt_smoothed",
    "params": {"rounds": 300, "tau": 1.0},
    "seed": 0,
    "validation": {"folds": 5},
}


class SpecFeature(BaseModel):
    """A column that costs something to read."""

    name: str = Field(examples=["chol"])
    label: str | None = Field(default=None, examples=["Serum cholesterol"])
    type: Literal["number", "boolean", "category"] | None = Field(
        default=None,
        examples=["number"],
        description="By default what the column suggests.",
    )
    unit: str | None = Field(default=None, examples=["mg/dL"])
    cost: float = Field(default=1, ge=0, examples=[5.17])
    group: str | None = Field(default=None, examples=["blood"])


class SpecGroup(BaseModel):
    """Features that share a one-time fee, or, as a bundle, have one price."""

    name: str = Field(examples=["blood"])
    label: str | None = Field(default=None, examples=["blood sample"])
    fee: float | None = Field(default=None, ge=0, examples=[2.1])
    price: float | None = Field(default=None, ge=0, examples=[None])
    members: list[str] = Field(default=[], examples=[["chol", "fbs"]])


class SpecParams(BaseModel):
    rounds: int | Literal["auto"] = Field(
        default=300,
        examples=[300],
        description='1 to 100,000, or "auto": as held-out rows say, 1,000 at most.',
    )
    tau: float | Literal["auto"] = Field(
        default=1.0, examples=[1.0], description='0 to 1, or "auto".'
    )
    switch: float | Literal["auto"] = Field(
        default=0.1, examples=[0.1], description='0 to 1, or "auto".'
    )
    cost_floor: float | None = Field(default=None, gt=0, examples=[None])
    learner: Literal["stump", "tree", "product"] = Field(
        default="stump", examples=["stump"]
    )
    leaves: int = Field(default=8, ge=2, le=64, examples=[8], description="Of a tree.")
    factors: int = Field(
        default=3, ge=1, le=8, examples=[3], description="Of a product."
    )
    search: Literal["all", "lazy", "ucb", "ucb_unscaled"] = Field(
        default="all",
        examples=["all"],
        description="Which features a round looks at: all, some drawn at random, or "
        "those that paid off so far; `ucb_unscaled` with the bonus of the paper.",
    )
    search_size: int = Field(
        default=20,
        ge=1,
        le=1_000_000,
        examples=[20],
        description="How many `lazy`, `ucb` and `ucb_unscaled` look at.",
    )
    stages: int = Field(
        default=3, ge=1, le=50, examples=[3], description="Most stages of a cascade."
    )
    detection: float = Field(
        default=0.99,
        ge=0.5,
        le=1,
        examples=[0.99],
        description="Share of the positive class that each stage must keep.",
    )
    false_alarm: float = Field(
        default=0.5,
        ge=0,
        le=1,
        examples=[0.5],
        description="Share of the other class that each stage may let pass.",
    )
    label_weights: Literal["balanced", "uniform"] = Field(
        default="balanced",
        examples=["balanced"],
        description="First weights of more than two classes.",
    )


class SpecValidation(BaseModel):
    folds: int = Field(default=5, ge=0, le=50, examples=[5])


class SpecSelection(BaseModel):
    """Features are selected before training, and no other is ever asked for.

    The selection is made anew for each fold, so that the curve is not flattered. The
    model's card tells the subset, its cost and the path to it (`selection`).
    """

    method: Literal["fs2boost", "ifs2boost", "sfs"] = Field(
        default="fs2boost",
        examples=["fs2boost"],
        description="What a feature must do to be added: `fs2boost` and `ifs2boost` "
        "lower the loss of boosting markedly, `sfs` raise the accuracy.",
    )
    learner: Literal["knn", "stump"] = Field(
        default="knn",
        examples=["knn"],
        description="What judges a subset: nearest neighbours or stumps.",
    )
    rounds: int = Field(default=50, ge=1, le=10_000, examples=[50])
    n_neighbours: int = Field(default=10, ge=1, le=10_000, examples=[10])
    significance: float = Field(
        default=0.05,
        ge=1e-6,
        le=1 - 1e-6,
        examples=[0.05],
        description="The smaller, the fewer features.",
    )


class TrainingSpec(BaseModel):
    """What to train; the same file serves the command line.

    Without `features` every column but the target is one, of cost 1 or as `costs`
    says.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [SPEC_EXAMPLE]})

    target: str = Field(examples=["disease"])
    name: str = Field(default="model", examples=["heart-cleveland"])
    positive: str | None = Field(
        default=None, examples=["1"], description="Of two classes only."
    )
    classes: dict[str, str] = Field(default={}, examples=[{"1": "disease"}])
    cost_unit: str = Field(default="", examples=["CAD"])
    features: list[SpecFeature] | None = None
    costs: dict[str, float] = Field(default={}, examples=[{}])
    groups: list[SpecGroup] = []
    algorithm: str = Field(
        default="adaboost_bt_smoothed", examples=["adaboost_bt_smoothed"]
    )
    params: SpecParams = SpecParams()
    seed: int = Field(default=0, ge=0, examples=[0])
    validation: SpecValidation | None = SpecValidation()
    weight: str | None = Field(default=None, examples=[None])
    group_by: str | None = Field(default=None, examples=[None])
    error_costs: dict[str, dict[str, float]] | None = Field(
        default=None, examples=[None]
    )
    selection: SpecSelection | None = Field(
        default=None,
        examples=[{"method": "fs2boost", "learner": "knn"}],
        description="Null: every feature may be read. Memory and time grow with the "
        "square of the rows.",
    )


class TrainingOrder(TrainingSpec):
    """A spec together with the dataset it is for."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"dataset_id": DATASET_ID} | SPEC_EXAMPLE]}
    )

    dataset_id: str = Field(examples=[DATASET_ID])


class Failure(BaseModel):
    """A problem document: why a training has made no model."""

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

    type: str
    title: str
    detail: str
    errors: list[BrokenRule] | None = None


State = Literal["queued", "running", "succeeded", "failed", "cancelling", "cancelled"]


class Training(Answer):
    id: str = Field(examples=[TRAINING_ID])
    name: str = Field(examples=["heart-cleveland"])
    state: State = Field(examples=["running"])
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


class TrainingWithSpec(Training):
    spec: dict[str, Any] = Field(examples=[SPEC_EXAMPLE])


class TrainingPage(Answer):
    items: list[Training]
    next: str | None = Field(examples=[None], description="For `?after=`.")


class Verdict(Answer):
    """What a spec and a table are like together; nothing was stored."""

    valid: bool = Field(examples=[True])
    errors: list[BrokenRule] = Field(examples=[[]])
    warnings: list[str] = Field(default=[], examples=[["ignored columns: id"]])
    rows: int | None = Field(
        default=None, examples=[303], description="Of positive weight."
    )
    features: list[str] | None = Field(default=None, examples=[["age", "chol"]])
    classes: list[str] | None = Field(default=None, examples=[["0", "1"]])


class TrainingEvent(BaseModel):
    """The data of one event of a stream; its name is the event's type."""

    state: State = Field(examples=["running"])
    progress: float = Field(examples=[0.42])
    at: datetime = Field(examples=[EXAMPLE_TIME])
    attempt: int | None = Field(default=None, examples=[None])
    part: int | None = Field(default=None, examples=[2])
    round: int | None = Field(default=None, examples=[117])
    model_id: str | None = Field(default=None, examples=[None])
    error: Failure | None = Field(default=None, examples=[None])
