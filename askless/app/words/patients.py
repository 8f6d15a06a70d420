"""Held-out patients of a demo: their names, and the rule by which some are shown."""

from collections.abc import Sequence
from typing import NamedTuple

# The last rows of a demo's table, which its training does not see.
N_PATIENTS = 12

# What their sessions are called, in the order of the table.
REFS = tuple(f"Demo patient {number}" for number in range(1, N_PATIENTS + 1))

# The short case of those shown has about so many questions.
FEW_QUESTIONS = 2

RULE = (
    f"The last {N_PATIENTS} rows of the table were kept from training and played to "
    "the end. Shown are, by rule, the one with two questions or the nearest number, "
    "and of those with other questions, and no fewer, the longest that was predicted "
    "right and the longest that was predicted wrong; of equals the first."
)


class Picks(NamedTuple):
    """Positions of the cases that are shown."""

    short: int
    #: the longest with other questions that was predicted right; None: there is none
    right: int | None
    #: the longest with other questions that was predicted wrong; None: there is none
    wrong: int | None


def pick_cases(asked: Sequence[Sequence[int]], is_right: Sequence[bool]) -> Picks:
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
