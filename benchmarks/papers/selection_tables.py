"""Sebban and Nock (1999), as tables and verdicts.

Leave-one-out over a whole set has no splits to repeat: the interval of an accuracy is
Wilson's for so many rows, two subsets are compared row by row (McNemar).
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from benchmarks.documents import Rows, listed, minus, percents
from benchmarks.papers import selection_findings as findings
from benchmarks.papers.results import Sets, Verdict, grade, pick
from benchmarks.papers.runs import Record
from benchmarks.papers.selection import METHODS, PAPER, RELEVANT, VARIANTS
from benchmarks.papers.selection_findings import OWN_MAKING, Merged, counted
from benchmarks.papers.selection_paths import Variant

SUBSETS = ("sfs", "fs2boost", "ifs2boost", "fs2boost_stump")
SAVERS = {"ifs2boost": "iFS²Boost", "ifs2boost_z": "by Z"}
ALMOST_ALWAYS = 0.8
MOSTLY = 0.5

Found = TypeVar("Found")


def chosen(found: Record, idxs: list[int]) -> str:
    """The names of a subset."""
    return listed(found["names"][idx] for idx in idxs)


def write_accuracies(sets: Merged) -> Rows:
    for name, found in pick(sets, PAPER).items():
        cells = []
        for method, one in zip(findings.METHODS, findings.paper()[name], strict=True):
            mark = "" if findings.is_inside(found, method, one) else " ✗"
            cells.append(f"{findings.accuracy(found, method):.1f} / {one:g}{mark}")
        title = name if PAPER[name] == name else f"{name} ({PAPER[name]})"
        subset = chosen(found, found["methods"]["fs2boost"]["features"])
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


def write_forced(sets: Merged) -> Rows:
    for name, one in findings.with_variants(sets).items():
        ours, theirs = (
            one["variants"][Variant(is_infinite=is_infinite).title]
            for is_infinite in (False, True)
        )
        if not ours["features"]:
            figures = (ours["accuracy"], theirs["accuracy"], theirs["sfs"])
            subset = chosen(one, theirs["features"])
            yield name, subset, *(f"{figure:.1f}" for figure in figures)


def compare_names(found: Record, subset: list[int], wanted: list[int]) -> list[str]:
    """What a subset has beside another, and what it lacks."""
    extra = [f"+{found['names'][idx]}" for idx in sorted(set(subset) - set(wanted))]
    lacking = [f"−{found['names'][idx]}" for idx in sorted(set(wanted) - set(subset))]
    return [*extra, *lacking]


def compare_relevant(name: str, found: Record, subset: list[int]) -> str:
    """Which relevant features a subset lacks, and which it has beside them."""
    cells = compare_names(found, subset, RELEVANT[name])
    # What is lacking stands first.
    return " ".join(sorted(cells, key=lambda cell: cell[0] == "+")) or "exact"


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


def write_stable(sets: Merged) -> Rows:
    for name, found in sets.items():
        stable = found["stable"]
        cells = [name, stable["fs2boost"]["rounds"]]
        for method in SAVERS:
            ours, base = (stable[one]["features"] for one in (method, "fs2boost"))
            same = " ".join(compare_names(found, ours, base))
            if findings.is_same(found, method):
                same = "same"
            cells += [stable[method]["rounds"], same]
        yield cells


def judge_figures(sets: Merged) -> Verdict:
    """Table 1, figure by figure."""
    once = counted(pick(sets, PAPER))
    inside = {
        method: sum(
            findings.is_inside(one, method, findings.paper()[name][idx])
            for name, one in once.items()
        )
        for idx, method in enumerate(findings.METHODS)
    }
    n_inside, n_all = sum(inside.values()), len(inside) * len(once)
    verdict = "reproduced" if n_inside == n_all else "partly"
    return verdict, {**inside, "n_inside": n_inside, "n_all": n_all, "n": len(once)}


def judge_sfs(sets: Merged) -> Verdict:
    """FS2Boost beside SFS, which has the yardstick for its criterion."""
    found = findings.pairs(sets, "sfs")
    n_few = (1 - ALMOST_ALWAYS) * len(found.points)
    verdict = "partly"
    if found.count(-1) <= n_few:
        verdict = "reproduced"
    elif len(found.named(-1)) > n_few:
        verdict = "not reproduced"
    started = findings.variant_pairs(sets, Variant(is_infinite=True).title)
    infinite = {"infinite": minus(started.mean()), "infinite_worse": started.named(-1)}
    return verdict, describe(found) | infinite


def judge_all(sets: Merged) -> Verdict:
    """FS2Boost beside all features, on which nothing was chosen."""
    found = findings.pairs(sets, "all")
    n_sets = len(found.points)
    is_good = n_sets - found.count(-1) > MOSTLY * n_sets
    return "reproduced" if is_good else "not reproduced", describe(found)


def describe(found: findings.Pairs) -> dict[str, Any]:
    """Count what the figures say, and name what McNemar's test calls sure."""
    return {
        "n_better": found.count(1),
        "n_equal": found.count(0),
        "n_worse": found.count(-1),
        "n_all": len(found.points),
        "better": found.named(1),
        "worse": found.named(-1),
        "mean": minus(found.mean()),
        "without": minus(found.mean(OWN_MAKING)),
    }


def judge_rounds(sets: Merged) -> Verdict:
    """The speed-up that Z' should bring."""
    once = counted(sets)
    same = findings.with_same_subset(once, "ifs2boost")
    found = findings.saving(once, "ifs2boost")
    low, high = found.mean_interval()
    there = ""
    if len(same) > 1:
        ours = findings.saving(same, "ifs2boost")
        ends = " to ".join(map(percents, ours.mean_interval()))
        there = (
            f", gain there {percents(ours.gains.mean())} ({ends}): fewer rounds on "
            f"{listed(ours.named(1))}, more on {listed(ours.named(-1))}"
        )
    return grade([low > 0, len(same) >= ALMOST_ALWAYS * len(once)]), {
        "median": percents(np.median(found.gains)),
        "mean": percents(found.gains.mean()),
        "low": percents(low),
        "high": percents(high),
        "without": percents(found.without_largest()),
        "n_one": int((found.before == 1).sum()),
        "n_all": len(once),
        "n_same": len(same),
        "there": there,
    }


def of_merged(work: Callable[[Merged], Found]) -> Callable[[Sets], Found]:
    return lambda sets: work(findings.merge(sets))


TABLES = {
    "selection-accuracies": of_merged(write_accuracies),
    "selection-pairs": of_merged(write_pairs),
    "selection-variants": of_merged(write_variants),
    "selection-forced": of_merged(write_forced),
    "selection-neighbours": of_merged(write_neighbours),
    "selection-relevant": of_merged(write_relevant),
    "selection-methods": of_merged(write_methods),
    "selection-savings": of_merged(write_savings),
    "selection-stable": of_merged(write_stable),
}
JUDGES = {
    "figures": of_merged(judge_figures),
    "sfs": of_merged(judge_sfs),
    "all": of_merged(judge_all),
    "rounds": of_merged(judge_rounds),
}
