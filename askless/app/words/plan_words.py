"""Describe a plan in words: its questions, answers and decisions."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from askless.app.words.stops import STOP_WORDS
from askless.app.words.wording import (
    describe_value,
    format_number,
    money,
    percent,
    percent_span,
)
from askless.core.catalogue.catalogue import Feature
from askless.core.model.ensemble import Ensemble
from askless.core.session.plans.flow import FlowAnswers, FlowNode

# Most categories that are named; further ones are only counted.
MOST_CODES = 4
# A border is rounded to less than the range of a number over this.
BORDERS = 20
# Why nothing more is asked, in as few words as a box has room for.
ENDS = {
    "certain": "Nothing left to ask can change it.",
    "all_known": "All that it needs is known.",
    "budget_exhausted": "The rest of the budget pays nothing more that it reads.",
    "plan_complete": "The plan buys nothing more.",
    "not_worth_it": "Going on is not worth its price.",
}


class PlanNode(NamedTuple):
    """A node of a plan, shown as a box of the drawing and as an entry of the list."""

    #: the answers that lead here; "" at the start
    answers: str
    head: str
    lines: tuple[str, ...]
    is_end: bool
    goes_on: bool
    children: tuple["PlanNode", ...] = ()

    def walk(self) -> Iterator["PlanNode"]:
        """Yield the node and all its descendants, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


def describe_plan(
    ensemble: Ensemble, node: FlowNode, asked: Feature | None = None
) -> PlanNode:
    """Describe a flow and its children; `asked` is the feature asked before it."""
    unit, spent = ensemble.catalogue.cost_unit, node.spent
    lines = [describe_chance(ensemble, node)]
    feature = None
    if node.question is None:
        head = f"Decide: {ensemble.classes[node.forecast.label].display}"
        lines.append(f"{money(spent, unit)} spent")
        if node.stop_reason is not None:
            lines.append((STOP_WORDS | ENDS)[node.stop_reason])
    else:
        feature = ensemble.catalogue.features[node.question.feature_idx]
        head = f"Ask: {feature.title}"
        price = money(node.question.price, unit)
        more = len(node.question.feature_idxs) - 1
        if more:
            price += f", with {more} more of {feature.group}"
        lines.append(f"{price}, {money(spent + node.question.price)} in all")
    if node.goes_on:
        lines.append("Goes on, not shown here.")
    return PlanNode(
        answers="" if asked is None else describe_answers(asked, node.answers),
        head=head,
        lines=tuple(lines),
        is_end=node.question is None,
        goes_on=node.goes_on,
        children=tuple(
            describe_plan(ensemble, child, feature) for child in node.children
        ),
    )


def describe_chance(ensemble: Ensemble, node: FlowNode) -> str:
    """Return the chances of a class, by the answers that lead here."""
    class_idx = node.forecast.label
    low = high = node.forecast.probabilities[class_idx]
    if node.answers is not None:
        class_idx, (low, high) = node.answers.class_idx, node.answers.chances
    chances = percent_span(percent(low), percent(high))
    return f"{chances} {ensemble.classes[class_idx].display}"


def describe_answers(feature: Feature, answers: FlowAnswers | None) -> str:
    """Return in words the answers that lead to a node."""
    assert answers is not None
    if are_all_values(feature, answers):
        return "any answer, or none" if answers.has_none else "any answer"
    phrases = [describe_range(feature, *value_range) for value_range in answers.ranges]
    phrases += [describe_value(feature, code) for code in answers.codes[:MOST_CODES]]
    if left := len(answers.codes[MOST_CODES:]):
        phrases.append(f"{left} more")
    if answers.has_none:
        phrases.append("no answer")
    return " or ".join(phrases)


def are_all_values(feature: Feature, answers: FlowAnswers) -> bool:
    """Return whether all values of a feature lead to the node."""
    if feature.type == "number":
        return answers.ranges == ((-math.inf, math.inf),)
    n_values = 2 if feature.type == "boolean" else len(feature.categories)
    return len(answers.codes) == n_values


def describe_range(feature: Feature, low: float, high: float) -> str:
    """Return in words the numbers above `low`, up to `high`, rounded to be read."""
    unit = f" {feature.unit}" if feature.unit else ""
    ends = [format_number(round_border(feature, value)) for value in (low, high)]
    if math.isinf(low):
        return f"up to {ends[1]}{unit}"
    return f"above {ends[0]}{'' if math.isinf(high) else f' to {ends[1]}'}{unit}"


def round_border(feature: Feature, value: float) -> float:
    """Return a border to a power of ten that is a twentieth of the range, or less."""
    if math.isinf(value):
        return value
    least, most = feature.value_range or (0.0, 0.0)
    width = most - least
    if width <= 0:
        return float(f"{value:.3g}")
    return round(value, -math.floor(math.log10(width / BORDERS)))
