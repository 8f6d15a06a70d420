"""A session as its caller sees it: question, prediction, answers, money in units."""

from dataclasses import dataclass
from datetime import datetime

from app.records import PredictSession, SessionState
from app.wording import why
from core.model.ensemble import Ensemble
from core.model.model import Model
from core.session import machine
from core.session.state import Question, State
from core.table.catalogue import UNSEEN, Feature
from core.table.prices import from_micros

Value = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class ModelRef:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class BudgetView:
    limit: float | None
    spent: float
    remaining: float | None
    unit: str


@dataclass(frozen=True, slots=True)
class Alternative:
    feature: str
    price: float


@dataclass(frozen=True, slots=True)
class QuestionView:
    number: int
    feature: str
    features: tuple[str, ...]
    label: str
    type: str
    unit: str | None
    categories: tuple[str, ...]
    price: float
    cost: float
    group: str | None
    group_paid: bool
    why: str
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True, slots=True)
class ClassView:
    label: str
    display: str
    probability: float


@dataclass(frozen=True, slots=True)
class PredictionView:
    label: str
    display: str
    probability: float
    margin: float
    classes: tuple[ClassView, ...]
    n_draws: int | None
    hoeffding_p: float | None


@dataclass(frozen=True, slots=True)
class AnswerView:
    feature: str
    outcome: str
    value: Value
    charged: float


@dataclass(frozen=True, slots=True)
class StopView:
    certain: bool
    confidence: float | None
    max_questions: int | None


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """What a list shows of a session."""

    id: str
    state: SessionState
    version: int
    model: ModelRef
    budget: BudgetView
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class SessionView:
    """Everything about a session; what its answers say is gone once it is erased."""

    id: str
    state: SessionState
    version: int
    model: ModelRef
    budget: BudgetView
    question: QuestionView | None
    prediction: PredictionView | None
    should_stop: bool
    stop_reason: str | None
    answers: tuple[AnswerView, ...]
    pending: tuple[str, ...]
    policy: str | None
    seed: int | None
    stop: StopView | None
    created_at: datetime
    updated_at: datetime


def summary_of(session: PredictSession, model_name: str) -> SessionSummary:
    return SessionSummary(
        id=session.id,
        state=session.state,
        version=session.version,
        model=ModelRef(session.model_id, model_name),
        budget=budget_of(session),
        created_at=session.created_at,
        updated_at=session.updated_at,
    )


def erased_view(session: PredictSession, model_name: str) -> SessionView:
    """A session whose answers were erased: the amounts are left."""
    return SessionView(
        id=session.id,
        state=session.state,
        version=session.version,
        model=ModelRef(session.model_id, model_name),
        budget=budget_of(session),
        question=None,
        prediction=None,
        should_stop=True,
        stop_reason=None,
        answers=(),
        pending=(),
        policy=None,
        seed=None,
        stop=None,
        created_at=session.created_at,
        updated_at=session.updated_at,
    )


def view_of(
    session: PredictSession, model: Model, state: State, texts: dict[str, str]
) -> SessionView:
    ensemble = model.ensemble
    features = ensemble.catalogue.features
    question = machine.next_question(ensemble, state)
    return SessionView(
        id=session.id,
        state=session.state,
        version=session.version,
        model=ModelRef(session.model_id, model.name),
        budget=budget_of(session),
        question=None if question is None else question_of(ensemble, question),
        prediction=prediction_of(ensemble, state),
        should_stop=state.stop_reason is not None,
        stop_reason=state.stop_reason,
        answers=answers_of(ensemble, state, texts),
        pending=tuple(features[idx].name for idx in state.pending),
        policy=state.policy,
        seed=state.seed,
        stop=StopView(
            state.stop.certain, state.stop.confidence, state.stop.max_questions
        ),
        created_at=session.created_at,
        updated_at=session.updated_at,
    )


def budget_of(session: PredictSession) -> BudgetView:
    limit, spent = session.budget_limit, session.spent
    return BudgetView(
        limit=None if limit is None else from_micros(limit),
        spent=from_micros(spent),
        remaining=None if limit is None else from_micros(limit - spent),
        unit=session.unit,
    )


def question_of(ensemble: Ensemble, question: Question) -> QuestionView:
    features = ensemble.catalogue.features
    feature = features[question.feature_idx]
    return QuestionView(
        number=question.number,
        feature=feature.name,
        features=tuple(features[idx].name for idx in question.feature_idxs),
        label=feature.title,
        type=feature.type,
        unit=feature.unit,
        categories=feature.categories,
        price=from_micros(question.price),
        cost=from_micros(feature.cost),
        group=feature.group,
        group_paid=question.is_group_paid,
        why=why(ensemble, question),
        alternatives=tuple(
            Alternative(features[idx].name, from_micros(price))
            for idx, price in question.alternatives
        ),
    )


def prediction_of(ensemble: Ensemble, state: State) -> PredictionView:
    """The forecast; the more probable class first."""
    forecast = machine.forecast(ensemble, state)
    classes = [
        ClassView(one.label, one.display, probability)
        for one, probability in zip(
            ensemble.classes, forecast.probabilities, strict=True
        )
    ]
    best = classes[forecast.label]
    return PredictionView(
        label=best.label,
        display=best.display,
        probability=best.probability,
        margin=forecast.margin,
        classes=tuple(sorted(classes, key=lambda one: -one.probability)),
        n_draws=forecast.n_draws,
        hoeffding_p=forecast.hoeffding_p,
    )


def answers_of(
    ensemble: Ensemble, state: State, texts: dict[str, str]
) -> tuple[AnswerView, ...]:
    """What is known of each feature now: known ones first, then as they came."""
    features = ensemble.catalogue.features
    charged = {charge.feature_idx: charge.amount for charge in state.charges}
    known = [idx for idx, outcome in enumerate(state.outcomes) if outcome == "known"]
    answered = (answer.feature_idx for answer in state.history)
    return tuple(
        AnswerView(
            feature=features[idx].name,
            outcome=state.outcomes[idx] or "unknown",
            value=value_of(features[idx], state.values[idx], texts),
            charged=from_micros(charged.get(idx, 0)),
        )
        for idx in dict.fromkeys((*known, *answered, *charged))
    )


def value_of(feature: Feature, value: float, texts: dict[str, str]) -> Value:
    """A value as it was given."""
    if value != value:
        return None
    if feature.type == "category":
        if value == UNSEEN:
            return texts.get(feature.name)
        return feature.categories[int(value)]
    if feature.type == "boolean":
        return bool(value)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
