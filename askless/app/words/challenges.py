"""Sentences about a challenger and its champion."""

from typing import NamedTuple

from askless.app.records import Decision

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


def say_cases(cases: int) -> str:
    return "1 case" if cases == 1 else f"{cases:,} cases"


def say_ending(decision: Decision, cases: int) -> str:
    """Return a sentence about how a challenge has ended."""
    return ENDINGS[decision].format(cases=say_cases(cases))


def say_gap(gap: GapSoFar) -> str:
    """Return a sentence that says whether the challenger is better."""
    span = f"between {points(gap.low)} and {points(gap.high)}"
    after = f"after {say_cases(gap.cases)} its loss is lower by {points(gap.value)}"
    found = f"{after} points, {span} at every look"
    than = f" by more than {points(gap.margin)} points" if gap.margin else ""
    if gap.better_after is not None:
        since = f"since case {gap.better_after:,} that is beyond chance"
        return f"The challenger is better{than}: {found}; {since}."
    if gap.high < 0:
        return f"The challenger is worse: {found}."
    if gap.high <= gap.margin:
        return f"The challenger is not better{than}: {found}."
    return f"The challenger is not known to be better{than} yet: {found}."


def points(share: float) -> str:
    """Write a difference of losses in percentage points."""
    return f"{100 * share + 0.0:.1f}".replace("-", "−")
