"""Bodies of questions: what a session asks next, and what else it could ask."""

from pydantic import Field

from askless.app.documents.http.explanations import Prospect
from askless.app.documents.http.models import CategoryLabels
from askless.app.documents.shape import Answer, Units
from askless.app.documents.words import FeatureType


class Alternative(Answer):
    feature: str = Field(examples=["restecg"])
    price: Units = Field(examples=[15.5])


class Promise(Answer):
    """Errors that held-out rows had in states as this one, by the model's curve.

    Shares of wrong labels; where errors have costs, mean costs of errors. None is below
    the one after it. The chance of error of this very case is 1 - `probability`.
    """

    error_now: float = Field(examples=[0.46])
    error_after: float = Field(examples=[0.3], description="Once it is answered.")
    error_at_end: float = Field(
        examples=[0.23], description="Once the whole plan is followed."
    )
    questions_left: tuple[int, int] = Field(
        examples=[(1, 4)], description="Least and most of the plan, this one included."
    )
    spend_left: Units = Field(examples=[21.5], description="At most.")


class Question(Answer):
    number: int = Field(examples=[5])
    feature: str = Field(examples=["fbs"])
    features: list[str] = Field(examples=[["fbs"]], description="All it reveals.")
    label: str = Field(
        validation_alias="title", examples=["Fasting blood sugar above 120 mg/dL"]
    )
    text: str = Field(examples=["Is it raised?"], description="What a person is asked.")
    type: FeatureType = Field(examples=["boolean"])
    unit: str | None = Field(examples=[None])
    range: tuple[float, float] | None = Field(
        validation_alias="value_range",
        examples=[None],
        description="Of a number, the least and the greatest that training saw; others "
        "are legal. Null: not known.",
    )
    categories: list[str] = Field(
        examples=[[]], description="Those that training saw; others are legal."
    )
    category_labels: CategoryLabels
    price: Units = Field(examples=[3.1], description="What it would charge now.")
    cost: Units = Field(examples=[3.1], description="The catalogue's figure.")
    group: str | None = Field(examples=["blood"])
    group_paid: bool = Field(validation_alias="is_group_paid", examples=[True])
    why: str = Field(examples=["The price buys all of the echo (3 features)."])
    prospect: Prospect | None = Field(description="Null where it alone moves nothing.")
    worth: Promise | None = Field(
        description="Null where no held-out rows were asked as this session: without "
        "folds, at other prices, by another policy, with an aim, or if it `explores`."
    )
    alternatives: list[Alternative]
    explores: bool = Field(
        examples=[False],
        description="Whether it was drawn at random and is not what the policy would "
        "ask: its answer serves to judge other policies.",
    )
    propensity: float | None = Field(
        examples=[1.0],
        description="Chance with which it is asked, given the answers before it. Null: "
        "not known.",
    )
    empty_chance: float | None = Field(
        examples=[0.18],
        description="Chance that it comes back empty, given what did so far. Null: "
        "training saw no empty answer.",
    )
    expected_price: Units = Field(
        examples=[3.1], description="What it charges on the mean, by its billing."
    )
