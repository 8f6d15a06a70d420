"""What was measured of a set under one sort of prices, and ratios over many sets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from askless.core.arrays import FloatArray
from benchmarks.frontier.draws import PROTOCOLS
from benchmarks.frontier.parties import BAR_RULES, PARTIES, RULES
from benchmarks.intervals import Interval, interval
from benchmarks.lines import Line, Lines

# A mean error below counts as this much, so that ratios exist.
LEAST_ERROR = 1e-4


@dataclass(frozen=True)
class SetFound:
    """The draws of a set that every party has played."""

    title: str
    #: by party, a line for each draw
    lines: dict[str, list[Line]]

    def figures(self, method: str, figure: str) -> FloatArray:
        """Return a figure of a method; (n_draws, n_budgets)."""
        for lines in self.lines.values():
            if method in lines[0]["methods"]:
                found = [line["methods"][method][figure] for line in lines]
                return np.array(found, np.float64)
        raise KeyError(method)

    def errors(self, method: str) -> FloatArray:
        """Return mean errors over the budgets; (n_draws,)."""
        errors: FloatArray = self.figures(method, "errors").mean(axis=1)
        return errors

    def best(self, methods: Iterable[str]) -> str:
        """Return the method of least mean error on the test rows: kind to it."""
        return min(methods, key=lambda one: self.errors(one).mean())

    @property
    def paper(self) -> str:
        return self.best(RULES)

    @property
    def bar(self) -> str:
        return self.best(BAR_RULES.values())

    def name(self, method: str) -> str:
        """Return what `paper` and `bar` stand for, of other words themselves."""
        return {"paper": self.paper, "bar": self.bar}.get(method, method)

    def mean(self, method: str) -> float:
        return max(LEAST_ERROR, float(self.errors(self.name(method)).mean()))

    def ratio(self, method: str, other: str) -> float:
        return self.mean(method) / self.mean(other)

    def difference(self, method: str, other: str) -> Interval:
        """Mean error less that of another method; paired by draw."""
        ours, theirs = self.name(method), self.name(other)
        return interval(self.errors(ours) - self.errors(theirs))

    def curve(self, method: str, figure: str) -> FloatArray:
        """Return a figure by budget, its mean over the draws."""
        curve: FloatArray = self.figures(self.name(method), figure).mean(axis=0)
        return curve

    @property
    def n_draws(self) -> int:
        return len(self.lines["panels"])

    @property
    def n_rows(self) -> int:
        """Rows that were tested, of all draws."""
        return self.shape[1] * self.n_draws

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows to train on, rows to test on, features."""
        line = self.lines["panels"][0]
        return line["n_train"], line["n_test"], line["n_features"]


def gather(lines: Lines) -> dict[str, list[SetFound]]:
    """Return the sets of each sort of prices, of the draws that parties all played."""
    found: dict[str, list[SetFound]] = {}
    titles = dict.fromkeys(line["set"] for line in lines.values())
    draws = sorted({line["draw"] for line in lines.values()})
    for protocol in PROTOCOLS:
        found[protocol] = []
        for title in sorted(titles):
            by_party = {
                party: [
                    lines[draw, title, protocol, party]
                    for draw in draws
                    if all((draw, title, protocol, party) in lines for party in PARTIES)
                ]
                for party in PARTIES
            }
            if by_party["panels"]:
                found[protocol].append(SetFound(title, by_party))
    return found


@dataclass(frozen=True)
class Ratio:
    """A geometric mean over sets and its 95 % interval."""

    mean: float
    low: float
    high: float
    n_sets: int

    def __str__(self) -> str:
        if self.n_sets == 0:
            return "–"
        if not np.isfinite(self.high):
            return f"{self.mean:.3f}"
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def geometric(ratios: Sequence[float]) -> Ratio:
    """Average ratios by their logarithms; sets are what varies."""
    if not len(ratios):
        return Ratio(np.nan, np.nan, np.nan, 0)
    logs = interval(np.log(ratios))
    mean, low, high = np.exp([logs.mean, logs.low, logs.high]).tolist()
    return Ratio(mean, low, high, len(ratios))
