"""What became of Sebban and Nock's claims."""

import numpy as np

from benchmarks.documents import listed, minus, percents
from benchmarks.papers.results import Verdict, grade
from benchmarks.papers.runs import Results
from benchmarks.papers.selection_findings import (
    METHODS,
    OWN_MAKING,
    Pairs,
    counted,
    is_inside,
    merge,
    pairs,
    paper,
    saving,
    table_1,
    variant_pairs,
    with_same_subset,
)
from benchmarks.papers.selection_paths import Variant

NAMES = {"sfs": "SFS", "fs2boost": "FS²Boost", "all": "all"}
ALMOST_ALWAYS = 0.8
MOSTLY = 0.5


def judge_figures(results: Results) -> Verdict:
    """Table 1, figure by figure."""
    sets = counted(table_1(results))
    inside = {
        method: sum(
            is_inside(one, method, paper()[name][idx]) for name, one in sets.items()
        )
        for idx, method in enumerate(METHODS)
    }
    n_inside, n_all = sum(inside.values()), len(METHODS) * len(sets)
    cells = [f"{NAMES[method]} {count}" for method, count in inside.items()]
    return "reproduced" if n_inside == n_all else "partly", (
        f"{n_inside} of {n_all} figures lie in our intervals ({listed(cells)} of "
        f"{len(sets)})"
    )


def judge_sfs(results: Results) -> Verdict:
    """FS2Boost beside SFS, which has the yardstick for its criterion."""
    found = pairs(results, "sfs")
    n_sets = len(found.points)
    verdict = "partly"
    if found.count(-1) <= (1 - ALMOST_ALWAYS) * n_sets:
        verdict = "reproduced"
    elif len(found.named(-1)) > (1 - ALMOST_ALWAYS) * n_sets:
        verdict = "not reproduced"
    started = variant_pairs(results, Variant(is_infinite=True).title)
    return verdict, (
        f"{describe(found)}; with the paper's Z₀ = ∞ {minus(started.mean())} points, "
        f"surely worse on {listed(started.named(-1))}"
    )


def judge_all(results: Results) -> Verdict:
    """FS2Boost beside all features, on which nothing was chosen."""
    found = pairs(results, "all")
    n_sets = len(found.points)
    is_good = n_sets - found.count(-1) > MOSTLY * n_sets
    return "reproduced" if is_good else "not reproduced", describe(found)


def describe(found: Pairs) -> str:
    """Count what the figures say, and name what McNemar's test calls sure."""
    return (
        f"better on {found.count(1)}, equal on {found.count(0)}, worse on "
        f"{found.count(-1)} of {len(found.points)} data sets; surely better on "
        f"{listed(found.named(1))}, surely worse on {listed(found.named(-1))}; on "
        f"average {minus(found.mean())} points, {minus(found.mean(OWN_MAKING))} "
        f"without `{OWN_MAKING}`"
    )


def judge_rounds(results: Results) -> Verdict:
    """The speed-up that Z' should bring."""
    sets = counted(merge(results))
    same = with_same_subset(sets, "ifs2boost")
    found = saving(sets, "ifs2boost")
    gains = found.gains
    low, high = found.mean_interval()
    held = [low > 0, len(same) >= ALMOST_ALWAYS * len(sets)]
    fewest = f"{int((found.before == 1).sum())} of {len(sets)}"
    why = (
        f"gain in the median {percents(np.median(gains))}, on average "
        f"{percents(gains.mean())} ({percents(low)} to {percents(high)}), "
        f"{percents(found.without_largest())} without the largest; {fewest} subsets "
        f"stand after one round already; the same subset on {len(same)}"
    )
    if len(same) > 1:
        ours = saving(same, "ifs2boost")
        low, high = ours.mean_interval()
        why += (
            f", gain there {percents(ours.gains.mean())} ({percents(low)} to "
            f"{percents(high)}): fewer rounds on {listed(ours.named(1))}, more on "
            f"{listed(ours.named(-1))}"
        )
    return grade(held), why


JUDGES = {
    "figures": judge_figures,
    "sfs": judge_sfs,
    "all": judge_all,
    "rounds": judge_rounds,
}
