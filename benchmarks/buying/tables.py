"""The tables of docs/buying-evidence.md, from what is kept."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np

from benchmarks.buying.parties import ERROR_PRICES, PARTIES, Records
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


def ask(line: Line, error_price: float = ERROR_PRICES[0]) -> Records:
    """Return what each party came to at a price of an error."""
    records: Records = line["at"][f"{error_price:g}"]
    return records


def lose_played(records: Records, share: float) -> tuple[float, float]:
    """Return ours at a mean budget: spend by the waterfall's, and points lost."""
    rival, own = records["waterfall"], records["ours"]
    place = own["shares"].index(share)
    lost = 100 * (own["errors"][place] - rival["error"])
    return own["spends"][place] / rival["spend"], lost


def lose_at(records: Records, share: float) -> float:
    """Return the points lost at a share of the waterfall's spend, interpolated."""
    rival, own = records["waterfall"], records["ours"]
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
        records = [ask(line) for line in group]
        for line, one in zip(group, records, strict=True):
            yield n_train, line["seed"], *write_parties([one])
        if len(group) > 1:
            yield n_train, "**mean**", *write_parties(records)


def write_parties(group: Sequence[Records]) -> Iterator[str]:
    """Yield mean spend and error of each party, and of ours at mean budgets."""
    for name in PARTIES:
        spend, error = average(group, name)
        yield f"{spend:.3f} / {percent(error, 1)}"
    for share in COMPARED:
        spend, error = (
            np.mean(
                [of["ours"][key][of["ours"]["shares"].index(share)] for of in group]
            )
            for key in ("spends", "errors")
        )
        yield f"{spend:.3f} / {percent(error, 1)}"


def average(group: Sequence[Records], name: str) -> tuple[float, float]:
    """Return mean spend and error of a party."""
    pairs = [(records[name]["spend"], records[name]["error"]) for records in group]
    spend, error = np.mean(pairs, axis=0)
    return float(spend), float(error)


def write_sums(lines: Lines) -> Rows:
    """Mean spend, error and their sum at each price of an error, of each party."""
    for n_train, group in by_size(lines):
        for error_price in sorted(ERROR_PRICES):
            records = [ask(line, error_price) for line in group]
            means = {name: average(records, name) for name in TITLES}
            sums = {name: of[0] + error_price * of[1] for name, of in means.items()}
            for name, title in TITLES.items():
                spend, error = means[name]
                cells = f"{spend:.3f}", percent(error, 1), f"{sums[name]:.3f}"
                ratio = f"{sums[name] / sums['waterfall']:.3f}"
                yield n_train, f"{error_price:g}", title, *cells, ratio


def write_differences(lines: Lines) -> Rows:
    """Points that ours loses to the waterfall, by seed."""
    for n_train, group in by_size(lines):
        records = [ask(line) for line in group]
        for line, one in zip(group, records, strict=True):
            cells: list[str] = []
            for share in COMPARED:
                spent, lost = lose_played(one, share)
                cells += [percent(spent, 0), minus(lost), minus(lose_at(one, share))]
            yield n_train, line["seed"], *cells
        if len(group) > 1:
            yield n_train, "**mean**", *write_mean_differences(records)


def write_mean_differences(group: Sequence[Records]) -> Iterator[str]:
    for share in COMPARED:
        spent, lost = np.array([lose_played(records, share) for records in group]).T
        at = np.array([lose_at(records, share) for records in group])
        yield percent(spent.mean(), 0)
        yield from (signed(interval(of / 100), 1) for of in (lost, at))


def write_bars(lines: Lines) -> Rows:
    """Whether goals were reached; at most so many points lost."""
    for n_train, group in by_size(lines):
        for error_price in sorted(ERROR_PRICES):
            records = [ask(line, error_price) for line in group]
            for share in COMPARED:
                cells = write_bar(records, share)
                yield n_train, f"{error_price:g}", percent(share, 0), *cells


def write_bar(group: Sequence[Records], share: float) -> Iterator[str]:
    lost = np.array([lose_at(records, share) for records in group])
    whole = np.array([lose_at(records, 1.0) for records in group])
    few = (lost <= MOST_LOST_OF_MOST).sum()
    is_kept = lost.mean() <= MOST_LOST
    if share == COMPARED[0]:
        is_kept &= few >= MOST_SEEDS * len(lost)
    yield from (minus(whole.mean()), minus(lost.mean()), f"{few} of {len(lost)}")
    yield from (minus(lost.max()), "yes" if is_kept else "no")


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
    """Return what came of a seed, in a line for each price of an error."""
    texts = []
    for error_price in sorted(ERROR_PRICES):
        records = ask(line, error_price)
        cells = [
            f"{name} {one['spend']:.3f}/{percent(one['error'], 1)}"
            for name, one in records.items()
        ]
        for share in (*COMPARED, 1.0):
            spent, lost = lose_played(records, share)
            at = minus(lose_at(records, share))
            cells.append(f"{share:g}: {minus(lost)} at {spent:.2f}, {at} exactly")
        texts.append(f"error at {error_price:g}: {'; '.join(cells)}")
    return f"{line['n_train']} cases, seed {line['seed']}\n" + "\n".join(texts)
