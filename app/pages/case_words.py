"""What came of a case, in words: the decision, its reasons, what was left out."""

from typing import NamedTuple

from app.documents.http.sessions import Session, TakenAnswer
from app.words import wording
from app.words.stops import say_stop, to_sentence
from core.model.ensemble import Ensemble
from core.model.model import Model
from core.session.policies import POLICIES
from core.session.position import Position
from core.session.state import State
from core.session.uses import can_use
from core.table.catalogue import Feature
from core.table.prices import from_micros

# Why a feature that was asked has no value.
LACKING = {
    "ordered": "Ordered; its result is still to come.",
    "unavailable": "There was no result.",
    "refused": "It was refused.",
    "unknown": "Nobody knew it.",
}
# Why one that is affordable was not asked, where nothing more is.
COMES_LATER = "It comes after others, for which too little is left."
HELPS_NOT = "It is not expected to lower the error now."
MOST_LARGER = 4


class Reason(NamedTuple):
    """What one answer did to the chance of a class."""

    title: str
    value: str
    words: str
    log_odds: float
    #: of the greatest of all, 0 to 100
    width: float


class Unasked(NamedTuple):
    """A feature that the model reads and that has no value, and why."""

    title: str
    why: str


class Larger(NamedTuple):
    """A larger budget, in units, and what it came to on held-out rows."""

    budget: float | None
    error: float
    mean_spend: float


def meaning(session: Session) -> str:
    """Say what the probability is of: so many of a hundred cases."""
    assert session.prediction is not None, "its answers were erased"
    display, chance = session.prediction.display, session.prediction.probability
    count = round(100 * chance)
    if 0 < chance < 1 and count in (0, 100):
        said = "fewer than 1" if count == 0 else "more than 99"
    else:
        said = f"about {count}"
    return f"Of 100 cases with these answers, {said} are {display}."


def reasons(session: Session, model: Model) -> list[Reason]:
    """Return what each answer did, the weightiest first."""
    assert session.prediction is not None, "its answers were erased"
    catalogue = model.ensemble.catalogue
    given = {one.feature: one for one in session.answers}
    steps = session.prediction.steps
    most = max((abs(one.log_odds) for one in steps), default=0.0)
    found = []
    for one in sorted(steps, key=lambda one: -abs(one.log_odds)):
        feature = catalogue.features[catalogue.feature_idxs[one.feature]]
        width = 100 * abs(one.log_odds) / most if most else 0.0
        value = answer_words(feature, given.get(one.feature))
        found.append(Reason(feature.title, value, one.words, one.log_odds, width))
    return found


def answer_words(feature: Feature, answer: TakenAnswer | None) -> str:
    """Return an answer as people write it."""
    if answer is None or answer.value is None:
        return "no value"
    if isinstance(answer.value, bool):
        return "yes" if answer.value else "no"
    if isinstance(answer.value, str):
        return answer.value
    return wording.value_words(feature, float(answer.value))


def unasked(model: Model, state: State) -> list[Unasked]:
    """Return what the model reads and nobody told, each with why."""
    ensemble, found = model.ensemble, []
    for feature_idx, feature in enumerate(ensemble.catalogue.features):
        outcome = state.outcomes[feature_idx]
        if not ensemble.is_used[feature_idx] or outcome in ("known", "value"):
            continue
        if outcome is not None:
            why = LACKING[outcome]
        else:
            why = why_not(ensemble, state, feature_idx)
        found.append(Unasked(feature.title, why))
    return found


def why_not(ensemble: Ensemble, state: State, feature_idx: int) -> str:
    """Say why a feature was not asked that could have been."""
    unit, remaining = ensemble.catalogue.cost_unit, state.remaining
    price = int(Position.of(ensemble, state).prices[feature_idx])
    if remaining is not None and price > remaining:
        left = wording.money(remaining, unit)
        return f"It costs {wording.money(price, unit)}; {left} is left."
    if not can_use(ensemble, state, feature_idx):
        return "Nothing that the model asks depends on it."
    if state.stop_reason is None:
        return "It was not its turn yet."
    if state.stop_reason == "all_known":
        return "The model does not need it for this case."
    if state.stop_reason == "plan_complete":
        has_votes = POLICIES[state.policy].has_votes
        return COMES_LATER if has_votes else HELPS_NOT
    return to_sentence(say_stop(ensemble, state))


def error_now(model: Model, state: State) -> float | None:
    """Return the share of held-out cases that erred under such a budget."""
    curve = model.curve
    if curve is None or (state.budget is not None and is_below(model, state.budget)):
        return None
    return curve.errors_calibrated[curve.place_at(state.budget)]


def is_below(model: Model, budget: int) -> bool:
    """Whether a budget is smaller than all that were tried."""
    assert model.curve is not None
    return all(one is None or one > budget for one in model.curve.budgets)


def larger(model: Model, state: State) -> list[Larger]:
    """Return some larger budgets that were tried, with what came of them."""
    curve = model.curve
    if curve is None or state.budget is None:
        return []
    found = [
        Larger(
            None if budget is None else from_micros(budget),
            curve.errors_calibrated[place],
            from_micros(int(round(curve.mean_spends[place], -4))),
        )
        for place, budget in enumerate(curve.budgets)
        if budget is None or budget > state.budget
    ]
    step = max(1, -(-len(found) // MOST_LARGER))
    return found[step - 1 :: step]
