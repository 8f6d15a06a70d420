"""Sebban and Nock (1999), as tables.

Leave-one-out over a whole set has no splits to repeat: the interval of an accuracy is
Wilson's for so many rows, two subsets are compared row by row (McNemar).
"""

import numpy as np

from benchmarks.documents import Rows, listed, minus, percents
from benchmarks.papers.runs import Record, Results
from benchmarks.papers.selection import METHODS as RUN
from benchmarks.papers.selection import PAPER, VARIANTS
from benchmarks.papers.selection_findings import (
    METHODS,
    OWN_MAKING,
    accuracy,
    counted,
    is_inside,
    is_same,
    mcnemar,
    merge,
    pairs,
    paper,
    saving,
    table_1,
    variant_pairs,
    with_same_subset,
)
from benchmarks.papers.selection_paths import Variant

RELEVANT = {
    "monks1": (0, 1, 4),
    "monks3": (1, 3, 4),
    "xd6": range(9),
    "hard": (0, 1),
    "led24_even": range(7),
    "led": range(7),
    "led24": range(7),
}
SUBSETS = {
    "sfs": "SFS",
    "fs2boost": "FS²Boost",
    "ifs2boost": "iFS²Boost",
    "fs2boost_stump": "FS²Boost on stumps",
}
SAVERS = {"ifs2boost": "iFS²Boost", "ifs2boost_z": "by Z"}


def chosen(found: Record, idxs: list[int]) -> str:
    """The names of a subset."""
    return listed(found["names"][idx] for idx in idxs)


def write_accuracies(results: Results) -> Rows:
    rows = []
    for name, found in table_1(results).items():
        cells = []
        for method, one in zip(METHODS, paper()[name], strict=True):
            mark = "" if is_inside(found, method, one) else " ✗"
            cells.append(f"{accuracy(found, method):.1f} / {one:g}{mark}")
        title = name if PAPER[name] == name else f"{name} ({PAPER[name]})"
        subset = chosen(found, found["methods"]["fs2boost"]["features"])
        cells.append(subset)
        rows.append((title, f"{found['rows']:,}", *cells))
    return rows


def write_pairs(results: Results) -> Rows:
    others = ("sfs", "all")
    rows = []
    for name, found in table_1(results).items():
        cells = []
        for other in others:
            points = accuracy(found, "fs2boost") - accuracy(found, other)
            better, worse = found["beside"][other]
            p = mcnemar(better, worse)
            small = "< 0.001" if p < 0.001 else f"{p:.3f}"
            cells += [minus(points), f"{better} : {worse}", small]
        rows.append([name, *cells])
    for label, left_out in (
        ("mean, each data set once", ""),
        (f"mean without {OWN_MAKING}", OWN_MAKING),
    ):
        means = [minus(pairs(results, other).mean(left_out)) for other in others]
        rows.append([label, means[0], "", "", means[1], "", ""])
    return rows


def with_variants(results: Results) -> dict[str, Record]:
    """Each of the paper's sets on which variants were played."""
    sets = counted(table_1(results))
    return {name: one for name, one in sets.items() if "variants" in one}


def write_variants(results: Results) -> Rows:
    sets = with_variants(results)
    rows = []
    for variant in VARIANTS if sets else ():
        found = variant_pairs(results, variant.title)
        gaps = [
            abs(one["variants"][variant.title]["accuracy"] - paper()[name][1])
            for name, one in sets.items()
        ]
        rows.append(
            (
                *variant.cells,
                minus(found.mean()),
                minus(found.mean(OWN_MAKING)),
                f"{found.count(1)} : {found.count(-1)}",
                f"{len(found.named(1))} : {len(found.named(-1))}",
                f"{np.mean(gaps):.1f}",
            )
        )
    return rows


def write_forced(results: Results) -> Rows:
    rows = []
    for name, one in with_variants(results).items():
        ours, theirs = (
            one["variants"][Variant(is_infinite=is_infinite).title]
            for is_infinite in (False, True)
        )
        if not ours["features"]:
            figures = (ours["accuracy"], theirs["accuracy"], theirs["sfs"])
            subset = chosen(one, theirs["features"])
            rows.append((name, subset, *(f"{figure:.1f}" for figure in figures)))
    return rows


def compare_names(found: Record, subset: list[int], wanted: list[int]) -> list[str]:
    """What a subset has beside another, and what it lacks."""
    extra = [f"+{found['names'][idx]}" for idx in sorted(set(subset) - set(wanted))]
    lacking = [f"−{found['names'][idx]}" for idx in sorted(set(wanted) - set(subset))]
    return [*extra, *lacking]


def compare_relevant(name: str, found: Record, subset: list[int]) -> str:
    """Which relevant features a subset lacks, and which it has beside them."""
    cells = compare_names(found, subset, list(RELEVANT[name]))
    # What is lacking stands first.
    return " ".join(sorted(cells, key=lambda cell: cell[0] == "+")) or "exact"


def write_neighbours(results: Results) -> Rows:
    rows = [
        (name, *(compare_relevant(name, one, idxs) for idxs in by_size.values()))
        for name, one in merge(results).items()
        if (by_size := one.get("neighbours"))
    ]
    return rows


def write_relevant(results: Results) -> Rows:
    rows = []
    for name, one in merge(results).items():
        if name in RELEVANT:
            subsets = (one["methods"][method]["features"] for method in SUBSETS)
            cells = (compare_relevant(name, one, idxs) for idxs in subsets)
            rows.append((name, *cells))
    return rows


def write_methods(results: Results) -> Rows:
    sets = counted(merge(results)).values()
    rows = []
    for method in RUN:
        ones = [found["methods"][method] for found in sets]
        accuracies = np.mean([one["accuracy"] for one in ones])
        size = np.mean([len(one["features"]) for one in ones])
        fitted = sum(one["n_hypotheses"] for one in ones)
        cells = (f"{accuracies:.1f}", f"{size:.1f}", f"{fitted:,}")
        learner = {"fs2boost": "knn", "fs2boost_stump": "stump"}.get(method, "")
        rows.append((f"`{method}`", *cells, count_nulls(results, learner)))
    everything = np.mean([found["all"] for found in sets])
    sizes = np.mean([len(found["names"]) for found in sets])
    rows.append(("all features", f"{everything:.1f}", f"{sizes:.1f}", "", ""))
    return rows


def count_nulls(results: Results, learner: str) -> str:
    """How often FS2Boost takes a feature where there is nothing to find."""
    sizes = [
        size
        for one in counted(merge(results)).values()
        for size in one.get("null_sizes", {}).get(learner, ())
    ]
    return f"{sum(size > 0 for size in sizes)} of {len(sizes)}" if sizes else ""


def write_savings(results: Results) -> Rows:
    sets = counted(merge(results))
    rows = []
    for method, title in SAVERS.items():
        same = with_same_subset(sets, method)
        rest = {name: one for name, one in sets.items() if name not in same}
        rows.append(summarise(f"{title}, all", sets, method))
        rows.append(summarise(f"{title}, the same subset", same, method))
        rows.append(summarise(f"{title}, another subset", rest, method))
    return rows


def summarise(title: str, sets: dict[str, Record], method: str) -> list[str]:
    """A row: rounds before and after, and the gain."""
    if len(sets) < 2:
        return [title, str(len(sets)), *[""] * 6]
    found = saving(sets, method)
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


def write_stable(results: Results) -> Rows:
    rows = []
    for name, found in merge(results).items():
        stable = found["stable"]
        cells = [name, stable["fs2boost"]["rounds"]]
        for method in SAVERS:
            ours, base = (stable[one]["features"] for one in (method, "fs2boost"))
            difference = " ".join(compare_names(found, ours, base))
            same = "same" if is_same(found, method) else difference
            cells += [stable[method]["rounds"], same]
        rows.append(cells)
    return rows


TABLES = {
    "selection-accuracies": write_accuracies,
    "selection-pairs": write_pairs,
    "selection-variants": write_variants,
    "selection-forced": write_forced,
    "selection-neighbours": write_neighbours,
    "selection-relevant": write_relevant,
    "selection-methods": write_methods,
    "selection-savings": write_savings,
    "selection-stable": write_stable,
}
