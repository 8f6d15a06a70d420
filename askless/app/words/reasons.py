"""Reasons for a question: where each answer leads, and the plan that it begins."""

from typing import NamedTuple

from askless.app.words.charts.charts import draw_prospect
from askless.app.words.wording import (
    RULES_OFF,
    describe_exploration,
    describe_promise,
    describe_prospect,
    describe_reason,
    describe_value,
)
from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from askless.core.session.position import Position
from askless.core.session.state import Question, State
from askless.core.session.steps import compute_prospect


class Reasons(NamedTuple):
    """A picture of where each answer leads, and sentences; "" where there is none."""

    svg: str
    #: how far the answer alone moves a chance, or else what the feature brings
    answer: str
    #: what the whole plan should do to the error
    plan: str


def collect_reasons(
    ensemble: Ensemble, state: State, feature_idx: int
) -> Reasons | None:
    """Return the reasons to ask a feature now; None if answered or too dear."""
    is_open = state.outcomes[feature_idx] is None
    if not (is_open and Position.of(ensemble, state).is_affordable[feature_idx]):
        return None
    question = machine.next_question(ensemble, state)
    is_next = question is not None and question.feature_idx == feature_idx
    prospect = compute_prospect(ensemble, state, feature_idx)
    if prospect is None:
        words = describe_reason(ensemble, question) if question and is_next else ""
        return Reasons("", words, "")
    feature = ensemble.catalogue.features[feature_idx]
    # Numbers were tried at even distances, so three digits tell enough.
    answers = [
        (describe_value(feature, float(f"{value:.3g}")), chance)
        for value, chance in prospect.answers
    ]
    event = ensemble.classes[prospect.class_idx].display
    return Reasons(
        draw_prospect(prospect.now, answers, event),
        describe_prospect(ensemble, prospect),
        describe_plan_costs(ensemble, question) if question and is_next else "",
    )


def describe_plan_costs(ensemble: Ensemble, question: Question) -> str:
    """Return what the plan that a question begins costs, and does to the error."""
    if question.explores:
        return describe_exploration(question)
    words = [describe_promise(ensemble, question)]
    if question.is_outside_rules:
        words.append(RULES_OFF)
    return " ".join(filter(None, words))
