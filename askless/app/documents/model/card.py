"""Read the part of a model's card that describes its sessions.

An imported card may hold anything: a part with an unexpected shape is ignored.
"""

from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from askless.app.documents.shape import Many, Shape
from askless.core.catalogue.catalogue import Billing
from askless.core.model.model import Model
from askless.core.model.ranges import Count, Share

Amount = Annotated[float, Field(ge=0, le=1e12)]


class CardShape(Shape):
    """An object of a card; fields of later versions are ignored."""

    model_config = ConfigDict(extra="ignore")


class SavedShape(CardShape):
    """Mean spend and error on held-out rows, of the policy kept and a fixed list."""

    spend: Amount
    error: Share
    fixed_spend: Amount
    fixed_error: Share


class SessionsShape(CardShape):
    """Statistics of sessions under each budget of the curve; amounts in units.

    `rows` of training were played by the model itself. `lists` counts the sets of
    features that cases are asked, `commonest` is the share of the most common one,
    `ended_after` the shares of cases that end after 0, 1, 2 ... questions. `saved` is
    null where every case is asked the fixed list.
    """

    rows: Count
    budgets: Many[Amount | None]
    lists: Many[Count]
    commonest: Many[Share]
    ended_after: Many[Many[Share]]
    saved: Many[SavedShape | None]


class OwnQuestionsShape(CardShape):
    """Under which budgets each case has its own questions; amounts in units.

    `mean_gain` is the share of errors saved where they are in force, else over all
    budgets; with error costs it is a cost.
    """

    budgets: Many[Amount | None]
    in_force: Many[bool]
    mean_gain: Annotated[float, Field(ge=-1e12, le=1e12)]
    standard_error: Amount


class MeanBudgetShape(CardShape):
    """The spend and error of sessions with a mean budget; amounts in units.

    `error` is the share of held-out rows that are predicted wrong.
    """

    mean_budget: Amount
    mean_spend: Amount
    error: Share


MEAN_BUDGETS = TypeAdapter(tuple[MeanBudgetShape, ...])


class RunningErrorShape(CardShape):
    """Errors of rows learnt since training, predicted before they were learnt.

    `error` is the share of wrong labels of all of them, `recent_error` that of late
    ones; each has its 95 % interval.
    """

    error: Share
    interval: tuple[Share, Share]
    recent_error: Share
    recent_interval: tuple[Share, Share]


class BudgetErrorShape(RunningErrorShape):
    """The errors of the same rows as sessions under a budget, in units."""

    budget: Amount | None


class LearntShape(RunningErrorShape):
    """The rows learnt since training, their errors, and those under budgets."""

    rows: Count
    budgets: Many[BudgetErrorShape] = ()


class EmptyShape(CardShape):
    """An offer's share of empty answers, and their cost for a case; in units."""

    offer: str
    price: Amount
    billing: Billing
    share: Share
    cost: Amount


EMPTY_ANSWERS = TypeAdapter(tuple[EmptyShape, ...])


def read_empty_answers(model: Model) -> tuple[EmptyShape, ...]:
    """Return what a card says of empty answers; nothing if missing or malformed."""
    try:
        return EMPTY_ANSWERS.validate_python(model.card.get("empty_answers"))
    except ValidationError:
        return ()


def read_learnt(model: Model) -> LearntShape | None:
    """Return a card's facts on rows learnt since; None if missing or malformed."""
    try:
        return LearntShape.model_validate(model.card.get("learnt"), strict=False)
    except ValidationError:
        return None


def read_own_questions(model: Model) -> OwnQuestionsShape | None:
    """Return a card's facts on own questions; None if missing or malformed."""
    comparison = model.card.get("comparison")
    if not isinstance(comparison, dict):
        return None
    own = comparison.get("own_questions")
    if not isinstance(own, dict):
        return None
    held = own | {"budgets": comparison.get("budgets")}
    try:
        shape = OwnQuestionsShape.model_validate(held, strict=False)
    except ValidationError:
        return None
    return shape if len(shape.in_force) == len(shape.budgets) else None


def read_mean_budgets(model: Model) -> tuple[MeanBudgetShape, ...]:
    """Return what a card says of mean budgets; nothing if missing or malformed."""
    try:
        return MEAN_BUDGETS.validate_python(model.card.get("mean_budgets"))
    except ValidationError:
        return ()


def read_sessions(model: Model) -> SessionsShape | None:
    """Return a card's statistics of sessions; None if missing or malformed."""
    try:
        sessions = SessionsShape.model_validate(model.card.get("sessions"))
    except ValidationError:
        return None
    # Each list has one entry for each budget.
    lengths = {len(entry) for _, entry in sessions if isinstance(entry, tuple)}
    return sessions if len(lengths) == 1 else None
