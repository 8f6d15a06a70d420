"""Say where a model asks each case its own questions, and what that gains.

A demo shows it by some of its held-out patients: their names and the rule are here.
"""

from collections.abc import Sequence
from typing import NamedTuple

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

# A mean gain of more standard errors than this is no chance.
SURE = 2.0

# The last rows of a demo's table, which its training does not see.
N_PATIENTS = 12

# The names of the patients' sessions, in the order of the table.
REFS = tuple(f"Demo patient {number}" for number in range(1, N_PATIENTS + 1))

# The short case of those shown has about so many questions.
FEW_QUESTIONS = 2

RULE = (
    f"The last {N_PATIENTS} rows of the table were kept from training and played to "
    "the end. The first card is the one whose number of questions is nearest to two. "
    "The others are the longest right and the longest wrong prediction, of rows with "
    "other questions and no fewer. Of equals the first row is shown."
)


class Picks(NamedTuple):
    """Positions of the cases that are shown."""

    short: int
    #: the longest with other questions that was predicted right; None: there is none
    right: int | None
    #: the longest with other questions that was predicted wrong; None: there is none
    wrong: int | None


def describe_own_questions(model: Model) -> str | None:
    """Return whether each case has its own questions; None if the card does not say."""
    own = read_own_questions(model)
    if own is None:
        return None
    if not any(own.in_force):
        why = describe_refused(own, model)
        is_one = all(span.policy != EARLY for span in model.ensemble.ranges)
        return f"one list for all: {why}" if is_one else why
    unit = model.ensemble.catalogue.cost_unit
    runs = " and ".join(describe_runs(own, unit))
    if model.ensemble.error_costs is not None:
        return f"asks each case its own questions {runs}: {describe_gain(own, model)}"
    points = round(100 * own.mean_gain)
    # Own questions in force lower the log-loss, and need not lower the error.
    gain = "as many errors, surer probabilities"
    if points:
        noun = "point" if abs(points) == 1 else "points"
        gain = f"{abs(points)} {noun} {'fewer' if points > 0 else 'more'} errors"
    return f"asks each case its own questions {runs}: {gain}"


def describe_refused(own: OwnQuestionsShape, model: Model) -> str:
    """Return why own questions are in force under no budget."""
    gain = describe_gain(own, model)
    if own.mean_gain <= SURE * own.standard_error:
        return f"own questions don't pay on this table ({gain})"
    return (
        f"own questions are not asked: they did better on average over all budgets "
        f"({gain}), but under none was it sure enough by log-loss"
    )


def describe_gain(own: OwnQuestionsShape, model: Model) -> str:
    """Return the mean gain and its standard error, in points or error cost."""
    if model.ensemble.error_costs is not None:
        gain, error = f"{own.mean_gain:.3g}", f"{own.standard_error:.3g}"
        return f"{gain} ± {error} of error cost saved a case"
    # Without -0.0.
    points = round(100 * own.mean_gain, 1) + 0.0
    return f"{points:.1f} ± {100 * own.standard_error:.1f} points"


def describe_runs(own: OwnQuestionsShape, unit: str) -> list[str]:
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
            runs.append(f"from {format_amount(least)}{words} up")
        elif least == most:
            runs.append(f"at {format_amount(least)}{words}")
        else:
            runs.append(f"from {format_amount(least)} to {format_amount(most)}{words}")
        begin = None
    return runs


def format_amount(amount: float) -> str:
    """Return an amount of units, whole ones without decimals."""
    if amount == int(amount):
        return f"{int(amount):,}"
    return money(round(amount * MICROS_PER_UNIT))


def describe_out_of_force(ensemble: Ensemble, state: State) -> str | None:
    """Return a sentence where own questions are asked by name alone, else None."""
    limit = Position.of(ensemble, state).limit
    is_named = state.policy == OWN and ensemble.policy_at(limit) != OWN
    return OUT_OF_FORCE if is_named else None


def choose_cases(asked: Sequence[Sequence[int]], is_right: Sequence[bool]) -> Picks:
    """Return the cases to show, by `RULE`, from the features that each was asked."""
    places = range(len(asked))
    # Both keep the first of equals.
    short = min(places, key=lambda place: abs(len(asked[place]) - FEW_QUESTIONS))
    others = [
        place
        for place in places
        if len(asked[place]) >= len(asked[short]) and asked[place] != asked[short]
    ]
    others.sort(key=lambda place: -len(asked[place]))
    return Picks(
        short,
        next((place for place in others if is_right[place]), None),
        next((place for place in others if not is_right[place]), None),
    )
