"""Bodies of requests and responses about sessions."""

from datetime import datetime
from typing import Self

from pydantic import ConfigDict, Field, model_validator

from askless.app.documents.buying.runs import Keys, RunView, RunWish, WebhookWish
from askless.app.documents.fields import (
    AcceptUnseen,
    ClientRef,
    Key,
    Limit,
    Policy,
    Value,
)
from askless.app.documents.http.certificates import Certificate
from askless.app.documents.http.doubts import Doubt
from askless.app.documents.http.explanations import AnswerStep
from askless.app.documents.http.models import MODEL_ID, ModelGroup
from askless.app.documents.http.questions import Question
from askless.app.documents.http.terms import AimWish, SessionAim, WithBudget
from askless.app.documents.prices import PriceListWish
from askless.app.documents.shape import EXAMPLE_TIME, Answer, Shape, Units, shape_of
from askless.app.documents.words import (
    Billing,
    Outcome,
    SessionState,
    Spend,
    StopReason,
    TakenOutcome,
)
from askless.core.session.certificates import COVERAGES
from askless.core.session.explorations import RATES
from askless.core.session.state import StopRule

SESSION_ID = "ses_3b5d7f90a1c2e4f607182930"
# Many languages can't read larger integers from JSON exactly.
MAX_SEED = 2**53 - 1
MAX_ANSWERS = 1000


class StopWish(shape_of(StopRule)):  # type: ignore[misc]  # made of core's fields
    """Rule for when the session advises to stop."""


class PredictRequest(WithBudget):
    """A request to start a session."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"model": "heart-cleveland", "budget": 60, "known": {"age": 63}},
                {
                    "model": "heart-cleveland",
                    "budget": 120,
                    "stop": {"confidence": 0.95, "max_questions": 3},
                },
            ]
        }
    )

    model: Key = Field(
        examples=["heart-cleveland"],
        description="An id; a name: its champion, or else its newest version; "
        "`name@3` or `name@champion`.",
    )
    budget: Limit = Field(
        examples=[60.0], description="Most that may be charged; null: unlimited."
    )
    prices: PriceListWish | None = Field(
        default=None,
        description="What features and groups cost for this session; by default what "
        "the model says.",
    )
    client_ref: ClientRef | None = Field(
        default=None,
        examples=["visit-4711"],
        description="What you know the case by: kept as it is, found by "
        "`?client_ref=`, never logged, erased with the answers.",
    )
    known: dict[Key, Value] = Field(
        default_factory=dict,
        max_length=10_000,
        examples=[{"age": 63}],
        description="Values known beforehand, free.",
    )
    accept_unseen: AcceptUnseen = False
    policy: Policy | None = Field(
        default=None, examples=["ordered"], description="By default the model's."
    )
    seed: int | None = Field(
        default=None,
        ge=0,
        le=MAX_SEED,
        examples=[7],
        description="Of the policy `sample`, and of aims; random by default.",
    )
    aim: AimWish | None = Field(default=None, examples=[{"mean_budget": 75}])
    stop: StopWish = Field(
        default_factory=StopWish, examples=[{"certain": True, "confidence": 0.95}]
    )
    coverage: float | None = Field(
        default=None,
        ge=COVERAGES[0],
        le=COVERAGES[1],
        examples=[0.9],
        description="Of the label set at the session's end, which holds the true "
        "class with at least this chance.",
    )
    run: RunWish = Field(
        default=None,
        description="Let the service buy by itself until the session ends: the answer "
        "is 202, or with `Prefer: wait=10` the session as it is by then. An object "
        "says what seconds are worth, and when time is over.",
    )
    keys: Keys = Field(
        default_factory=dict,
        examples=[{"domain": "acme.example"}],
        description="Keys by which providers know the case. They are no features, are "
        "never logged, and are erased with the case. For a run only.",
    )
    webhook: WebhookWish | None = Field(
        default=None, description="The address that is told of the run's end."
    )
    explore: float = Field(
        default=0.0,
        ge=RATES[0],
        le=RATES[1],
        examples=[0.02],
        description="Chance before each question, and before the end, that another "
        "affordable feature is asked, drawn at random; once a session at most.",
    )

    @model_validator(mode="after")
    def _check_run(self) -> Self:
        if not self.run and (self.keys or self.webhook is not None):
            raise ValueError("keys and webhook need `run: true`")
        return self


class GivenAnswer(Shape):
    """The outcome for one feature, with its value if there is one."""

    feature: Key = Field(examples=["chol"])
    outcome: Outcome = Field(default="value", examples=["value"])
    value: Value | None = Field(
        default=None, examples=[233], description="With the outcome `value` only."
    )


class AnswersRequest(Shape):
    """Answers to store, all or none; they are charged in this order."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "answers": [
                        {"feature": "cp", "outcome": "value", "value": "asymptomatic"},
                        {"feature": "chol", "outcome": "ordered"},
                        {"feature": "fbs", "outcome": "refused"},
                    ]
                }
            ]
        }
    )

    answers: list[GivenAnswer] = Field(
        min_length=1,
        max_length=MAX_ANSWERS,
        examples=[[{"feature": "chol", "outcome": "value", "value": 233}]],
    )
    insist: bool = Field(
        default=False,
        description="Charge also an answer that can't change what is predicted. By "
        "default the request is refused, and nothing of it is taken.",
    )
    accept_unseen: AcceptUnseen = False
    as_cells: bool = Field(
        default=False,
        description="Read values as cells of the training's table: one that stands "
        "for a missing value there is `unavailable`. By default it is refused.",
    )


class ModelRef(Answer):
    id: str = Field(examples=[MODEL_ID])
    name: str = Field(examples=["heart-cleveland"])


class Budget(Answer):
    limit: Units | None = Field(
        validation_alias="budget_limit",
        examples=[60.0],
        description="Null is unlimited.",
    )
    spent: Units = Field(examples=[10.27])
    remaining: Units | None = Field(examples=[49.73])
    unit: str = Field(examples=["CAD"])


class ClassProbability(Answer):
    label: str = Field(examples=["1"])
    display: str = Field(examples=["disease"])
    probability: float = Field(examples=[0.71])


class Prediction(Answer):
    label: str = Field(examples=["1"])
    display: str = Field(examples=["disease"])
    probability: float = Field(examples=[0.71])
    margin: float = Field(examples=[0.23])
    classes: list[ClassProbability]
    n_draws: int | None = Field(examples=[None], description="Of `sample` only.")
    hoeffding_p: float | None = Field(
        examples=[None],
        description="Of `sample`: for this number of draws an upper bound on the "
        "chance of such a lead if the full vote pointed the other way.",
    )
    steps: list[AnswerStep] = Field(
        description="Known values first, then the answers as they came."
    )
    label_set: list[str] | None = Field(
        examples=[None],
        description="Labels of which one is true with the session's `coverage`. Null "
        "before the session's end, and where it can't be guaranteed.",
    )


class TakenAnswer(Answer):
    feature: str = Field(examples=["age"])
    outcome: TakenOutcome = Field(examples=["value"])
    value: bool | int | float | str | None = Field(examples=[63])
    charged: Units = Field(examples=[1.0])
    propensity: float | None = Field(
        examples=[1.0],
        description="Chance with which its question was asked. Null: it was not asked, "
        "or the chance is not known.",
    )
    explores: bool = Field(
        examples=[False], description="Whether its question was drawn at random."
    )


class Prices(Answer):
    """The complete price list of a session."""

    costs: dict[str, Units] = Field(examples=[{"age": 1.0, "chol": 9.5}])
    groups: list[ModelGroup]
    billing: dict[str, Billing] = Field(examples=[{"age": "per_answer"}])


class Stop(Answer):
    certain: bool = Field(examples=[True])
    confidence: float | None = Field(examples=[0.95])
    disagreement: float | None = Field(examples=[None])
    delta: float = Field(examples=[0.1])
    max_questions: int | None = Field(examples=[None])
    spend: Spend = Field(examples=["worthwhile"])


class SessionSummary(Answer):
    id: str = Field(examples=[SESSION_ID])
    state: SessionState = Field(examples=["open"])
    version: int = Field(examples=[5], description="Grows with every change.")
    model: ModelRef
    client_ref: str | None = Field(examples=["visit-4711"])
    budget: Budget
    created_at: datetime = Field(examples=[EXAMPLE_TIME])
    updated_at: datetime = Field(examples=[EXAMPLE_TIME])


class SessionPage(Answer):
    items: list[SessionSummary]
    next: str | None = Field(examples=[None], description="For `?after=`.")


class Session(Answer):
    """A session. If `should_stop`, `question` is the one that would still come next."""

    id: str = Field(examples=[SESSION_ID])
    state: SessionState = Field(examples=["open"])
    version: int = Field(examples=[5], description="Grows with every change.")
    model: ModelRef
    client_ref: str | None = Field(examples=["visit-4711"])
    budget: Budget
    question: Question | None
    prediction: Prediction | None = Field(description="Null once it was erased.")
    should_stop: bool = Field(
        examples=[False], description="Advice: it never locks the session."
    )
    stop_reason: StopReason | None = Field(
        examples=[None], description="Null: no reason to stop."
    )
    stop_words: str | None = Field(
        examples=[None], description="The reason as a sentence, with what remains."
    )
    answers: list[TakenAnswer]
    pending: list[str] = Field(examples=[[]])
    warnings: list[Doubt] = Field(
        description="Values unlike those of training; they were taken all the same."
    )
    policy: Policy | None = Field(examples=["ordered"])
    policy_words: str | None = Field(
        examples=[None],
        description="A sentence where `worth` was named and is not in force under this "
        "budget: it asks all the same.",
    )
    seed: int | None = Field(examples=[7])
    stop: Stop | None
    aim: SessionAim | None
    prices: Prices | None = Field(
        description="Null: those of the model, or the session was erased."
    )
    coverage: float | None = Field(examples=[None])
    explore: float | None = Field(
        examples=[0.0], description="Null: the session was erased."
    )
    certificate: Certificate | None = Field(
        description="Null unless `stop` has a `disagreement`."
    )
    run: RunView | None = Field(description="Null: the service does not buy itself.")
    created_at: datetime = Field(examples=[EXAMPLE_TIME])
    updated_at: datetime = Field(examples=[EXAMPLE_TIME])
