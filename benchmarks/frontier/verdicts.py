"""What the figures say about each line of what is to be reached.

`panels` stands for `auto`, which fits the same panels; where the folds say that it pays
it lets easy cases end early.
"""

from collections.abc import Iterator

import numpy as np

from benchmarks.documents import listed, number
from benchmarks.frontier.draws import DEVELOPMENT
from benchmarks.frontier.found import Ratio, SetFound, geometric, keep
from benchmarks.frontier.parties import BAR_RULES, RULES

AFTER_ANSWERS = "answer_log_loss"
ASKING = (*RULES, *BAR_RULES.values(), "panels")
Sets = dict[str, list[SetFound]]
Verdict = tuple[str, str, list[str]]

TO_PAPER, TO_BAR, TO_FORWARD, EACH_TO_FORWARD = 0.84, 0.86, 0.92, 0.95
CALIBRATION, SMALL_S, LEAST_BETTER = 0.02, 10.0, 0.75


def judge_all(sets: Sets) -> Iterator[Verdict]:
    for judge in (
        to_paper,
        to_bar,
        to_forward,
        set_losses,
        calibration,
        log_loss,
        time,
        violations,
    ):
        yield judge(sets)


def grade(ratio: Ratio, bound: float, *others: bool) -> str:
    """Say whether a ratio is at most a bound, and surely so by its interval."""
    if ratio.n_sets == 0:
        return "not measured"
    if ratio.mean > bound or not all(others):
        return "missed, not surely" if ratio.low <= bound and all(others) else "missed"
    return "reached, surely" if ratio.high <= bound else "reached, not surely"


def to_paper(sets: Sets) -> Verdict:
    found = [one for one in sets["uniform"] if one.title not in DEVELOPMENT]
    ratio = geometric([one.ratio("panels", "paper") for one in found])
    wanted = f"uniform prices, panels ÷ best paper, other sets: ≤ {TO_PAPER}"
    return wanted, grade(ratio, TO_PAPER), [str(ratio), f"{len(found)} sets"]


def to_bar(sets: Sets) -> Verdict:
    found = [one for one in sets["uniform"] if one.title not in DEVELOPMENT]
    ratio = geometric([one.ratio("panels", "bar") for one in found])
    worse = surely_worse(found, "bar")
    wanted = f"the same ÷ bar, other sets: ≤ {TO_BAR:.2f}, surely worse on none"
    figures = [str(ratio), f"{len(found)} sets", f"worse: {listed(worse)}"]
    return wanted, grade(ratio, TO_BAR, not worse), figures


def surely_worse(found: list[SetFound], rival: str) -> list[str]:
    """Return sets on which the whole interval of the difference is above 0."""
    return [one.title for one in found if one.difference("panels", rival).low > 0]


def to_forward(sets: Sets) -> Verdict:
    found = sets["fees"]
    ratio = geometric([one.ratio("panels", "forward") for one in found])
    areas = {
        name: float(np.mean([one.curve(name, "aurocs") for one in found] or np.nan))
        for name in ("panels", "forward")
    }
    wanted = (
        f"fees, bundles, dear tests, panels ÷ forward selection: ≤ {TO_FORWARD}, "
        f"≤ {EACH_TO_FORWARD} on each"
    )
    above = [
        one.title for one in found if one.ratio("panels", "forward") > EACH_TO_FORWARD
    ]
    told = "AUROC {panels:.3f} against {forward:.3f}".format_map(areas)
    worse = surely_worse(found, "forward")
    is_whole = areas["panels"] >= areas["forward"], not above
    verdict = grade(ratio, TO_FORWARD, *is_whole)
    figures = [str(ratio), f"{len(found)} sets", told, f"above: {listed(above)}"]
    figures.append(f"surely worse: {listed(worse)}")
    return f"{wanted}, AUROC not below", verdict, figures


def set_losses(sets: Sets) -> Verdict:
    wanted = (
        f"fees, log-loss below forward selection's on {LEAST_BETTER:.0%} of the sets"
    )
    gaps = [
        float(one.curve("panels", "log_losses").mean())
        - float(one.curve("forward", "log_losses").mean())
        for one in sets["fees"]
    ]
    if not gaps:
        return wanted, "not measured", []
    n_better = sum(gap < 0 for gap in gaps)
    is_reached = n_better >= LEAST_BETTER * len(gaps)
    told = [f"{n_better} of {len(gaps)} sets", f"{np.mean(gaps):+.3f} on the mean"]
    return wanted, "reached" if is_reached else "missed", told


def calibration(sets: Sets) -> Verdict:
    """Judge the mean over draws at each budget of each set with rows enough."""
    wanted = f"calibration error at every spend, ≥ 1,000 test rows: ≤ {CALIBRATION}"
    curves = {
        f"{one.title} ({protocol})": float(one.curve("panels", "calibrations").max())
        for protocol, found in sets.items()
        for one in found
        if "calibrations" in one.lines["panels"][0]["methods"]["panels"]
    }
    if not curves:
        return wanted, "not measured", []
    above = [
        f"{name} {worst:.3f}" for name, worst in curves.items() if worst > CALIBRATION
    ]
    told = [f"worst {max(curves.values()):.3f}", f"above: {listed(above)}"]
    return wanted, "missed" if above else "reached", told


def log_loss(sets: Sets) -> Verdict:
    """Judge the mean over the answers of sessions; papers not calibrated."""
    wanted = "log-loss after each answer below every paper algorithm and the bar"
    verdicts, told = [], []
    for protocol, found in sets.items():
        whole = keep(found, ASKING, AFTER_ANSWERS)
        means = {
            name: float(
                np.mean([one.figures(name, AFTER_ANSWERS).mean() for one in whole])
            )
            for name in ASKING
            if whole
        }
        ours = means.pop("panels", None)
        if ours is not None:
            verdicts.append(ours < min(means.values()))
            told += [f"{protocol} {ours:.3f}, of the others {min(means.values()):.3f}"]
    if not told:
        return wanted, "not measured", []
    return wanted, "reached" if all(verdicts) else "missed", told


def time(sets: Sets) -> Verdict:
    found = [one for one in sets["uniform"] if one.title == "heart_cleveland"]
    wanted = f"training, 300 x 13: ≤ {SMALL_S:g} s (heart, panels alone, one core)"
    if not found:
        return wanted, "not measured", []
    seconds = float(found[0].figures("panels", "seconds").max())
    return (
        wanted,
        "reached" if seconds <= SMALL_S else "missed",
        [f"{number(seconds)} s"],
    )


def violations(sets: Sets) -> Verdict:
    n_above = sum(
        one.figures(name, "violations").sum()
        for found in sets.values()
        for one in found
        for name in (*RULES, "panels")
    )
    told = [f"{int(n_above)} sessions above their budget"]
    return "spend never above the budget", "missed" if n_above else "reached", told
