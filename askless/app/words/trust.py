"""Reliability of a prediction, by what the model did on held-out rows."""

from typing import TYPE_CHECKING

from askless.app.words.wording import money, percent
from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Curve, Model
from askless.core.session.policies import POLICIES
from askless.core.session.position import Position
from askless.core.session.state import State

if TYPE_CHECKING:
    # Their schemas take long to build, and commands need none of them.
    from askless.app.documents.http.sessions import Prediction, Session


def error_under(model: Model, budget: int | None) -> float | None:
    """Return the error on held-out rows under a budget; None where none is known."""
    place = place_at(model.curve, budget)
    if model.curve is None or place is None:
        return None
    return model.curve.errors_calibrated[place]


def place_at(curve: Curve | None, budget: int | None) -> int | None:
    """Return the place in the curve of the largest budget not above this one."""
    if curve is None:
        return None
    smallest = [limit for limit in curve.budgets if limit is not None]
    if budget is not None and all(limit > budget for limit in smallest):
        return None
    return curve.place_at(budget)


def budgets_now_and_at_end(
    ensemble: Ensemble, state: State
) -> tuple[int | None, int | None]:
    """Return the budgets whose errors a session has now and at the end.

    None: unlimited. The end is what the session spends of its budget at most. Where it
    stops there, this is the error now, and that of the whole budget comes if one goes
    on.
    """
    position = Position.of(ensemble, state)
    limit = position.limit
    if position.beyond is position or limit is None:
        return state.spent, limit
    if state.spent > limit:
        return state.spent, state.budget
    if state.stop_reason == "not_worth_it":
        return limit, state.budget
    return state.spent, limit


def lacks_any(ensemble: Ensemble, state: State) -> bool:
    """Return whether something that a session may buy came without a value."""
    return POLICIES[state.policy].lacks_any(Position.of(ensemble, state).beyond)


def describe_errors(model: Model, state: State) -> str:
    """Return how often the model errs for what is spent, and at the end.

    "" where the session lacks an answer: the cases of these errors had every one.
    """
    if lacks_any(model.ensemble, state):
        return ""
    unit = model.ensemble.catalogue.cost_unit
    now, end = budgets_now_and_at_end(model.ensemble, state)
    limit = "without a limit"
    if end is not None:
        limit = f"with {money(end, unit)}"
    parts = []
    for budget, words in ((now, f"for {money(state.spent, unit)}"), (end, limit)):
        error = error_under(model, budget)
        if error is not None and budget != 0:
            parts.append(f"in {round(100 * error)} of 100 cases {words}")
    if not parts:
        return ""
    both = " and ".join(dict.fromkeys(parts))
    return f"The model was wrong {both}."


def describe_aim(model: Model, session: "Session") -> str:
    """Return what cases with a session's aim come to on average; "" without an aim."""
    aim = session.aim
    if aim is None:
        return ""
    unit = session.budget.unit
    # A mean is rounded to the cent.
    spend = money(round(aim.expected_spend * MICROS_PER_UNIT, -4), unit)
    condition = "With this aim"
    if aim.mean_budget is not None:
        mean = money(aim.mean_budget * MICROS_PER_UNIT, unit)
        condition = f"With a mean budget of {mean}"
    errors = f"{round(100 * aim.expected_error)} of 100 are wrong"
    if model.ensemble.error_costs is not None:
        errors = f"their errors {aim.expected_error:.3g} a case"
    return f"{condition} cases cost {spend} on average, and {errors}."


def describe_reliability(model: Model, state: State, prediction: "Prediction") -> str:
    """Return how often a chance like the one now came true on held-out rows.

    The chance is that of the positive class, with more than two classes that of the
    predicted one. Held-out rows are those of the curve's largest budget not above what
    is spent. "" where it has no such rows.
    """
    place = place_at(model.curve, state.spent)
    if model.curve is None or model.curve.predictive is None or place is None:
        return ""
    chance, event = prediction.probability, "its prediction"
    if len(model.ensemble.classes) == 2:
        positive = model.ensemble.classes[1]
        chances = {label.label: label.probability for label in prediction.classes}
        chance, event = chances[positive.label], positive.display
    bins = model.curve.predictive[place].reliability
    nearest = min(
        bins, key=lambda chance_bin: abs(chance_bin.mean_chance - chance), default=None
    )
    if nearest is None or nearest.observed.interval is None:
        return ""
    low, high = (round(100 * bound) for bound in nearest.observed.interval)
    given = f"a chance of about {percent(nearest.mean_chance)}"
    came = f"it came true in {low} to {high} of 100 cases that the model had not seen"
    return f"When the model gave {event} {given}, {came}."
