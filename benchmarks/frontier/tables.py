"""The tables of docs/frontier.md, from what is kept."""

from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np

from benchmarks.documents import Rows, minus, percent, signed
from benchmarks.frontier.draws import BUDGETS, DEVELOPMENT, SHARES
from benchmarks.frontier.found import SetFound, gather, geometric
from benchmarks.frontier.parties import BAR_RULES, RULES
from benchmarks.lines import Lines

AFTER_ANSWERS = "answer_log_loss"
ASKING = (*RULES, *BAR_RULES.values(), "panels")
Sets = dict[str, list[SetFound]]
MEANS = ("bar", "forward", "cegb", "random", "logistic", "panels")
SHOWN = ("paper", "bar", "forward", "panels")
BUDGET_NAMES = {"uniform": BUDGETS, "fees": SHARES}
CALIBRATED_AT = {"uniform": (2, 4, 8, 14, 24), "fees": (SHARES[0], SHARES[-1])}


def write_runs(lines: Lines) -> Rows:
    """What was played of which commit of core/."""

    def key(line: dict[str, object]) -> tuple[str, ...]:
        return tuple(str(line[name]) for name in ("protocol", "party", "core"))

    for (protocol, party, core), group in groupby(sorted(lines.values(), key=key), key):
        played = list(group)
        draws: dict[str, int] = {}
        for line in played:
            draws[line["set"]] = draws.get(line["set"], 0) + 1
        ends = dict.fromkeys((min(draws.values()), max(draws.values())))
        minutes = sum(line["seconds"] for line in played) / 60
        told = " to ".join(map(str, ends))
        yield protocol, party, core, len(draws), told, f"{minutes:.1f}"


def write_uniform(sets: Sets) -> Rows:
    return write_sets(sets["uniform"], "bar")


def write_fees(sets: Sets) -> Rows:
    return write_sets(sets["fees"], "forward")


def write_sets(found: Sequence[SetFound], rival: str) -> Rows:
    """Mean error over the budgets, in percent, of each set."""
    for one in sorted(found, key=lambda one: (one.title not in DEVELOPMENT, one.title)):
        difference = one.difference("panels", rival)
        yield (
            f"**{one.title}**" if one.title in DEVELOPMENT else one.title,
            one.n_draws,
            f"{percent(one.mean('paper'))} ({one.paper.removeprefix('adaboost_')})",
            f"{percent(one.mean('bar'))} ({one.bar.removeprefix('bar_')})",
            *(percent(one.mean(name)) for name in ("forward", "logistic", "panels")),
            f"{one.ratio('panels', 'paper'):.3f}",
            f"{one.ratio('panels', rival):.3f}",
            signed(difference) if one.n_draws > 1 else minus(100 * difference.mean, 2),
        )


def write_means(sets: Sets) -> Rows:
    """Geometric means of ratios to the best paper algorithm, and to two rivals."""
    groups: dict[str, Callable[[str], bool]] = {
        "development": lambda title: title in DEVELOPMENT,
        "others": lambda title: title not in DEVELOPMENT,
        "all": lambda _: True,
    }
    for protocol, found in sets.items():
        for name, belongs in groups.items():
            of_group = [one for one in found if belongs(one.title)]
            to_paper = [
                geometric([set_found.ratio(method, "paper") for set_found in of_group])
                for method in MEANS
            ]
            to_rivals = [
                geometric([set_found.ratio("panels", rival) for set_found in of_group])
                for rival in ("bar", "forward")
            ]
            told = [f"{one.mean:.3f}" for one in to_paper[:-1]]
            yield (
                *(protocol, name, len(of_group)),
                *(*told, to_paper[-1], *to_rivals),
            )


def write_budgets(sets: Sets) -> Rows:
    """Ratios of errors, log-loss and area by budget, averaged over the sets."""
    for protocol, found in sets.items():
        for place, budget in enumerate(BUDGET_NAMES[protocol] if found else ()):
            means = {
                (name, figure): np.mean(
                    [one.curve(name, figure)[place] for one in found]
                )
                for name in SHOWN
                for figure in ("errors", "log_losses", "aurocs")
            }
            yield (
                *(protocol, budget),
                *(percent(means[name, "errors"], 1) for name in SHOWN),
                *(f"{means[name, 'log_losses']:.3f}" for name in SHOWN),
                *(f"{means[name, 'aurocs']:.3f}" for name in SHOWN[1:]),
            )


def write_calibration(sets: Sets) -> Rows:
    """Calibration error by budget where there are rows enough to see it."""
    for protocol, found in sets.items():
        many = [one for one in found if "calibrations" in first_of(one)]
        shown = CALIBRATED_AT[protocol] if many else ()
        for budget in shown:
            place = BUDGET_NAMES[protocol].index(budget)
            rows = {
                name: [one.curve(name, "calibrations")[place] for one in many]
                for name in SHOWN
            }
            means = [f"{np.mean(rows[name]):.3f}" for name in SHOWN]
            yield protocol, budget, len(many), *means, f"{max(rows['panels']):.3f}"


def first_of(one: SetFound) -> dict[str, object]:
    methods: dict[str, object] = one.lines["panels"][0]["methods"]["panels"]
    return methods


def write_answers(sets: Sets) -> Rows:
    """Log-loss after each answer, the mean over the answers of a session."""
    for protocol, found in sets.items():
        for name in ASKING if found else ():
            losses = [one.figures(name, AFTER_ANSWERS).mean() for one in found]
            counts = [one.figures(name, "n_answers").mean() for one in found]
            ends = [one.figures(name, "log_losses")[:, -1].mean() for one in found]
            means = (f"{np.mean(one):.3f}" for one in (losses, ends))
            yield protocol, name, len(found), f"{np.mean(counts):.1f}", *means


TABLES: dict[str, Callable[[Sets], Rows]] = {
    "means": write_means,
    "uniform": write_uniform,
    "fees": write_fees,
    "budgets": write_budgets,
    "answers": write_answers,
    "calibration": write_calibration,
}


def write_all(lines: Lines) -> dict[str, Rows]:
    """Return the rows of every region."""
    sets = gather(lines)
    tables = {name: list(write(sets)) for name, write in TABLES.items()}
    return {"runs": list(write_runs(lines)), **tables}
