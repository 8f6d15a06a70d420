"""Say where a model asks each case its own questions, and what that gains."""

from askless.app.documents.model.card import OwnQuestionsShape, read_own_questions
from askless.app.words.wording import money
from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Model
from askless.core.session.position import Position
from askless.core.session.state import State

# The policies that ask each case its own questions, and that end early.
OWN, EARLY = "worth", "adaptive"

OUT_OF_FORCE = (
    "Own questions are asked since worth was named. On held-out rows they did not show "
    "that they pay under this budget."
)


def describe_own_questions(model: Model) -> str | None:
    """Return whether each case has its own questions; None if the card does not say."""
    own = read_own_questions(model)
    if own is None:
        return None
    if not any(own.in_force):
        why = f"own questions don't pay on this table ({describe_gain(own, model)})"
        is_one = all(span.policy != EARLY for span in model.ensemble.ranges)
        return f"one list for all: {why}" if is_one else why
    unit = model.ensemble.catalogue.cost_unit
    runs = " and ".join(name_runs(own, unit))
    more = "fewer" if own.mean_gain >= 0 else "more"
    if model.ensemble.error_costs is not None:
        return f"asks each case its own questions {runs}: {describe_gain(own, model)}"
    points = f"{100 * abs(own.mean_gain):.0f}"
    noun = "point" if points == "1" else "points"
    return f"asks each case its own questions {runs}: {points} {noun} {more} errors"


def describe_gain(own: OwnQuestionsShape, model: Model) -> str:
    """Return the mean gain and its standard error, in points or error cost."""
    if model.ensemble.error_costs is not None:
        gain, error = f"{own.mean_gain:.3g}", f"{own.standard_error:.3g}"
        return f"{gain} ± {error} of error cost saved a case"
    return f"{100 * own.mean_gain:.1f} ± {100 * own.standard_error:.1f} points"


def name_runs(own: OwnQuestionsShape, unit: str) -> list[str]:
    """Return the budgets of each run in words, such as "from 2 to 20"."""
    words = f" {unit}" if unit else ""
    runs, begin = [], None
    for place, is_on in enumerate(own.in_force):
        begin = place if is_on and begin is None else begin
        is_last = place + 1 == len(own.in_force) or not own.in_force[place + 1]
        if begin is None or not is_on or not is_last:
            continue
        least, most = own.budgets[begin], own.budgets[place]
        if least is None:
            runs.append("without a limit")
        elif most is None:
            runs.append(f"from {write(least)}{words} up")
        elif least == most:
            runs.append(f"at {write(least)}{words}")
        else:
            runs.append(f"from {write(least)} to {write(most)}{words}")
        begin = None
    return runs


def write(amount: float) -> str:
    """Return an amount of units, whole ones without decimals."""
    if amount == int(amount):
        return f"{int(amount):,}"
    return money(round(amount * MICROS_PER_UNIT))


def describe_out_of_force(ensemble: Ensemble, state: State) -> str | None:
    """Return a sentence where own questions are asked by name alone, else None."""
    limit = Position.of(ensemble, state).limit
    is_named = state.policy == OWN and ensemble.policy_at(limit) != OWN
    return OUT_OF_FORCE if is_named else None
