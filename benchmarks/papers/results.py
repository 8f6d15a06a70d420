"""What the parts have stored, as arrays by set."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from operator import getitem
from typing import TypeVar

import numpy as np

from askless.core.arrays import FloatArray
from benchmarks.intervals import Interval, interval
from benchmarks.papers.runs import Record

One = TypeVar("One")


@dataclass(frozen=True)
class SetResults:
    """The repetitions of a set, in order; what other parts measured on it."""

    title: str
    records: list[Record]
    #: The sets of every part.
    parts: "dict[str, Sets]" = field(repr=False)

    def column(self, *keys: str) -> FloatArray:
        """Return one quantity; a row per repetition."""
        found = [reduce(getitem, keys, record) for record in self.records]
        return np.array(found, dtype=np.float64)

    def mean(self, *keys: str) -> FloatArray:
        """Return one quantity, the mean over the repetitions."""
        return self.column(*keys).mean(axis=0)

    def beside(self, part: str) -> "SetResults | None":
        """Return the same set in another part, if it was measured there."""
        return self.parts.get(part, {}).get(self.title)


#: The sets with two repetitions or more, by title, in the order of the document.
Sets = dict[str, SetResults]


def pick(sets: dict[str, One], titles: Iterable[str]) -> dict[str, One]:
    """Return those of some sets that were measured, in the order given."""
    return {title: sets[title] for title in titles if title in sets}


def paired(one: FloatArray, other: FloatArray) -> Interval:
    """Return a paired difference over the repetitions that both have."""
    n_both = min(one.shape[0], other.shape[0])
    return interval(one[:n_both] - other[:n_both])
