"""What follows from what `selection` has stored; the document says it in words.

Credit and Australian are one data set (Australian has its missing values filled in and
its categories numbered), so counts and means over data sets leave Australian out.
"""

from collections import ChainMap
from dataclasses import dataclass

import numpy as np
from scipy import stats

from askless.core.arrays import FloatArray
from benchmarks.intervals import percentiles, resamples
from benchmarks.papers.results import Sets, pick, reference
from benchmarks.papers.runs import Record
from benchmarks.papers.selection import PAPER

ONCE, TWICE = "credit_approval", "australian"
OWN_MAKING = "hard"
SURE = 0.05
METHODS = ("sfs", "fs2boost", "all")

#: The pieces of each set as one record.
Merged = dict[str, Record]


def merge(sets: Sets) -> Merged:
    return {title: dict(ChainMap(*one.records)) for title, one in sets.items()}


def counted(sets: Merged) -> Merged:
    """Each data set once."""
    left_out = {TWICE} if ONCE in sets else set()
    return {name: one for name, one in sets.items() if name not in left_out}


def with_variants(sets: Merged) -> Merged:
    """Each of the paper's sets on which variants were played."""
    found = counted(pick(sets, PAPER))
    return {name: one for name, one in found.items() if "variants" in one}


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


def pairs(sets: Merged, other: str) -> Pairs:
    """FS2Boost beside `sfs` or `all`, each of the paper's data sets once."""
    found = counted(pick(sets, PAPER)).items()
    return Pairs(
        {name: accuracy(one, "fs2boost") - accuracy(one, other) for name, one in found},
        {name: is_sure(one["beside"][other]) for name, one in found},
    )


def variant_pairs(sets: Merged, variant: str) -> Pairs:
    """A variant of FS2Boost beside SFS with the same k."""
    found = {t: one["variants"][variant] for t, one in with_variants(sets).items()}
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


def saving(sets: Merged, method: str) -> Saving:
    """What a method saves of FS2Boost's rounds."""
    rounds = [
        (one["stable"]["fs2boost"]["rounds"], one["stable"][method]["rounds"])
        for one in sets.values()
    ]
    before, after = np.array(rounds, dtype=np.float64).reshape(-1, 2).T
    return Saving(list(sets), before, after)


def with_same_subset(sets: Merged, method: str) -> Merged:
    """The sets where a method keeps the subset of FS2Boost."""
    return {name: one for name, one in sets.items() if is_same(one, method)}
