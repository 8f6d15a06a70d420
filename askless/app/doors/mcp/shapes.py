"""Inputs and outputs of the tools about cases, as small as an agent needs them."""

from typing import Literal, Self

from pydantic import Field, model_validator

from askless.app.documents.buying.runs import Keys
from askless.app.documents.fields import AcceptUnseen, Amount, Key, Value
from askless.app.documents.http import sessions as bodies
from askless.app.documents.http.doubts import Doubt
from askless.app.documents.http.models import MODEL_ID, CategoryLabels, ModelHead
from askless.app.documents.http.sessions import MAX_ANSWERS, SESSION_ID, GivenAnswer
from askless.app.documents.shape import Answer, Shape, Units
from askless.app.documents.words import FeatureType, SessionState, StopReason

CASE = Field(examples=[SESSION_ID], description="The `case` that start_case gave.")


class CaseShape(Shape):
    """Arguments about one case."""

    case: Key = CASE
    version: int | None = Field(
        default=None,
        ge=1,
        description="Refuse where the case has changed since it had this version.",
    )


class PaidAnswer(GivenAnswer):
    """A value that came back, or a result that is on its way: both are charged."""

    outcome: Literal["value", "ordered"] = Field(
        default="value",
        description="`ordered`: paid, the value is to come and is given later.",
    )


class AnswerShape(CaseShape):
    """Answers to give, all or none; they are charged in this order."""

    answers: list[PaidAnswer] = Field(
        min_length=1,
        max_length=MAX_ANSWERS,
        description="One for the feature of the question, or for each of `features`, "
        "which one price reveals.",
    )
    insist: bool = Field(
        default=False,
        description="Charge also an answer that can't change what is predicted.",
    )
    accept_unseen: AcceptUnseen = False


class RevisionShape(CaseShape):
    """What is to be said of one feature instead of a value, or of a value before."""

    feature: Key = Field(examples=["chol"])
    outcome: Literal["refused", "unavailable", "unknown", "value"] = Field(
        description="`refused`: it is not to be obtained; `unavailable`: there is no "
        "such value; `unknown`: nobody knows; `value`: the right one, with `value`."
    )
    value: Value | None = Field(default=None, description="With `value` only.")
    insist: bool = False
    accept_unseen: AcceptUnseen = False

    def to_answers(self) -> bodies.AnswersRequest:
        given = GivenAnswer(
            feature=self.feature, outcome=self.outcome, value=self.value
        )
        return bodies.AnswersRequest(
            answers=[given], insist=self.insist, accept_unseen=self.accept_unseen
        )


class DecideShape(Shape):
    """A case that the service buys for by itself, or one that it still buys for."""

    model: Key | None = Field(default=None, examples=["leads"])
    budget: Amount | None = Field(
        default=None,
        examples=[0.5],
        description="Most that may be spent on the case. It is needed, and never "
        "passed.",
    )
    keys: Keys = Field(
        default_factory=dict,
        examples=[{"domain": "acme.example"}],
        description="What providers know the case by.",
    )
    known: dict[Key, Value] = Field(
        default_factory=dict, description="Values known beforehand, free."
    )
    case: Key | None = Field(
        default=None,
        examples=[SESSION_ID],
        description="Instead of all others: a case that was still buying.",
    )
    wait_s: int = Field(
        default=30, ge=0, le=60, description="How long to wait for the end."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.case is None and (self.model is None or self.budget is None):
            raise ValueError("model and budget are needed, or a case")
        return self


class PageShape(Shape):
    """Which part of a list."""

    limit: int = Field(default=50, ge=1, le=200, description="Most items to give.")
    after: Key | None = Field(
        default=None, description="The `next` of the page before."
    )


class LedgerShape(PageShape):
    """Whose charges."""

    case: Key | None = Field(
        default=None,
        examples=[SESSION_ID],
        description="All charges of this case, oldest first. By default those of all "
        "cases, newest first, in pages.",
    )


class ModelsShape(PageShape):
    """Which part of the list of models; each is read whole."""

    limit: int = Field(default=10, ge=1, le=20, description="Most items to give.")


class ListedFeature(Answer):
    """A feature that may be known of a case, and its price."""

    name: str
    label: str = Field(validation_alias="title")
    type: FeatureType
    unit: str | None
    categories: list[str]
    category_labels: CategoryLabels
    cost: Units = Field(description="Without the fee of its group.")


class ListedModel(ModelHead):
    """A model in short, and the addresses of the resources that tell more."""

    target: str = Field(
        validation_alias="target_title", description="What is predicted."
    )
    classes: list[str] = Field(description="Of the target, in words.")
    unit: str = Field(
        validation_alias="cost_unit", description="Of all costs and budgets."
    )
    features: list[ListedFeature] = Field(description="Those that it may ask for.")
    error: float | None = Field(
        description="Share of held-out rows that it predicts wrongly without a limit; "
        "null: not measured."
    )
    card: str = Field(examples=[f"askless://models/{MODEL_ID}/card"])
    curve: str = Field(examples=[f"askless://models/{MODEL_ID}/curve"])


class ListedModels(Answer):
    items: list[ListedModel]
    next: str | None = Field(description="For `after`.")


class CaseQuestion(Answer):
    """What is asked next."""

    number: int
    feature: str
    features: list[str] = Field(description="All that its price reveals.")
    label: str
    text: str = Field(description="What a person is asked.")
    type: FeatureType
    unit: str | None
    range: tuple[float, float] | None = Field(
        description="Of a number, what training saw; others are legal."
    )
    categories: list[str]
    category_labels: list[str]
    why: str


class CaseView(Answer):
    """How a case stands: its question and price, its chance, and what remains."""

    case: str = Field(examples=[SESSION_ID])
    state: SessionState
    version: int = Field(description="Grows with every change.")
    model: str
    question: CaseQuestion | None = Field(description="Null: nothing is asked.")
    price: float | None = Field(description="What an answer to `question` charges.")
    label: str | None = Field(description="The class that is predicted now.")
    display: str | None = Field(description="The same in words.")
    chance: float | None = Field(description="Of `label`, from 0 to 1.")
    charged: float = Field(description="By this call.")
    spent: float
    remaining: float | None = Field(description="Of the budget; null: unlimited.")
    unit: str = Field(description="Of all amounts.")
    should_stop: bool = Field(description="Advice: more answers are not worth it.")
    stop_reason: StopReason | None
    stop_words: str | None
    pending: list[str] = Field(description="Features whose results are to come.")
    warnings: list[Doubt]

    @classmethod
    def of_session(cls, view: bodies.Session, charged: float = 0.0) -> Self:
        """Build it from the session as HTTP shows it; all figures are that one's."""
        asked, predicted, budget = view.question, view.prediction, view.budget
        question = None if asked is None else CaseQuestion.of(asked, label=asked.label)
        return cls(
            case=view.id,
            state=view.state,
            version=view.version,
            model=view.model.name,
            question=question,
            price=None if asked is None else asked.price,
            label=None if predicted is None else predicted.label,
            display=None if predicted is None else predicted.display,
            chance=None if predicted is None else predicted.probability,
            charged=charged,
            spent=budget.spent,
            remaining=budget.remaining,
            unit=budget.unit,
            should_stop=view.should_stop,
            stop_reason=view.stop_reason,
            stop_words=view.stop_words,
            pending=view.pending,
            warnings=view.warnings,
        )
