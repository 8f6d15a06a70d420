"""Sentences about whether a model should be trained anew."""

from collections.abc import Sequence

from askless.app.words.challenges import say_cases
from askless.core.model.alarms import LEAST_CASES, Alarm


def say_reason(alarm: Alarm, feature: str | None) -> str:
    """Return what is beyond its tolerance, as a part of a sentence."""
    shown, most = percent_of(alarm.value), percent_of(alarm.tolerated)
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
            gap = percent_of(abs(alarm.value))
            return f"labels are right {word} often than their chances say, by {gap}"
        case "cases":
            return f"{say_cases(round(alarm.value))} with outcomes can be learnt from"


def say_due(told: Sequence[str], n_cases: int, n_outcomes: int) -> str:
    """Return the verdict on a model's sessions in one sentence."""
    if told:
        return f"A refresh is due: {'; '.join(told)}."
    seen = f"{say_cases(n_cases)}, {n_outcomes:,} of them with an outcome"
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


def percent_of(share: float) -> str:
    return f"{100 * share:.1f} %"
