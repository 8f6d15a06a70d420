"""What follows from what `selection` has stored; the document says it in words.

Credit and Australian are one data set (Australian has its missing values filled in and
its categories numbered), so counts and means over data sets leave Australian out.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchmarks.intervals import percentiles, resamples
from benchmarks.papers.results import reference
from benchmarks.papers.runs import Record, Results
from benchmarks.papers.selection import EXTRA, PAPER
from core.arrays import FloatArray

ONCE, TWICE = "credit_approval", "australian"
OWN_MAKING = "hard"
SURE = 0.05
METHODS = ("sfs", "fs2boost", "all")


def merge(results: Results) -> dict[str, Record]:
    """The pieces of each set as one record, where the first two are there."""
    stored = {name: results["sets"].get(name, {}) for name in (*PAPER, *EXTRA)}
    return {
        name: {key: value for piece in pieces.values() for key, value in piece.items()}
        for name, pieces in stored.items()
        if {"0", "1"} <= set(pieces)
    }


def table_1(results: Results) -> dict[str, Record]:
    """The paper's sets that were measured, in its order."""
    found = merge(results)
    return {name: found[name] for name in PAPER if name in found}


def counted(sets: dict[str, Record]) -> dict[str, Record]:
    """Each data set once."""
    left_out = {TWICE} if ONCE in sets else set()
    return {name: one for name, one in sets.items() if name not in left_out}


def paper() -> dict[str, list[float]]:
    """The paper's table 1, by our sets: percent by SFS, FS2Boost and all features."""
    accuracies = reference("sebban_nock")["accuracy"]
    return {name: accuracies[title] for name, title in PAPER.items()}


def accuracy(found: Record, method: str) -> float:
    """Accuracy in percent."""
    return found["all"] if method == "all" else found["methods"][method]["accuracy"]


def is_inside(found: Record, method: str, theirs: float) -> bool:
    """Whether the paper's figure lies in the interval of ours (Wilson's)."""
    n_right = round(accuracy(found, method) / 100 * found["rows"])
    one = stats.binomtest(n_right, found["rows"]).proportion_ci(method="wilson")
    return bool(100 * one.low <= theirs <= 100 * one.high)


def mcnemar(n_better: int, n_worse: int) -> float:
    """The exact test's p: rows where one of two is right, as tosses of a fair coin."""
    n_rows = n_better + n_worse
    return float(stats.binomtest(n_better, n_rows).pvalue) if n_rows else 1.0


def is_sure(pair: list[int]) -> int:
    """1 where the first is surely better, -1 where surely worse, else 0."""
    return int(np.sign(pair[0] - pair[1])) if mcnemar(*pair) < SURE else 0


@dataclass(frozen=True)
class Pairs:
    """FS2Boost beside another choice: points by set, and which are sure."""

    points: dict[str, float]
    sure: dict[str, int]

    def mean(self, without: str = "") -> float:
        """Mean points, a set left out."""
        kept = [one for name, one in self.points.items() if name != without]
        return float(np.mean(kept)) if kept else float("nan")

    def named(self, sign: int) -> list[str]:
        """The sets of this sure sign."""
        return [name for name, one in self.sure.items() if one == sign]

    def count(self, sign: int) -> int:
        """How many sets have points of this sign."""
        return sum(np.sign(round(one, 2)) == sign for one in self.points.values())


def pairs(results: Results, other: str) -> Pairs:
    """FS2Boost beside `sfs` or `all`, each data set once."""
    sets = counted(table_1(results))
    points = {
        name: accuracy(one, "fs2boost") - accuracy(one, other)
        for name, one in sets.items()
    }
    sure = {name: is_sure(one["beside"][other]) for name, one in sets.items()}
    return Pairs(points, sure)


def variant_pairs(results: Results, variant: str) -> Pairs:
    """A variant of FS2Boost beside SFS with the same k."""
    found = {
        name: one["variants"][variant]
        for name, one in counted(table_1(results)).items()
        if "variants" in one
    }
    return Pairs(
        {name: one["accuracy"] - one["sfs"] for name, one in found.items()},
        {name: is_sure(one["beside_sfs"]) for name, one in found.items()},
    )


@dataclass(frozen=True)
class Saving:
    """Rounds until the subset stands, by FS2Boost and by another, over sets."""

    names: list[str]
    before: FloatArray
    after: FloatArray

    @property
    def gains(self) -> FloatArray:
        """The paper's relative gain (T_Z - T_Z') / T_Z'; by set."""
        return (self.before - self.after) / self.after

    def named(self, sign: int) -> list[str]:
        """The sets whose gain has this sign."""
        pairs = zip(self.names, np.sign(self.gains), strict=True)
        return [name for name, one in pairs if one == sign]

    def without_largest(self) -> float:
        """The mean gain without the set of the largest."""
        return float(np.delete(self.gains, np.argmax(self.gains)).mean())

    def mean_interval(self) -> tuple[float, float]:
        """Of the mean gain, by bootstrap over the sets."""
        return percentiles(resamples(len(self.names)) @ self.gains)

    def median_interval(self) -> tuple[float, float]:
        """Of the median gain, by the same bootstrap."""
        n_sets = len(self.names)
        counts = np.rint(resamples(n_sets) * n_sets).astype(np.int64)
        medians = [np.median(np.repeat(self.gains, row)) for row in counts]
        return percentiles(np.array(medians))


def is_same(found: Record, method: str) -> bool:
    """Whether a method's subset is that of FS2Boost, where both stand."""
    stable = found["stable"]
    return stable[method]["features"] == stable["fs2boost"]["features"]


def saving(sets: dict[str, Record], method: str) -> Saving:
    """What a method saves of FS2Boost's rounds."""
    rounds = [
        (one["stable"]["fs2boost"]["rounds"], one["stable"][method]["rounds"])
        for one in sets.values()
    ]
    before, after = np.array(rounds, dtype=np.float64).reshape(-1, 2).T
    return Saving(list(sets), before, after)


def with_same_subset(sets: dict[str, Record], method: str) -> dict[str, Record]:
    """The sets where a method keeps the subset of FS2Boost."""
    return {name: one for name, one in sets.items() if is_same(one, method)}
