"""The tables of refusals in docs/frontier.md, from kept lines."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from askless.core.arrays import FloatArray
from benchmarks.documents import Rows, minus, percent
from benchmarks.frontier.draws import PROTOCOLS
from benchmarks.frontier.jobs import Lines
from benchmarks.frontier.refused import SHARES

FIGURES = (
    *("ours_error", "ours_loss", "refit_error", "refit_loss", "forward_error"),
    *("forward_loss", "unspent", "at_once", "helpful", "surely_helpful"),
)


class Group(NamedTuple):
    """Refusals of so many features under some prices, by budget and set."""

    protocol: str
    #: place in `SHARES`
    place: int
    n_refused: int
    #: by set, mean figures over sessions and draws
    sets: dict[str, dict[str, float]]
    #: the worst single refusal: its error less that of forward selection, its set
    worst_refusal: tuple[float, str]

    def column(self, figure: str) -> FloatArray:
        """Return a figure of all sets; (n_sets,)."""
        return np.array([one[figure] for one in self.sets.values()])

    def above(self, rival: str, figure: str) -> FloatArray:
        """Return a figure less that of a rival; (n_sets,)."""
        return self.column(f"ours_{figure}") - self.column(f"{rival}_{figure}")

    def worst(self, rival: str) -> str:
        """Write the set of the greatest error above a rival's, in points."""
        differences = self.above(rival, "error")
        place = int(differences.argmax())
        return f"{points(differences[place])} ({list(self.sets)[place]})"


def gather(lines: Lines) -> Iterator[Group]:
    for protocol in PROTOCOLS:
        its = [line for line in lines.values() if line["protocol"] == protocol]
        for place in range(len(SHARES)):
            for n_refused in range(3):
                sets, refusals = {}, []
                for title in sorted({line["set"] for line in its}):
                    records = [
                        record
                        for line in its
                        if line["set"] == title
                        for record in line["budgets"][place]
                        if len(record["refused"]) == n_refused
                    ]
                    if records:
                        sets[title] = average(records)
                        refusals += [(exceed(one), title) for one in records]
                if sets:
                    yield Group(protocol, place, n_refused, sets, max(refusals))


def average(records: list[dict[str, Any]]) -> dict[str, float]:
    """Average figures over sessions: a refusal counts by the rows that met it."""
    weights = [record["rows"] for record in records]
    return {
        name: float(np.average([record[name] for record in records], weights=weights))
        for name in FIGURES
    }


def exceed(record: dict[str, Any]) -> float:
    """Return the error of one refusal above that of forward selection."""
    excess: float = record["ours_error"] - record["forward_error"]
    return excess


def points(value: float) -> str:
    """Write a difference of shares in points."""
    return minus(100 * float(value), 2)


def write_groups(groups: Iterable[Group]) -> Rows:
    """Means over sets, and the worst set, for each number of refusals."""
    for one in groups:
        yield (
            one.protocol,
            SHARES[one.place],
            one.n_refused,
            len(one.sets),
            points(one.above("refit", "error").mean()),
            one.worst("refit"),
            minus(float(one.above("refit", "loss").mean()), 3),
            points(one.above("forward", "error").mean()),
            one.worst("forward"),
            f"{points(one.worst_refusal[0])} ({one.worst_refusal[1]})",
            minus(float(one.above("forward", "loss").mean()), 3),
            *(percent(one.column(name).mean(), 0) for name in FIGURES[-4:]),
        )


TABLES: dict[str, Callable[[Iterable[Group]], Rows]] = {
    "refusals": write_groups,
}


def write_all(lines: Lines) -> dict[str, Rows]:
    """Return the rows of every region of refusals."""
    groups = list(gather(lines))
    return {name: list(write(groups)) for name, write in TABLES.items()}
