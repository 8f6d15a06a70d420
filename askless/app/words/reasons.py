"""Reasons for a question: where each answer leads, and the plan that it begins."""

from typing import NamedTuple

from askless.app.words.charts.charts import prospect_chart
from askless.app.words.wording import (
    RULES_OFF,
    error_words,
    explore_words,
    money,
    prospect_words,
    reason_words,
    value_words,
)
from askless.core.catalogue.prices import buy
from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from askless.core.session.answers import find_paid
from askless.core.session.position import Position
from askless.core.session.state import Question, State
from askless.core.session.steps import find_prospect


class Reasons(NamedTuple):
    """A picture of where each answer leads, and sentences; "" where there is none."""

    svg: str
    #: how far the answer alone moves a chance, or else what the feature brings
    answer: str
    #: what the whole plan should do to the error
    plan: str


def find_reasons(ensemble: Ensemble, state: State, feature_idx: int) -> Reasons | None:
    """Return why a feature may be asked now; the plan only of the next question.

    None if it has an answer already, or costs more than is left.
    """
    is_open = state.outcomes[feature_idx] is None
    if not (is_open and Position.of(ensemble, state).is_affordable[feature_idx]):
        return None
    question = machine.next_question(ensemble, state)
    is_next = question is not None and question.feature_idx == feature_idx
    prospect = find_prospect(ensemble, state, feature_idx)
    if prospect is None:
        words = reason_words(ensemble, question) if question and is_next else ""
        return Reasons("", words, "")
    feature = ensemble.catalogue.features[feature_idx]
    # Numbers were tried at even distances, so three digits tell enough.
    answers = [
        (value_words(feature, float(f"{value:.3g}")), chance)
        for value, chance in prospect.answers
    ]
    event = ensemble.classes[prospect.class_idx].display
    return Reasons(
        prospect_chart(prospect.now, answers, event),
        prospect_words(ensemble, prospect),
        plan_words(ensemble, state, question) if question and is_next else "",
    )


def plan_words(ensemble: Ensemble, state: State, question: Question) -> str:
    """Return what the plan that a question begins costs, and does to the error."""
    if question.explores:
        return explore_words(question)
    if question.expected_errors is None:
        return RULES_OFF if question.is_outside_rules else ""
    catalogue = ensemble.catalogue
    idxs = [question.feature_idx, *(idx for idx, _ in question.alternatives)]
    total, _ = buy(catalogue, find_paid(catalogue, state), idxs)
    bundles = {
        int(catalogue.group_idxs[idx]) for idx in idxs if catalogue.is_bundled[idx]
    }
    n_questions = len(bundles) + sum(not catalogue.is_bundled[idx] for idx in idxs)
    size = "1 question" if n_questions == 1 else f"{n_questions} questions"
    plan = f"the whole plan ({size}, {money(total, catalogue.cost_unit)})"
    words = error_words(ensemble, *question.expected_errors, plan)
    return f"{words} {RULES_OFF}" if question.is_outside_rules else words
