"""Bodies of questions: what a session asks next, and what else it could ask."""

from pydantic import Field

from askless.app.documents.http.explanations import Prospect
from askless.app.documents.shape import Answer, Units
from askless.app.documents.words import FeatureType


class Alternative(Answer):
    feature: str = Field(examples=["restecg"])
    price: Units = Field(examples=[15.5])


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
    price: Units = Field(examples=[3.1], description="What it would charge now.")
    cost: Units = Field(examples=[3.1], description="The catalogue's figure.")
    group: str | None = Field(examples=["blood"])
    group_paid: bool = Field(validation_alias="is_group_paid", examples=[True])
    why: str = Field(examples=["The price buys all of the echo (3 features)."])
    prospect: Prospect | None = Field(description="Null where it alone moves nothing.")
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
