"""Look weekly at years of cases, stable ones and others: `make alarms`.

Fills in docs/learning.md.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from askless.core.model.figures import wilson_interval
from benchmarks.alarms.years import Looked, Year, look_weekly
from benchmarks.documents import fill

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "learning.md"

SEED = 6
N_YEARS = 300
STABLE = (Year(300, 10, 10), Year(1000, 20, 40), Year(1000, 60, 40))
HALF = 26
CHANGED = (
    Year(1000, 20, 40, shift=0.5, changes_in=HALF),
    Year(1000, 20, 40, shift=1.0, changes_in=HALF),
    Year(1000, 20, 40, more_errors=0.1, changes_in=HALF),
    Year(1000, 20, 40, more_errors=0.2, changes_in=HALF),
)


def repeat(year: Year, n_years: int, seed: int) -> list[Looked]:
    """Look at a year's cases drawn anew, again and again."""
    random = np.random.default_rng([SEED, seed])
    return [look_weekly(year, random) for _ in range(n_years)]


def name_of(year: Year) -> str:
    """Return what is changed in a year's second half."""
    if year.shift:
        return f"one mean moves by {year.shift:g} deviations"
    if year.more_errors:
        return f"{100 * year.more_errors:.0f} % of cases go wrong"
    return "nothing"


def row_of(year: Year, found: list[Looked]) -> tuple[object, ...]:
    """Return the row of the table for a year."""
    n_years, n_looks = len(found), sum(one.n_looks for one in found)
    before = [one for one in found if one.first is not None]
    share = len(before) / n_years
    low, high = wilson_interval(share, n_years)
    looks = f"{100 * sum(one.n_alarms for one in found) / n_looks:.2f}"
    weeks = "–"
    if year.changes_in and len(before) * 2 > n_years:
        later = [np.inf if one.first is None else one.first for one in found]
        weeks = f"{int(np.median(later)) + 1 - year.changes_in}"
    told = f"{100 * share:.1f} ({100 * low:.1f}–{100 * high:.1f})"
    sizes = year.n_trained, year.n_features, year.cases_per_week
    return name_of(year), *sizes, looks, told, weeks


def list_rows(n_years: int) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the table."""
    for place, year in enumerate((*STABLE, *CHANGED)):
        n_drawn = n_years if not year.changes_in else n_years // 5
        row = row_of(year, repeat(year, n_drawn, place))
        print(*row, sep=" | ", flush=True)
        yield row


def main(n_years: int = N_YEARS) -> None:
    """Measure all years, and write the document's table."""
    rows = list(list_rows(n_years))
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(fill(text, {"alarms": rows}), encoding="utf-8")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
