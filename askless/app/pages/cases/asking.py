"""Prepare the page of a question: the session and the feature asked for."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from askless.app.pages.plumbing.inputs import list_options, range_hint
from askless.app.service.sessions.opened import OpenSession
from askless.app.words.charts.charts import Line, draw_line_chart
from askless.app.words.reasons import collect_reasons
from askless.app.words.trust import describe_aim, describe_errors, describe_reliability
from askless.app.words.wording import (
    describe_price,
    describe_useless,
    number_span,
    percent,
    write_answer,
)
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.catalogue.prices import from_micros, price_feature
from askless.core.model.ensemble import Ensemble
from askless.core.session.answers import bundle_members, compute_paid, count_questions
from askless.core.session.explorations import is_explored
from askless.core.session.position import Position
from askless.core.session.state import Question, State
from askless.core.session.uses import sort_open_features
from askless.core.table.texts.numbers import write_number

OUTCOMES = {
    "known": "known before, free",
    "value": "answered",
    "ordered": "ordered",
    "unavailable": "not available",
    "refused": "refused",
    "unknown": "nobody knows",
}

# Meanings of the buttons below a question.
MEANINGS = {
    "Cannot be done here": "the test can't be made for this case, or not here. That "
    "itself may count for or against.",
    "Refused": "somebody does not want it. It counts neither for nor against.",
    "Result not known": "it was made, but nobody has the result. It counts neither for "
    "nor against.",
    "Ordered, result later": "it is charged now. Go on meanwhile, and enter the result "
    "when it comes.",
}

N_BEST = 2
# Classes whose chances are seen at once, and choices that are radio buttons.
N_CLASSES, N_CHOICES = 3, 6


class AskedFeature(NamedTuple):
    """A feature that a page asks for: the next one, or one that the user chose."""

    feature: Feature
    #: all that its price reveals, itself first
    features: tuple[Feature, ...]
    #: in units
    price: float
    price_words: str
    #: how much more the price is than what is left, in units
    lacking: float
    #: its present outcome; None: not asked yet
    outcome: str | None


def describe_feature(
    catalogue: Catalogue, state: State, feature_idx: int
) -> AskedFeature:
    """Return a feature with its current price and what the price consists of."""
    features, paid = catalogue.features, compute_paid(catalogue, state)
    is_charged = feature_idx in paid.feature_idxs
    is_free = is_charged or feature_idx in state.known
    others = () if is_free else bundle_members(catalogue, state, feature_idx)
    idxs = (feature_idx, *others)
    cost = 0 if is_free else price_feature(catalogue, paid, feature_idx)
    is_group_paid = int(catalogue.group_idxs[feature_idx]) in paid.group_idxs
    # Only the fields that `describe_price` reads matter; the others are placeholders.
    question = Question(0, feature_idx, idxs, cost, is_group_paid, None, 0.0)
    return AskedFeature(
        features[feature_idx],
        tuple(features[idx] for idx in idxs),
        from_micros(cost),
        "" if is_free else describe_price(catalogue, question),
        0 if state.remaining is None else from_micros(max(0, cost - state.remaining)),
        state.outcomes[feature_idx],
    )


def max_questions_left(opened: OpenSession) -> int:
    """Return an upper bound on the number of remaining questions.

    It counts the cheapest purchases that the remaining budget pays, without fees.
    """
    ensemble, state = opened.model.ensemble, opened.state
    catalogue = ensemble.catalogue
    paid = compute_paid(catalogue, state)
    purchases: dict[int, int] = {}
    for idx, feature in enumerate(catalogue.features):
        if state.outcomes[idx] is not None or not ensemble.is_used[idx]:
            continue
        is_bundled = bool(catalogue.is_bundled[idx])
        price = price_feature(catalogue, paid, idx) if is_bundled else feature.cost
        purchases[int(catalogue.offer_idxs[idx])] = price
    position, n_most = Position.of(ensemble, state), 0
    # A session that goes on beyond its worth may spend all of the budget.
    is_beyond = state.stop_reason == "not_worth_it"
    left = (position.beyond if is_beyond else position).remaining
    for amount in sorted(purchases.values()):
        left -= amount
        # The cheapest come first, so once one does not fit, none after it does.
        n_most += left >= 0
    if state.stop.max_questions is not None:
        n_left = state.stop.max_questions - count_questions(
            ensemble.catalogue, state.history
        )
        n_most = min(n_most, max(0, n_left))
    # A question at random may be one that the model doesn't read.
    return max(n_most, int(is_explored(state)))


def describe_questions_left(opened: OpenSession) -> str:
    """Return how many questions are left, as the plan of the next question counts them.

    Where nothing was measured, or another number was agreed, it is a bound.
    """
    view, agreed = opened.view, opened.state.stop.max_questions
    if view.question is None:
        return "No further question."
    if view.question.worth is None or view.should_stop or agreed is not None:
        most = max_questions_left(opened)
        return f"Up to {'one' if most == 1 else most} more question{'s' * (most != 1)}."
    least, most = view.question.worth.questions_left
    return f"{number_span(least, most)} more question{'s' * (most != 1)}."


def draw_chances(view: Any) -> tuple[str, str] | None:
    """Return a chart of a class's chance after each answer, and the class; or None."""
    steps = view.prediction.steps
    if not steps:
        return None
    label = steps[0].label
    shown = next(
        class_label.display
        for class_label in view.prediction.classes
        if class_label.label == label
    )
    values = [steps[0].before, *(step.after for step in steps)]
    labels = ["start", *(str(number) for number in range(1, len(values)))]
    ends = f"from {percent(values[0])} to {percent(values[-1])}"
    description = f"Chance of {shown} after each answer, {ends}"
    return draw_line_chart(
        Line(values, labels, description, "answers", "chance")
    ), shown


def order_classes(ensemble: Ensemble, classes: Sequence[Any]) -> list[Any]:
    """Return the classes' chances: of two the positive one first, else the likeliest.

    With two classes each bar then keeps its place while answers come in.
    """
    if len(ensemble.classes) != 2:
        return list(classes)
    positive = ensemble.classes[1].label
    return sorted(classes, key=lambda label: label.label != positive)


def prefill_value(catalogue: Catalogue, state: State, feature: Feature) -> str:
    """Return a feature's present value as its field takes it; "" if it has none."""
    value = state.values[catalogue.feature_idxs[feature.name]]
    if math.isnan(value) or (feature.type == "category" and value < 0):
        return ""
    if feature.type == "number":
        return write_number(value)
    return list_options(feature)[
        int(value) if feature.type == "category" else 1 - int(value)
    ][0]


def list_alternatives(catalogue: Catalogue, view: Any) -> list[Any]:
    """Return the best alternatives to the question; a bundle counts once."""
    offers: dict[int, Any] = {}
    idx_of = catalogue.feature_idxs
    for question in (view.question, *view.question.alternatives):
        idx = idx_of[question.feature]
        offers.setdefault(int(catalogue.offer_idxs[idx]), question)
    # The first offer is the question itself.
    return [*offers.values()][1:][:N_BEST]


def describe_session(opened: OpenSession, chosen: str | None) -> dict[str, Any]:
    """Return the template's context; `chosen` is an existing feature or None."""
    view, state = opened.view, opened.state
    catalogue = opened.model.ensemble.catalogue
    asked_idx = state.next_feature_idx if view.question is not None else None
    if chosen is not None:
        asked_idx = catalogue.feature_idxs[chosen]
    asked = None if asked_idx is None else describe_feature(catalogue, state, asked_idx)
    is_next = view.question is not None and (
        asked is not None and asked.feature.name == view.question.feature
    )
    others = sort_open_features(opened.model.ensemble, state)
    return {
        "view": view,
        "asked": asked,
        "is_next": is_next,
        "reasons": None
        if asked_idx is None
        else collect_reasons(opened.model.ensemble, state, asked_idx),
        "others": [
            describe_feature(catalogue, state, idx)
            for idx in others.offered
            if idx != asked_idx
        ],
        "unusable": describe_useless(
            [catalogue.features[idx] for idx in others.useless if idx != asked_idx]
        ),
        "best": list_alternatives(catalogue, view) if is_next else [],
        "left": describe_questions_left(opened),
        "MEANINGS": MEANINGS,
        "features": {feature.name: feature for feature in catalogue.features},
        "fields": [
            (
                feature,
                range_hint(feature),
                list_options(feature),
                prefill_value(catalogue, state, feature),
            )
            for feature in (asked.features if asked else ())
        ],
        "OUTCOMES": OUTCOMES,
        "write_answer": write_answer,
        "N_CHOICES": N_CHOICES,
        **describe_prediction(opened, view),
    }


def describe_prediction(opened: OpenSession, view: Any) -> dict[str, Any]:
    """Return the context of what is predicted now, and how far it can be trusted."""
    assert view.prediction is not None, "its answers were erased"
    model, state = opened.model, opened.state
    return {
        "path": draw_chances(view),
        "classes": order_classes(model.ensemble, view.prediction.classes),
        "N_CLASSES": N_CLASSES,
        "errors_told": describe_aim(model, view) or describe_errors(model, state),
        "reliability": describe_reliability(model, state, view.prediction),
    }
