"""What became of the claims of Huang, Powers and Reyzin (2015) on boosting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.documents import listed, percent, signed
from benchmarks.intervals import Interval, interval, rise_at_end, sides
from benchmarks.papers.huang import BUDGETS, ROUNDS
from benchmarks.papers.huang_tables import (
    HIGH,
    LOW,
    NAMES,
    compare,
    difference,
    titles,
)
from benchmarks.papers.results import Verdict, column, mean, measured
from benchmarks.papers.runs import Results

# Claim, verdict, and what was measured.
Judged = tuple[str, str, str]

# The sets that the paper names for a claim, and how near counts as almost identical.
TRAPPED = ("sonar", "ionosphere")
OVERFITTED = ("breast cancer", "ecoli", "heart")
ALIKE = 0.003
AT_LOW = f"{LOW[0]} to {LOW[-1]}"
AT_HIGH = f"{HIGH[0]} to {HIGH[-1]}"


def judge(results: Results) -> list[Verdict]:
    """One per claim of the paper."""
    found = [
        judge_sampling(results),
        judge_tendency(
            results,
            f"Greedy often better than BT at small budgets ({AT_LOW})",
            ("greedy", "bt", LOW),
        ),
        judge_trap(results),
        judge_unspent(results),
        judge_tendency(
            results,
            f"Smoothed tends to be worse than Greedy at small budgets ({AT_LOW})",
            ("greedy", "smoothed", LOW),
        ),
        judge_tendency(
            results,
            f"Smoothed tends to be better than Greedy at large budgets ({AT_HIGH})",
            ("smoothed", "greedy", HIGH),
        ),
        judge_speedboost(results),
        judge_ecoli(results),
        judge_early(results),
        *judge_overfitting(results),
    ]
    return [Verdict("001", *one) for one in found if one]


def judge_sampling(results: Results) -> Judged:
    failing, n_all = {}, len(titles(results)) * len(BUDGETS)
    for title in titles(results):
        found = [difference(results, title, "bt", "rs", (one,)) for one in BUDGETS]
        budgets = [b for b, one in zip(BUDGETS, found, strict=True) if one.high >= 0]
        if budgets:
            failing[title] = budgets
    n_sure = n_all - sum(map(len, failing.values()))
    cells = [f"{title} ({spans(one)})" for title, one in failing.items()]
    return (
        "BT clearly better than RS at every budget",
        "partly" if failing else "reproduced",
        f"surely better in {n_sure} of {n_all} pairs of set and budget; undecided or "
        f"worse: {listed(cells)}",
    )


def spans(budgets: Sequence[int]) -> str:
    """Write budgets in steps of 2 as spans."""
    starts = [b for b in budgets if b - 2 not in budgets]
    ends = [b for b in budgets if b + 2 not in budgets]
    pairs = (dict.fromkeys(map(str, pair)) for pair in zip(starts, ends, strict=True))
    return listed(" to ".join(pair) for pair in pairs)


def judge_tendency(
    results: Results, claim: str, pair: tuple[str, str, Sequence[int]]
) -> Judged:
    """More sets where the first of a pair is surely better than surely worse?"""
    found = compare(results, *pair)
    name, other = (NAMES[one] for one in pair[:2])
    text = (
        f"{name} surely better than {other} on {listed(found.less)}; surely worse on "
        f"{listed(found.more)}; undecided on {listed(found.open)}"
    )
    return claim, found.tendency, text


def judge_trap(results: Results) -> Judged | None:
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
    claim = "Greedy is trapped by cheap features where there are thousands of them"
    text = f"points of error at budgets {AT_HIGH}: {listed(words)}"
    return (claim, "partly" if is_mixed else above.tendency, text) if found else None


def judge_unspent(results: Results) -> Judged | None:
    if "sonar" not in titles(results):
        return None
    n_rounds, spent = column(results, "sonar", "greedy_end").T
    share = float(((n_rounds >= ROUNDS) & (spent < 2)).mean())
    return (
        f"sonar: even {ROUNDS} rounds of Greedy don't spend a budget of 2",
        "reproduced" if share > 0.5 else "not reproduced",
        f"in {percent(share, 0)} % of the repetitions; mean spend {spent.mean():.2f}",
    )


def judge_speedboost(results: Results) -> Judged:
    found = {
        title: difference(results, title, "speedboost", "greedy")
        for title in titles(results)
    }
    alike = [t for t, one in found.items() if max(-one.low, one.high) <= ALIKE]
    apart = [t for t, one in found.items() if max(one.low, -one.high) > ALIKE]
    worst = max(found, key=lambda title: abs(found[title].mean))
    return (
        "SpeedBoost almost identical to Greedy",
        "reproduced" if len(alike) == len(found) else "partly",
        f"mean difference surely within {100 * ALIKE:.1f} points on {listed(alike)}; "
        f"surely beyond on {listed(apart)}; largest {signed(found[worst])} ({worst})",
    )


def judge_ecoli(results: Results) -> Judged | None:
    if "ecoli" not in titles(results):
        return None
    bt, smoothed = (mean(results, "ecoli", key) for key in ("bt", "smoothed"))
    six = BUDGETS.index(6)
    is_there = bt <= smoothed[six]
    needed = BUDGETS[int(np.argmax(is_there))] if is_there.any() else None
    found = difference(results, "ecoli", "smoothed", "bt", (6,))
    verdict = "reproduced" if needed in (16, 18, 20) else "partly"
    if found.high >= 0:
        verdict = "undecided" if found.low < 0 else "not reproduced"
    return (
        "ecoli: AdaBoost needs budget 18 for what Smoothed reaches with 6",
        verdict,
        f"at 6 Smoothed {percent(smoothed[six], 1)} %, BT {percent(bt[six], 1)} % "
        f"({signed(found, 1)} points); BT there at "
        f"{needed or f'no budget up to {BUDGETS[-1]}'}",
    )


def judge_early(results: Results) -> Judged | None:
    """Is Smoothed surely as good as AdaBoost, all read, under a budget where BT isn't?

    The claim's condition counts too: that AdaBoost overfits there.
    """
    named = measured(results, OVERFITTED)
    cells, early = [], []
    for title in named:
        budget, found, lead = compare_early(results, title)
        if found.high <= ALIKE and lead.high < 0:
            early.append(title)
        cells.append(
            f"{title} at {budget} ({signed(found)} against AdaBoost, {signed(lead)} "
            "against BT)"
        )
    overfits = [title for title in find_rising(results, "bt") if title in named]
    is_all = set(named) == set(early) & set(overfits)
    verdict = "reproduced" if is_all else "partly" if early else "undecided"
    text = (
        f"at most {100 * ALIKE:.1f} points worse than AdaBoost, all read, and better "
        f"than BT at that budget, surely on {listed(early)}; AdaBoost (BT) surely "
        f"overfits on {listed(overfits)}; points: {listed(cells)}"
    )
    claim = "Where AdaBoost overfits, Smoothed does as well at much lower budgets"
    return (claim, verdict, text) if named else None


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
    found = {
        title: rise_at_end(column(results, title, rule))[1] for title in titles(results)
    }
    return sides(found).more


def judge_overfitting(results: Results) -> list[Judged]:
    rising = {key: find_rising(results, key) for key in ("bt", "smoothed")}
    named = measured(results, OVERFITTED)
    hits = [title for title in named if title in rising["bt"]]
    beyond = {*rising["bt"], *rising["smoothed"]} - set(named)
    verdict = "reproduced" if len(hits) == len(named) else "partly"
    text = f"surely worse at {BUDGETS[-1]} than at its best budget: " + "; ".join(
        f"{NAMES[key]} on {listed(names)}" for key, names in rising.items()
    )
    return [
        (
            f"AdaBoost overfits with larger budgets on {listed(OVERFITTED)}",
            verdict if hits else "undecided",
            text,
        ),
        (
            "Elsewhere boosting doesn't overfit as the budget grows",
            "partly" if beyond else "reproduced",
            text,
        ),
    ]
