"""Sentences about a challenger and its champion, and about whether one is due."""

from collections.abc import Sequence
from typing import NamedTuple

from askless.app.records import Decision
from askless.core.model.alarms import LEAST_CASES, Alarm

ENDINGS: dict[Decision, str] = {
    "promoted": "The challenger was made champion after {cases}.",
    "kept": "The challenge was ended after {cases}, and the champion stays.",
    "overtaken": "The challenge has ended: one of its models was deleted, or a third "
    "one is champion.",
    "failed": "There is no challenger: its training has failed or was cancelled.",
}


class GapSoFar(NamedTuple):
    """The champion's mean loss minus the challenger's, and the bounds of the rule."""

    cases: int
    value: float
    low: float
    high: float
    margin: float
    #: after how many cases the lower bound was first above the margin
    better_after: int | None


def describe_cases(cases: int) -> str:
    return "1 case" if cases == 1 else f"{cases:,} cases"


def describe_ending(decision: Decision, cases: int) -> str:
    """Return a sentence about how a challenge has ended."""
    return ENDINGS[decision].format(cases=describe_cases(cases))


def describe_loss_gap(gap: GapSoFar) -> str:
    """Return a sentence that says whether the challenger is better."""
    span = f"between {format_points(gap.low)} and {format_points(gap.high)}"
    lead = f"its loss is lower by {format_points(gap.value)} points, {span}"
    result = f"after {describe_cases(gap.cases)} {lead} at every look"
    than = f" by more than {format_points(gap.margin)} points" if gap.margin else ""
    if gap.better_after is not None:
        since = f"since case {gap.better_after:,} that is beyond chance"
        return f"The challenger is better{than}: {result}; {since}."
    if gap.high < 0:
        return f"The challenger is worse: {result}."
    if gap.high <= gap.margin:
        return f"The challenger is not better{than}: {result}."
    return f"The challenger is not known to be better{than} yet: {result}."


def format_points(share: float) -> str:
    """Write a difference of losses in percentage points."""
    return f"{100 * share + 0.0:.1f}".replace("-", "−")


def describe_alarm(alarm: Alarm, feature: str | None) -> str:
    """Return what is beyond its tolerance, as a part of a sentence."""
    shown, most = format_percent(alarm.value), format_percent(alarm.tolerated)
    match alarm.kind:
        case "outside":
            return f"{feature} has values that training did not see in {shown} of cases"
        case "drift":
            index = f"{alarm.value:.2f}, tolerated {alarm.tolerated:g}"
            return f"the values of {feature} differ from training (index {index})"
        case "error":
            return f"the error by outcomes is {shown}, and the curve allows {most}"
        case "calibration":
            word = "less" if alarm.value > 0 else "more"
            gap = format_percent(abs(alarm.value))
            return f"labels are right {word} often than their chances say, by {gap}"
        case "cases":
            return (
                f"{describe_cases(round(alarm.value))} with outcomes can be learnt from"
            )


def describe_due(reasons: Sequence[str], n_cases: int, n_outcomes: int) -> str:
    """Return the verdict on a model's sessions in one sentence."""
    if reasons:
        return f"A refresh is due: {'; '.join(reasons)}."
    seen = f"{describe_cases(n_cases)}, {n_outcomes:,} of them with an outcome"
    if n_cases < LEAST_CASES:
        few = f"{LEAST_CASES} are needed to compare them with training"
        return f"Nothing speaks for a refresh so far: {seen}, and {few}."
    if n_outcomes < LEAST_CASES:
        return (
            f"Nothing speaks for a refresh: {seen}. The answers are like the rows of "
            f"training; {LEAST_CASES} outcomes are needed to judge errors."
        )
    like = "answers, errors and chances are as training makes one expect"
    return f"Nothing speaks for a refresh: {seen}; {like}."


def format_percent(share: float) -> str:
    return f"{100 * share:.1f} %"
