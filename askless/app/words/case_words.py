"""A case in words: its prediction, the reasons, what was not asked."""

from typing import NamedTuple

from askless.app.documents.http.sessions import Session, TakenAnswer
from askless.app.words import wording
from askless.app.words.stops import describe_stop, to_sentence
from askless.core.catalogue.catalogue import Feature
from askless.core.catalogue.prices import from_micros
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Model
from askless.core.session.policies import POLICIES
from askless.core.session.position import Position
from askless.core.session.state import State
from askless.core.session.uses import can_use

# Reasons why an asked feature has no value.
LACKING = {
    "ordered": "Ordered; its result is still to come.",
    "unavailable": "There was no result.",
    "refused": "It was refused.",
    "unknown": "Nobody knew it.",
}
# Reasons why an affordable feature was not asked at the end.
COMES_LATER = "It comes after others, for which too little is left."
HELPS_NOT = "It is not expected to lower the error now."
MOST_LARGER = 4


class Reason(NamedTuple):
    """The effect of one answer on the chance of a class."""

    title: str
    value: str
    words: str
    log_odds: float
    #: share of the largest effect, in percent
    width: float


class MissingFeature(NamedTuple):
    """A feature that the model reads but that has no value, with the reason."""

    title: str
    why: str


class LargerBudget(NamedTuple):
    """A larger budget, in units, with its error and mean spend on held-out rows."""

    budget: float | None
    error: float
    mean_spend: float


def explain_chance(session: Session) -> str:
    """Return the chance as a frequency: so many of 100 cases."""
    assert session.prediction is not None, "its answers were erased"
    display, chance = session.prediction.display, session.prediction.probability
    count = round(100 * chance)
    if 0 < chance < 1 and count in (0, 100):
        frequency = "fewer than 1" if count == 0 else "more than 99"
    else:
        frequency = f"about {count}"
    return f"Of 100 cases with these answers, {frequency} are {display}."


def list_reasons(session: Session, model: Model) -> list[Reason]:
    """Return the effect of each answer, the largest first."""
    assert session.prediction is not None, "its answers were erased"
    catalogue = model.ensemble.catalogue
    given = {answer.feature: answer for answer in session.answers}
    steps = session.prediction.steps
    most = max((abs(step.log_odds) for step in steps), default=0.0)
    listed = []
    for step in sorted(steps, key=lambda answer_step: -abs(answer_step.log_odds)):
        feature = catalogue.features[catalogue.feature_idxs[step.feature]]
        width = 100 * abs(step.log_odds) / most if most else 0.0
        value = answer_text(feature, given.get(step.feature))
        listed.append(Reason(feature.title, value, step.words, step.log_odds, width))
    return listed


def answer_text(feature: Feature, answer: TakenAnswer | None) -> str:
    """Return an answer as people write it."""
    value = None if answer is None else answer.value
    return wording.write_answer(feature, value) or "no value"


def list_missing(model: Model, state: State) -> list[MissingFeature]:
    """Return the features that the model reads and that have no value, with reasons."""
    ensemble, missing = model.ensemble, []
    for feature_idx, feature in enumerate(ensemble.catalogue.features):
        outcome = state.outcomes[feature_idx]
        if not ensemble.is_used[feature_idx] or outcome in ("known", "value"):
            continue
        if outcome is not None:
            why = LACKING[outcome]
        else:
            why = reason_not_asked(ensemble, state, feature_idx)
        missing.append(MissingFeature(feature.title, why))
    return missing


def reason_not_asked(ensemble: Ensemble, state: State, feature_idx: int) -> str:
    """Return the reason why a feature was not asked."""
    unit, remaining = ensemble.catalogue.cost_unit, state.remaining
    price = int(Position.of(ensemble, state).prices[feature_idx])
    if remaining is not None and price > remaining:
        left = wording.money(remaining, unit)
        return f"It costs {wording.money(price, unit)}; {left} is left."
    if not can_use(ensemble, state, feature_idx):
        return "Nothing that the model asks depends on it."
    if state.stop_reason is None:
        return "Not asked yet."
    if state.stop_reason == "all_known":
        return "The model does not need it for this case."
    if state.stop_reason == "plan_complete":
        has_votes = POLICIES[state.policy].has_votes
        return COMES_LATER if has_votes else HELPS_NOT
    return to_sentence(describe_stop(ensemble, state))


def list_larger_budgets(model: Model, state: State) -> list[LargerBudget]:
    """Return some larger budgets of the curve with their errors and spends."""
    curve = model.curve
    if curve is None or state.budget is None:
        return []
    budgets = [
        LargerBudget(
            None if budget is None else from_micros(budget),
            curve.errors_calibrated[place],
            from_micros(int(round(curve.mean_spends[place], -4))),
        )
        for place, budget in enumerate(curve.budgets)
        if budget is None or budget > state.budget
    ]
    # Every `step`-th budget is shown, so that they are at most `MOST_LARGER`.
    step = max(1, -(-len(budgets) // MOST_LARGER))
    return budgets[step - 1 :: step]
