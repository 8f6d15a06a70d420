"""The tables of docs/buying-evidence.md, from what is kept."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np

from benchmarks.buying.parties import ERROR_PRICE, PARTIES
from benchmarks.buying.tiers import MARKET
from benchmarks.buying.walks import at_spend
from benchmarks.documents import Rows, minus, percent, signed
from benchmarks.intervals import interval
from benchmarks.lines import Line, Lines

# Shares of the waterfall's spend that ours is compared at, and the most points of error
# that it may lose there on the mean.
COMPARED = (0.6, 0.8)
MOST_LOST, MOST_LOST_OF_MOST, MOST_SEEDS = 1.0, 2.0, 0.9
TITLES = {
    "waterfall": "tuned waterfall",
    "cheapest": "cheapest first",
    "one_step": "one step",
    "everything": "everything",
    "ours": "ours, at the price of an error",
}


def by_size(lines: Lines) -> Iterator[tuple[int, list[Line]]]:
    """Yield numbers of training cases and their lines."""
    ordered = [lines[key] for key in sorted(lines)]
    for n_train, group in groupby(ordered, lambda line: int(line["n_train"])):
        yield n_train, list(group)


def lose_played(line: Line, share: float) -> tuple[float, float]:
    """Return ours at a mean budget: spend by the waterfall's, and points lost."""
    rival, own = line["waterfall"], line["ours"]
    place = own["shares"].index(share)
    lost = 100 * (own["errors"][place] - rival["error"])
    return own["spends"][place] / rival["spend"], lost


def lose_at(line: Line, share: float) -> float:
    """Return the points lost at a share of the waterfall's spend, interpolated."""
    rival, own = line["waterfall"], line["ours"]
    error = at_spend(own["spends"], own["errors"], share * rival["spend"])
    return 100 * (error - rival["error"])


def write_vendors(_: Lines) -> Rows:
    """What the vendors of the market sell."""
    for number, vendor in enumerate(MARKET.vendors):
        median, _ = vendor.seconds
        names = ", ".join(vendor.types)
        yield (
            number,
            f"{vendor.price:g}",
            f"{vendor.coverage:.2f}",
            f"{median:g}",
            names,
        )


def write_runs(lines: Lines) -> Rows:
    """What was measured, of which commit of core/."""
    for n_train, group in by_size(lines):
        seeds = ", ".join(str(line["seed"]) for line in group)
        cores = ", ".join(sorted({line["core"] for line in group}))
        minutes = [
            sum(line["seconds"][name] for line in group) / 60 / len(group)
            for name in PARTIES
        ]
        yield n_train, seeds, cores, *(f"{minute:.1f}" for minute in minutes)


def write_seeds(lines: Lines) -> Rows:
    """Spend and error of each, by seed."""
    for n_train, group in by_size(lines):
        for line in group:
            yield n_train, line["seed"], *write_parties([line])
        if len(group) > 1:
            yield n_train, "**mean**", *write_parties(group)


def write_parties(group: Sequence[Line]) -> Iterator[str]:
    """Yield mean spend and error of each party, and of ours at mean budgets."""
    for name in PARTIES:
        spend, error = (
            np.mean([line[name][figure] for line in group])
            for figure in ("spend", "error")
        )
        yield f"{spend:.3f} / {percent(error, 1)}"
    for share in COMPARED:
        spend, error = (
            np.mean([of[key][of["shares"].index(share)] for of in owns(group)])
            for key in ("spends", "errors")
        )
        yield f"{spend:.3f} / {percent(error, 1)}"


def owns(group: Sequence[Line]) -> list[Line]:
    return [line["ours"] for line in group]


def write_sums(lines: Lines) -> Rows:
    """Mean spend, error and their sum at the price of an error, of each party."""
    for n_train, group in by_size(lines):
        whole = np.array([sum_of(line["waterfall"]) for line in group])
        for name, title in TITLES.items():
            sums = np.array([sum_of(line[name]) for line in group])
            spend, error = (
                np.mean([line[name][figure] for line in group])
                for figure in ("spend", "error")
            )
            ratio = f"{sums.mean() / whole.mean():.3f}"
            cells = f"{spend:.3f}", percent(error, 1), f"{sums.mean():.3f}", ratio
            yield n_train, title, *cells


def sum_of(party: Line) -> float:
    return float(party["spend"] + ERROR_PRICE * party["error"])


def write_differences(lines: Lines) -> Rows:
    """Points that ours loses to the waterfall, by seed."""
    for n_train, group in by_size(lines):
        for line in group:
            cells: list[str] = []
            for share in COMPARED:
                spent, lost = lose_played(line, share)
                cells += [percent(spent, 0), minus(lost), minus(lose_at(line, share))]
            yield n_train, line["seed"], *cells
        if len(group) > 1:
            yield n_train, "**mean**", *write_mean_differences(group)


def write_mean_differences(group: Sequence[Line]) -> Iterator[str]:
    for share in COMPARED:
        spent, lost = np.array([lose_played(line, share) for line in group]).T
        at = np.array([lose_at(line, share) for line in group])
        yield percent(spent.mean(), 0)
        yield from (signed(interval(of / 100), 1) for of in (lost, at))


def write_bars(lines: Lines) -> Rows:
    """Whether goals were reached; at most so many points lost."""
    for n_train, group in by_size(lines):
        for share in COMPARED:
            lost = np.array([lose_at(line, share) for line in group])
            few = (lost <= MOST_LOST_OF_MOST).sum()
            is_kept = lost.mean() <= MOST_LOST
            if share == COMPARED[0]:
                is_kept &= few >= MOST_SEEDS * len(lost)
            yield (
                *(n_train, percent(share, 0), len(lost), minus(lost.mean())),
                *(f"{few} of {len(lost)}", minus(lost.max())),
                "yes" if is_kept else "no",
            )


TABLES: dict[str, Callable[[Lines], Rows]] = {
    "vendors": write_vendors,
    "bars": write_bars,
    "differences": write_differences,
    "seeds": write_seeds,
    "sums": write_sums,
    "runs": write_runs,
}


def write_all(lines: Lines) -> dict[str, Rows]:
    """Return the rows of every region."""
    return {name: list(write(lines)) for name, write in TABLES.items()}


def summarise(line: Line) -> str:
    """Return what came of a seed, in a line."""
    cells = [
        f"{name} {line[name]['spend']:.3f}/{percent(line[name]['error'], 1)}"
        for name in PARTIES
    ]
    for share in COMPARED:
        spent, lost = lose_played(line, share)
        at = lose_at(line, share)
        cells.append(f"{share:g}: {minus(lost)} at {spent:.2f}, {minus(at)} exactly")
    return f"{line['n_train']} cases, seed {line['seed']}: {'; '.join(cells)}"
