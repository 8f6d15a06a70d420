"""Look at pairs of models daily, 1,000 times each: `make promotions`.

Fills in docs/learning.md.
"""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.documents import fill
from benchmarks.promotions.repetitions import Pair, Promotions, repeat

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "learning.md"

SEED = 5
ALPHA = 0.05
N_REPETITIONS = 1000
N_DAYS, CASES_PER_DAY = 100, 20
# Equal models that disagree on few or many cases, and challengers that are better.
EQUAL = (0.02, 0.1, 0.3)
BETTER = ((0.05, 0.01), (0.1, 0.02), (0.1, 0.03), (0.1, 0.05), (0.3, 0.05))


def list_pairs() -> Iterator[Pair]:
    """Yield each pair of models that is looked at."""
    for disagreement, gap in (*((one, 0.0) for one in EQUAL), *BETTER):
        yield Pair(disagreement, gap, N_DAYS, CASES_PER_DAY)


def row_of(pair: Pair, found: Promotions) -> tuple[object, ...]:
    """Return the row of the table for a pair."""
    shares = [
        f"{100 * one.value:.1f} ({100 * one.low:.1f}–{100 * one.high:.1f})"
        for one in (found.by_sequence, found.by_daily_t, found.by_last_t)
    ]
    day = "–" if found.median_day is None else f"{found.median_day}"
    gap = f"{100 * pair.gap:.0f}"
    return f"{100 * pair.disagreement:.0f}", gap, *shares, day


def main() -> None:
    """Measure all pairs, and write the document's table."""
    rows = []
    for place, pair in enumerate(list_pairs()):
        row = row_of(pair, repeat(pair, ALPHA, N_REPETITIONS, (SEED, place)))
        print(*row, sep=" | ", flush=True)
        rows.append(row)
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(fill(text, {"promotions": rows}), encoding="utf-8")


if __name__ == "__main__":
    main()
