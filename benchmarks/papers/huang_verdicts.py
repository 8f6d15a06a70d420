"""What became of the claims of Huang, Powers and Reyzin (2015) on boosting."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from benchmarks.documents import listed, percent, signed
from benchmarks.intervals import Interval, interval, rise_at_end, sides
from benchmarks.papers.huang import BUDGETS, ROUNDS
from benchmarks.papers.huang_tables import HIGH, LOW, NAMES, compare, difference, titles
from benchmarks.papers.results import Verdict, column, grade, mean, measured
from benchmarks.papers.runs import Results

# The sets that the paper names for a claim, and how near counts as almost identical.
TRAPPED = ("sonar", "ionosphere")
OVERFITTED = ("breast cancer", "ecoli", "heart")
ALIKE = 0.003


def judge_sampling(results: Results) -> Verdict:
    """BT beside RS at every budget."""
    failing, n_all = {}, len(titles(results)) * len(BUDGETS)
    for title in titles(results):
        found = {b: difference(results, title, "bt", "rs", (b,)) for b in BUDGETS}
        budgets = [budget for budget, one in found.items() if one.high >= 0]
        if budgets:
            failing[title] = budgets
    n_sure = n_all - sum(map(len, failing.values()))
    cells = [f"{title} ({spans(one)})" for title, one in failing.items()]
    return "partly" if failing else "reproduced", (
        f"surely better in {n_sure} of {n_all} pairs of set and budget; undecided or "
        f"worse: {listed(cells)}"
    )


def spans(budgets: Sequence[int]) -> str:
    """Write budgets in steps of 2 as spans."""
    starts = [b for b in budgets if b - 2 not in budgets]
    ends = [b for b in budgets if b + 2 not in budgets]
    pairs = (dict.fromkeys(map(str, pair)) for pair in zip(starts, ends, strict=True))
    return listed(" to ".join(pair) for pair in pairs)


def judge_tendency(
    name: str, other: str, budgets: Sequence[int], results: Results
) -> Verdict:
    """More sets where the first of a pair is surely better than surely worse?"""
    found = compare(results, name, other, budgets)
    return found.tendency, (
        f"{NAMES[name]} surely better than {NAMES[other]} on {listed(found.less)}; "
        f"surely worse on {listed(found.more)}; undecided on {listed(found.open)}"
    )


def judge_trap(results: Results) -> Verdict | None:
    """Where there are thousands of features, does Greedy err more than both others?"""
    found = {
        f"{title} {{}} against {NAMES[other]}": difference(
            results, title, "greedy", other, HIGH
        )
        for title in measured(results, TRAPPED)
        for other in ("bt", "smoothed")
    }
    above = sides({name: Interval(-one.mean, one.half) for name, one in found.items()})
    is_mixed = above.tendency == "reproduced" and above.open
    words = [name.format(signed(one, 1)) for name, one in found.items()]
    text = f"points of error at budgets {HIGH[0]} to {HIGH[-1]}: {listed(words)}"
    return ("partly" if is_mixed else above.tendency, text) if found else None


def judge_unspent(results: Results) -> Verdict | None:
    """Whether Greedy's rounds on sonar leave money over."""
    if "sonar" not in titles(results):
        return None
    n_rounds, spent = column(results, "sonar", "greedy_end").T
    share = float(((n_rounds >= ROUNDS) & (spent < 2)).mean())
    return "reproduced" if share > 0.5 else "not reproduced", (
        f"in {percent(share, 0)} % of the repetitions; mean spend {spent.mean():.2f}"
    )


def judge_speedboost(results: Results) -> Verdict:
    """Whether SpeedBoost surely lies near Greedy."""
    found = {
        title: difference(results, title, "speedboost", "greedy")
        for title in titles(results)
    }
    alike = [t for t, one in found.items() if max(-one.low, one.high) <= ALIKE]
    apart = [t for t, one in found.items() if max(one.low, -one.high) > ALIKE]
    worst = max(found, key=lambda title: abs(found[title].mean))
    return "reproduced" if len(alike) == len(found) else "partly", (
        f"mean difference surely within {100 * ALIKE:.1f} points on {listed(alike)}; "
        f"surely beyond on {listed(apart)}; largest {signed(found[worst])} ({worst})"
    )


def judge_ecoli(results: Results) -> Verdict | None:
    """At which budget BT errs as Smoothed does at 6."""
    if "ecoli" not in titles(results):
        return None
    six = BUDGETS.index(6)
    bt, smoothed = (mean(results, "ecoli", key) for key in ("bt", "smoothed"))
    needed = [b for b, one in zip(BUDGETS, bt, strict=True) if one <= smoothed[six]]
    found = difference(results, "ecoli", "smoothed", "bt", (6,))
    verdict = "reproduced" if needed and needed[0] in (16, 18, 20) else "partly"
    if found.high >= 0:
        verdict = "undecided" if found.low < 0 else "not reproduced"
    there = needed[0] if needed else f"no budget up to {BUDGETS[-1]}"
    return verdict, (
        f"at 6 Smoothed {percent(smoothed[six], 1)} %, BT {percent(bt[six], 1)} % "
        f"({signed(found, 1)} points); BT there at {there}"
    )


def judge_sooner(results: Results) -> Verdict | None:
    """Is Smoothed surely as good as AdaBoost, all read, under a budget where BT isn't?

    The claim's condition counts too: that AdaBoost overfits there.
    """
    named = measured(results, OVERFITTED)
    cells, sooner = [], []
    for title in named:
        budget, found, lead = compare_early(results, title)
        if found.high <= ALIKE and lead.high < 0:
            sooner.append(title)
        words = f"{signed(found)} against AdaBoost, {signed(lead)} against BT"
        cells.append(f"{title} at {budget} ({words})")
    overfits = [title for title in find_rising(results, "bt") if title in named]
    is_all = set(named) == set(sooner) & set(overfits)
    text = (
        f"at most {100 * ALIKE:.1f} points worse than AdaBoost, all read, and better "
        f"than BT at that budget, surely on {listed(sooner)}; AdaBoost (BT) surely "
        f"overfits on {listed(overfits)}; points: {listed(cells)}"
    )
    verdict = "reproduced" if is_all else "partly" if sooner else "undecided"
    return (verdict, text) if named else None


def compare_early(results: Results, title: str) -> tuple[int, Interval, Interval]:
    """Least budget where Smoothed errs as AdaBoost does, and what it says afterwards.

    Chosen on every other repetition, the largest budget if none; measured on the rest:
    Smoothed less AdaBoost with everything read, and less BT under the same budget.
    """
    smoothed, bt = (column(results, title, key) for key in ("smoothed", "bt"))
    full = column(results, title, "adaboost")
    is_there = smoothed[::2].mean(axis=0) <= full[::2].mean()
    idx = int(np.argmax(is_there)) if is_there.any() else -1
    against_full = interval(smoothed[1::2, idx] - full[1::2])
    return BUDGETS[idx], against_full, interval((smoothed - bt)[1::2, idx])


def find_rising(results: Results, rule: str) -> list[str]:
    """Where a rule surely errs more under the largest budget than under its best."""
    names = titles(results)
    return sides({t: rise_at_end(column(results, t, rule))[1] for t in names}).more


def judge_overfitting(is_named: bool, results: Results) -> Verdict:
    """Whether boosting overfits on the sets that the paper names, or on others."""
    rising = {key: find_rising(results, key) for key in ("bt", "smoothed")}
    named = measured(results, OVERFITTED)
    text = f"surely worse at {BUDGETS[-1]} than at its best budget: " + "; ".join(
        f"{NAMES[key]} on {listed(names)}" for key, names in rising.items()
    )
    hits = [title in rising["bt"] for title in named]
    if is_named:
        return grade(hits) if any(hits) else "undecided", text
    beyond = {*rising["bt"], *rising["smoothed"]} - set(named)
    return "partly" if beyond else "reproduced", text


JUDGES = {
    "sampling": judge_sampling,
    "early greedy": partial(judge_tendency, "greedy", "bt", LOW),
    "trap": judge_trap,
    "unspent": judge_unspent,
    "early smoothed": partial(judge_tendency, "greedy", "smoothed", LOW),
    "late smoothed": partial(judge_tendency, "smoothed", "greedy", HIGH),
    "speedboost": judge_speedboost,
    "ecoli": judge_ecoli,
    "sooner": judge_sooner,
    "overfitting": partial(judge_overfitting, True),
    "elsewhere": partial(judge_overfitting, False),
}
