"""Schemas of models: cards, curves, plans."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field

from askless.app.documents.fields import Policy
from askless.app.documents.shape import EXAMPLE_TIME, Answer, Units
from askless.app.documents.words import Billing, FeatureType
from askless.core.catalogue.catalogue import Group
from askless.core.catalogue.prices import from_micros

MODEL_ID = "mdl_9c1f6d2b7a3e4f5061728394"
# A mean of amounts, rounded to micro-units.
MeanUnits = Annotated[float, BeforeValidator(lambda mean: from_micros(int(mean + 0.5)))]


# A feature and the question for it both have this field.
CategoryLabels = Annotated[
    list[str],
    Field(
        validation_alias="shown_categories",
        examples=[[]],
        description="What people read for `categories`, in the same order; an answer "
        "may be either.",
    ),
]


class ModelHead(Answer):
    id: str = Field(examples=[MODEL_ID])
    name: str = Field(examples=["heart-cleveland"])
    version: int = Field(examples=[1], description="Counts the models of one name.")
    training_id: str | None = Field(
        examples=["trn_0a1b2c3d"],
        description="Null for a model that was imported, or has learnt.",
    )
    created_at: datetime = Field(examples=[EXAMPLE_TIME])
    champion: bool = Field(
        validation_alias="is_champion",
        examples=[False],
        description="Whether its name without a version means it; where none is, the "
        "newest version is meant.",
    )
    learnt_from: str | None = Field(
        examples=[None], description="The model that went on learning from more rows."
    )


class ModelPage(Answer):
    items: list[ModelHead]
    next: str | None = Field(examples=[None], description="For `?after=`.")


class ModelFeature(Answer):
    name: str = Field(examples=["chol"])
    label: str = Field(validation_alias="title", examples=["Serum cholesterol"])
    text: str = Field(
        examples=["What is the patient's serum cholesterol?"],
        description="How a person is asked: the feature's question, else its label.",
    )
    type: FeatureType = Field(examples=["number"])
    unit: str | None = Field(examples=["mg/dL"])
    code: str | None = Field(examples=["2093-3"], description="In `system`.")
    system: str | None = Field(
        examples=["loinc"], description="`loinc`, `snomed`, or an address."
    )
    ucum: str | None = Field(examples=["mg/dL"], description="The unit in UCUM.")
    cost: Units = Field(examples=[5.17])
    group: str | None = Field(examples=["blood"])
    categories: list[str] = Field(examples=[[]])
    category_labels: CategoryLabels
    used: bool = Field(examples=[True], description="Whether the model reads it.")
    billing: Billing = Field(examples=["per_answer"])


class ModelGroup(Answer):
    name: str = Field(examples=["blood"])
    label: str | None = Field(examples=["blood sample"])
    fee: Units | None = Field(examples=[2.1], description="Null for a bundle.")
    price: Units | None = Field(examples=[None], description="Of a bundle.")
    billing: Billing = Field(
        examples=["per_answer"],
        description="With a fee: the billing of members without their own.",
    )

    @classmethod
    def of_group(cls, group: Group) -> Self:
        """Build the body of a group, which has a fee or, as a bundle, a price."""
        return cls.of(group, fee=None if group.is_bundle else group.fee)


class ModelClass(Answer):
    label: str = Field(examples=["1"])
    display: str = Field(examples=["disease"])
    share: float = Field(examples=[0.46], description="Of the training's weight.")


class Model(ModelHead):
    """A model with its catalogue and its card."""

    target: str = Field(examples=["label"])
    target_label: str = Field(
        validation_alias="target_title",
        examples=["Heart disease"],
        description="What people call the target; by default as its column.",
    )
    algorithm: str = Field(examples=["adaboost_bt_smoothed"])
    policy: Policy = Field(examples=["ordered"])
    params: dict[str, Any] = Field(examples=[{"rounds": 300, "tau": 1.0}])
    cost_unit: str = Field(examples=["CAD"])
    features: list[ModelFeature]
    groups: list[ModelGroup]
    classes: list[ModelClass]
    positive: str | None = Field(
        examples=["1"],
        description="The label of that class; null of more than two classes.",
    )
    hypotheses: int = Field(examples=[300])
    card: dict[str, Any] = Field(examples=[{"rows": 303, "folds": 5}])


class Estimate(Answer):
    """A figure with its 95 % confidence interval for other rows of the kind."""

    value: float = Field(examples=[0.81])
    interval: tuple[float, float] | None = Field(
        examples=[(0.76, 0.86)], description="Null where the rows are too few to tell."
    )


class ReliabilityBin(Answer):
    """Rows with similar predicted chances, and how often the class came true."""

    share: float = Field(examples=[0.1], description="Of the rows' weight.")
    mean_chance: float = Field(examples=[0.32])
    observed: Estimate


class RareFigures(Answer):
    """Threshold, precision and recall of the rarer of two classes."""

    threshold: float = Field(
        examples=[0.21],
        description="Least chance of the class at which a row counts as found. It has "
        "the best F1 on the held-out rows of the model's curve.",
    )
    precision: Estimate | None = Field(
        description="Share of the class among the rows found; null if none is."
    )
    recall: Estimate | None = Field(
        description="Share of the class's rows that are found; null if it has none."
    )


class Figures(Answer):
    """Quality of predictions under one budget; docs/figures.md explains each figure."""

    auroc: Estimate | None = Field(
        description="Of several classes each against the rest, their mean. Null where "
        "the rows are of one class."
    )
    log_loss: Estimate
    brier: Estimate
    calibration_error: Estimate
    sensitivity: Estimate | None
    specificity: Estimate | None
    expected_cost: Estimate | None = Field(description="Null without error_costs.")
    reliability: list[ReliabilityBin] = Field(
        description="By chance; of two classes that of the positive, of several that "
        "of the label."
    )
    rare: RareFigures | None = Field(
        default=None,
        examples=[None],
        description="Null unless one of two classes has under 10 % of the training, "
        "and with error_costs.",
    )


class Curve(Answer):
    """Error and spend for each budget; errors are from held-out rows."""

    unit: str = Field(examples=["CAD"])
    budgets: list[Units | None] = Field(
        examples=[[0.0, 7.27, None]], description="Null is unlimited."
    )
    error: list[float] = Field(validation_alias="errors", examples=[[0.46, 0.25, 0.17]])
    error_calibrated: list[float] = Field(
        validation_alias="errors_calibrated", examples=[[0.46, 0.24, 0.17]]
    )
    interval: list[tuple[float, float]] = Field(
        validation_alias="intervals",
        examples=[[(0.4, 0.52), (0.2, 0.29), (0.13, 0.22)]],
        description="95 % interval of `error_calibrated` on other rows of the kind "
        "(Wilson; for folds widened after Nadeau and Bengio).",
    )
    mean_spend: list[MeanUnits] = Field(
        validation_alias="mean_spends",
        examples=[[0.0, 7.27, 164.2]],
        description="Of this model, played on rows of its training.",
    )
    max_spend: list[Units] = Field(
        validation_alias="max_spends", examples=[[0.0, 7.27, 246.5]]
    )
    rows: int = Field(validation_alias="n_samples", examples=[303])
    predictive: list[Figures] | None = Field(
        default=None,
        examples=[None],
        description="Under each budget; null in models written before there were any.",
    )


class EarlyPoint(Answer):
    """Sessions under one budget that stop early by a certificate."""

    budget: Units | None
    threshold: float | None
    differing: float
    error: float
    mean_spend: MeanUnits
    mean_spend_whole: MeanUnits


class Purchase(Answer):
    number: int = Field(examples=[1])
    feature: str = Field(examples=["chol"])
    features: list[str] = Field(
        examples=[["chol"]], description="All that the price reveals."
    )
    label: str = Field(validation_alias="title", examples=["Serum cholesterol"])
    group: str | None = Field(examples=["blood"])
    price: Units = Field(examples=[7.27])
    total: Units = Field(examples=[7.27], description="Spent after it.")
    empty_chance: float | None = Field(
        examples=[0.18],
        description="Chance that it comes back empty if all before it came. Null: "
        "training saw no empty answer.",
    )
    expected_price: Units = Field(
        examples=[7.27], description="What it charges on the mean, by its billing."
    )


class Plan(Answer):
    """Purchases of a session, in order, if every answer comes and is a median."""

    budget: float | None = Field(examples=[60.0], description="Null is unlimited.")
    unit: str = Field(examples=["CAD"])
    policy: Policy = Field(examples=["panels"], description="Who asks.")
    purchases: list[Purchase]
    total: float = Field(examples=[58.3])
    hypotheses: int = Field(examples=[300])
    hypotheses_planned: int | None = Field(
        examples=[120], description="Null where hypotheses don't vote."
    )


IMPORT_EXAMPLE = {
    "format": "askless-model",
    "version": 3,
    "name": "coin",
    "target": "side",
    "algorithm": "adaboost_bt",
    "policy": "ordered",
    "params": {},
    "cost_unit": "EUR",
    "features": [
        {
            "name": "weight",
            "type": "number",
            "cost_micros": 1_000_000,
            "label": None,
            "unit": "g",
            "group": None,
            "categories": [],
        }
    ],
    "groups": [],
    "classes": [{"label": "0", "display": "tails"}, {"label": "1", "display": "heads"}],
    "priors": [0.5, 0.5],
    "hypotheses": [
        {"kind": "stump", "feature": 0, "cut": 7.5, "votes": [1], "alpha": 0.8}
    ],
    "is_multilabel": False,
    "calibrations": {},
    "error_costs": None,
    "curve": None,
    "card": {},
}
