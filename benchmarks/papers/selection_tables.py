"""Sebban and Nock (1999), as tables.

Leave-one-out over a whole set has no splits to repeat: the interval of an accuracy is
Wilson's for so many rows, two subsets are compared row by row (McNemar).
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from benchmarks.documents import Rows, listed, minus, percents
from benchmarks.papers import selection_findings as findings
from benchmarks.papers.results import Sets, pick
from benchmarks.papers.runs import Record
from benchmarks.papers.selection import METHODS, PAPER, RELEVANT, VARIANTS
from benchmarks.papers.selection_findings import OWN_MAKING, Merged, counted

SUBSETS = ("sfs", "fs2boost", "ifs2boost", "fs2boost_stump")
SAVERS = {"ifs2boost": "iFS²Boost", "ifs2boost_z": "by Z"}

Found = TypeVar("Found")


def write_accuracies(sets: Merged) -> Rows:
    for name, found in pick(sets, PAPER).items():
        cells = []
        for method, one in zip(findings.METHODS, findings.paper()[name], strict=True):
            mark = "" if findings.is_inside(found, method, one) else " ✗"
            cells.append(f"{findings.accuracy(found, method):.1f} / {one:g}{mark}")
        title = name if PAPER[name] == name else f"{name} ({PAPER[name]})"
        subset = listed(
            found["names"][i] for i in found["methods"]["fs2boost"]["features"]
        )
        yield title, f"{found['rows']:,}", *cells, subset


def write_pairs(sets: Merged) -> Rows:
    others = ("sfs", "all")
    for name, found in pick(sets, PAPER).items():
        cells = []
        for other in others:
            ours, theirs = (findings.accuracy(found, m) for m in ("fs2boost", other))
            better, worse = found["beside"][other]
            p = findings.mcnemar(better, worse)
            small = "< 0.001" if p < 0.001 else f"{p:.3f}"
            cells += [minus(ours - theirs), f"{better} : {worse}", small]
        yield name, *cells
    for label, left_out in (
        ("mean, each data set once", ""),
        (f"mean without {OWN_MAKING}", OWN_MAKING),
    ):
        means = [minus(findings.pairs(sets, one).mean(left_out)) for one in others]
        yield label, means[0], "", "", means[1], "", ""


def write_variants(sets: Merged) -> Rows:
    varied = findings.with_variants(sets)
    for variant in VARIANTS if varied else ():
        found = findings.variant_pairs(sets, variant.title)
        gaps = [
            abs(one["variants"][variant.title]["accuracy"] - findings.paper()[name][1])
            for name, one in varied.items()
        ]
        signs = f"{found.count(1)} : {found.count(-1)}"
        sure = f"{len(found.named(1))} : {len(found.named(-1))}"
        means = (minus(found.mean()), minus(found.mean(OWN_MAKING)))
        yield *variant.cells, *means, signs, sure, f"{np.mean(gaps):.1f}"


def compare_relevant(name: str, found: Record, subset: list[int]) -> str:
    """Name the relevant features that a subset lacks, then the others that it has."""
    relevant, taken = set(RELEVANT[name]), set(subset)
    lacking = [f"−{found['names'][idx]}" for idx in sorted(relevant - taken)]
    extra = [f"+{found['names'][idx]}" for idx in sorted(taken - relevant)]
    return " ".join((*lacking, *extra)) or "exact"


def write_neighbours(sets: Merged) -> Rows:
    for name, one in sets.items():
        if by_size := one.get("neighbours"):
            subsets = by_size.values()
            yield name, *(compare_relevant(name, one, idxs) for idxs in subsets)


def write_relevant(sets: Merged) -> Rows:
    for name, one in sets.items():
        if RELEVANT[name]:
            subsets = (one["methods"][method]["features"] for method in SUBSETS)
            yield name, *(compare_relevant(name, one, idxs) for idxs in subsets)


def write_methods(sets: Merged) -> Rows:
    once = counted(sets).values()
    for method in METHODS:
        ones = [found["methods"][method] for found in once]
        accuracies = np.mean([one["accuracy"] for one in ones])
        size = np.mean([len(one["features"]) for one in ones])
        fitted = sum(one["n_hypotheses"] for one in ones)
        cells = (f"{accuracies:.1f}", f"{size:.1f}", f"{fitted:,}")
        learner = {"fs2boost": "knn", "fs2boost_stump": "stump"}.get(method, "")
        yield f"`{method}`", *cells, count_nulls(sets, learner)
    everything = np.mean([found["all"] for found in once])
    sizes = np.mean([len(found["names"]) for found in once])
    yield "all features", f"{everything:.1f}", f"{sizes:.1f}", "", ""


def count_nulls(sets: Merged, learner: str) -> str:
    """How often FS2Boost takes a feature where there is nothing to find."""
    sizes = [
        size
        for one in counted(sets).values()
        for size in one.get("null_sizes", {}).get(learner, ())
    ]
    return f"{sum(size > 0 for size in sizes)} of {len(sizes)}" if sizes else ""


def write_savings(sets: Merged) -> Rows:
    once = counted(sets)
    for method, title in SAVERS.items():
        same = findings.with_same_subset(once, method)
        rest = {name: one for name, one in once.items() if name not in same}
        yield summarise(f"{title}, all", once, method)
        yield summarise(f"{title}, the same subset", same, method)
        yield summarise(f"{title}, another subset", rest, method)


def summarise(title: str, sets: Merged, method: str) -> list[str]:
    """A row: rounds before and after, and the gain."""
    if len(sets) < 2:
        return [title, str(len(sets)), *[""] * 6]
    found = findings.saving(sets, method)
    gains = found.gains
    middle = " to ".join(percents(one) for one in found.median_interval())
    mean = " to ".join(percents(one) for one in found.mean_interval())
    return [
        title,
        str(len(sets)),
        f"{found.before.mean():.1f}",
        f"{found.after.mean():.1f}",
        f"{int((gains > 0).sum())} : {int((gains < 0).sum())}",
        f"{percents(np.median(gains))} ({middle})",
        f"{percents(gains.mean())} ({mean})",
        percents(found.without_largest()),
    ]


def of_merged(work: Callable[[Merged], Found]) -> Callable[[Sets], Found]:
    return lambda sets: work(findings.merge(sets))


TABLES = {
    "selection-accuracies": of_merged(write_accuracies),
    "selection-pairs": of_merged(write_pairs),
    "selection-variants": of_merged(write_variants),
    "selection-neighbours": of_merged(write_neighbours),
    "selection-relevant": of_merged(write_relevant),
    "selection-methods": of_merged(write_methods),
    "selection-savings": of_merged(write_savings),
}
