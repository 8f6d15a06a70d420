"""Huang, Powers and Reyzin (2015) on boosting, as tables and verdicts."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from benchmarks.documents import Rows, listed, percent, plus_minus, signed
from benchmarks.intervals import Interval, Sides, interval, rise_at_end, sides
from benchmarks.papers.huang import BUDGETS, ROUNDS
from benchmarks.papers.results import SetResults, Sets, Verdict, grade, pick
from benchmarks.papers.sets import SETS

SHOWN = (2, 6, 12, 24, 40)
LOW, HIGH = (2, 4, 6), (34, 36, 38, 40)
NAMES = {
    "rs": "RS",
    "bt": "BT",
    "greedy": "Greedy",
    "speedboost": "SpeedBoost",
    "smoothed": "Smoothed",
    "hybrid": "hybrid",
    "rs_unit": "RS, all 1",
    "bt_unit": "BT, all 1",
}
RULES = tuple(NAMES)[:6]
COST_RULES = ("rs_unit", "rs", "bt_unit", "bt", "greedy", "smoothed")
COST_PAIRS = (
    ("rs", "rs_unit"),
    ("bt", "bt_unit"),
    ("greedy", "bt_unit"),
    ("smoothed", "bt_unit"),
)
PAIRS = (
    ("bt", "rs", BUDGETS),
    ("greedy", "bt", LOW),
    ("greedy", "bt", HIGH),
    ("smoothed", "greedy", LOW),
    ("smoothed", "greedy", HIGH),
    ("speedboost", "greedy", BUDGETS),
    ("hybrid", "smoothed", BUDGETS),
)

# The sets that the paper names for a claim, and how near counts as almost identical.
TRAPPED = ("sonar", "ionosphere")
OVERFITTED = ("breast cancer", "ecoli", "heart")
ALIKE = 0.003


def difference(
    found: SetResults, one: str, other: str, budgets: Sequence[int] = BUDGETS
) -> Interval:
    """Paired difference of error, mean over some budgets."""
    idxs = [BUDGETS.index(budget) for budget in budgets]
    pair = [found.column(key)[:, idxs].mean(axis=1) for key in (one, other)]
    return interval(pair[0] - pair[1])


def compare(
    sets: Sets, one: str, other: str, budgets: Sequence[int] = BUDGETS
) -> Sides:
    """Where one rule surely errs less than another, and where more."""
    return sides({t: difference(sets[t], one, other, budgets) for t in sets})


def write_sets(sets: Sets) -> Rows:
    for title, found in sets.items():
        one, counts = SETS[title], found.column("n_features")
        ends = dict.fromkeys(f"{int(end):,}" for end in (counts.min(), counts.max()))
        sizes = f"{one.n_train:,} / {one.n_test:,}"
        error = plus_minus(interval(found.column("adaboost")))
        features = ("–".join(ends), f"{one.n_features:,}")
        yield title, one.name, *features, sizes, one.rounds, error, one.note


def write_budgets(sets: Sets) -> Rows:
    for title, found in sets.items():
        for budget in SHOWN:
            columns = [found.column(key)[:, BUDGETS.index(budget)] for key in RULES]
            cells = [plus_minus(interval(one), 1) for one in columns]
            yield title if budget == SHOWN[0] else "", budget, *cells


def write_differences(sets: Sets) -> Rows:
    for title, found in sets.items():
        yield title, *(signed(difference(found, *pair)) for pair in PAIRS)


def write_costs(sets: Sets) -> Rows:
    for title, found in sets.items():
        means = [percent(found.column(key).mean(), 1) for key in COST_RULES]
        yield title, *means, *(signed(difference(found, *pair)) for pair in COST_PAIRS)


def write_cost_sides(sets: Sets) -> Rows:
    for one, other in COST_PAIRS:
        found = compare(sets, one, other)
        label = f"{NAMES[one]} − {NAMES[other]}"
        yield label, *map(listed, (found.less, found.more, found.open))


def judge_sampling(sets: Sets) -> Verdict:
    """BT beside RS at every budget."""
    failing, n_all = {}, len(sets) * len(BUDGETS)
    for title, found in sets.items():
        gaps = {b: difference(found, "bt", "rs", (b,)) for b in BUDGETS}
        budgets = [budget for budget, one in gaps.items() if one.high >= 0]
        if budgets:
            failing[title] = budgets
    n_sure = n_all - sum(map(len, failing.values()))
    cells = [f"{title} ({spans(one)})" for title, one in failing.items()]
    verdict = "partly" if failing else "reproduced"
    return verdict, {"n_sure": n_sure, "n_all": n_all, "failing": cells}


def spans(budgets: Sequence[int]) -> str:
    """Write budgets in steps of 2 as spans."""
    starts = [b for b in budgets if b - 2 not in budgets]
    ends = [b for b in budgets if b + 2 not in budgets]
    pairs = (dict.fromkeys(map(str, pair)) for pair in zip(starts, ends, strict=True))
    return listed(" to ".join(pair) for pair in pairs)


def judge_tendency(one: str, other: str, budgets: Sequence[int], sets: Sets) -> Verdict:
    """More sets where the first of a pair is surely better than surely worse?"""
    found = compare(sets, one, other, budgets)
    return found.tendency, vars(found)


def judge_trap(sets: Sets) -> Verdict | None:
    """Where there are thousands of features, does Greedy err more than both others?"""
    found = {
        f"{title} {{}} against {NAMES[other]}": difference(one, "greedy", other, HIGH)
        for title, one in pick(sets, TRAPPED).items()
        for other in ("bt", "smoothed")
    }
    above = sides({name: Interval(-one.mean, one.half) for name, one in found.items()})
    is_mixed = above.tendency == "reproduced" and above.open
    gaps = [name.format(signed(one, 1)) for name, one in found.items()]
    verdict = "partly" if is_mixed else above.tendency
    return (verdict, {"gaps": gaps}) if found else None


def judge_unspent(sets: Sets) -> Verdict | None:
    """Whether Greedy's rounds on sonar leave money over."""
    if "sonar" not in sets:
        return None
    n_rounds, spent = sets["sonar"].column("greedy_end").T
    share = float(((n_rounds >= ROUNDS) & (spent < 2)).mean())
    verdict = "reproduced" if share > 0.5 else "not reproduced"
    return verdict, {"share": percent(share, 0), "spent": spent.mean()}


def judge_speedboost(sets: Sets) -> Verdict:
    """Whether SpeedBoost surely lies near Greedy."""
    found = {t: difference(sets[t], "speedboost", "greedy") for t in sets}
    alike = [t for t, one in found.items() if max(-one.low, one.high) <= ALIKE]
    apart = [t for t, one in found.items() if max(one.low, -one.high) > ALIKE]
    worst = max(found, key=lambda title: abs(found[title].mean))
    largest = f"{signed(found[worst])} ({worst})"
    return "reproduced" if len(alike) == len(found) else "partly", {
        "points": 100 * ALIKE,
        "alike": alike,
        "apart": apart,
        "largest": largest,
    }


def judge_ecoli(sets: Sets) -> Verdict | None:
    """At which budget BT errs as Smoothed does at 6."""
    if "ecoli" not in sets:
        return None
    six = BUDGETS.index(6)
    bt, smoothed = (sets["ecoli"].mean(key) for key in ("bt", "smoothed"))
    needed = [b for b, one in zip(BUDGETS, bt, strict=True) if one <= smoothed[six]]
    gap = difference(sets["ecoli"], "smoothed", "bt", (6,))
    verdict = "reproduced" if needed and needed[0] in (16, 18, 20) else "partly"
    if gap.high >= 0:
        verdict = "undecided" if gap.low < 0 else "not reproduced"
    there = needed[0] if needed else f"no budget up to {BUDGETS[-1]}"
    errors = {"smoothed": percent(smoothed[six], 1), "bt": percent(bt[six], 1)}
    return verdict, {**errors, "gap": signed(gap, 1), "there": there}


def judge_sooner(sets: Sets) -> Verdict | None:
    """Is Smoothed surely as good as AdaBoost, all read, under a budget where BT isn't?

    The claim's condition counts too: that AdaBoost overfits there.
    """
    named = pick(sets, OVERFITTED)
    gaps, sooner = [], []
    for title, one in named.items():
        budget, against, lead = compare_early(one)
        if against.high <= ALIKE and lead.high < 0:
            sooner.append(title)
        words = f"{signed(against)} against AdaBoost, {signed(lead)} against BT"
        gaps.append(f"{title} at {budget} ({words})")
    overfits = find_rising(named, "bt")
    is_all = set(named) == set(sooner) & set(overfits)
    verdict = "reproduced" if is_all else "partly" if sooner else "undecided"
    figures = {"points": 100 * ALIKE, "sooner": sooner, "overfits": overfits}
    return (verdict, {**figures, "gaps": gaps}) if named else None


def compare_early(found: SetResults) -> tuple[int, Interval, Interval]:
    """Least budget where Smoothed errs as AdaBoost does, and what it says afterwards.

    Chosen on every other repetition, the largest budget if none; measured on the rest:
    Smoothed less AdaBoost with everything read, and less BT under the same budget.
    """
    smoothed, bt = found.column("smoothed"), found.column("bt")
    full = found.column("adaboost")
    is_there = smoothed[::2].mean(axis=0) <= full[::2].mean()
    idx = int(np.argmax(is_there)) if is_there.any() else -1
    against_full = interval(smoothed[1::2, idx] - full[1::2])
    return BUDGETS[idx], against_full, interval((smoothed - bt)[1::2, idx])


def find_rising(sets: Sets, rule: str) -> list[str]:
    """Where a rule surely errs more under the largest budget than under its best."""
    return sides({t: rise_at_end(sets[t].column(rule))[1] for t in sets}).more


def judge_overfitting(is_named: bool, sets: Sets) -> Verdict:
    """Whether boosting overfits on the sets that the paper names, or on others."""
    rising = {key: find_rising(sets, key) for key in ("bt", "smoothed")}
    named = pick(sets, OVERFITTED)
    hits = [title in rising["bt"] for title in named]
    if is_named:
        return grade(hits) if any(hits) else "undecided", rising
    beyond = {*rising["bt"], *rising["smoothed"]} - set(named)
    return "partly" if beyond else "reproduced", rising


TABLES = {
    "huang-sets": write_sets,
    "huang-budgets": write_budgets,
    "huang-differences": write_differences,
    "huang-costs": write_costs,
    "huang-cost-sides": write_cost_sides,
}
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
