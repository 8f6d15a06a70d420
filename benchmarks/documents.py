"""Hand-written Markdown whose tables a command fills in, and what goes into them.

A region is what stands between `<!-- table: NAME -->` and `<!-- end -->`. The prose
around it never states a figure that a new measurement could change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.intervals import Interval

REGION = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
NOTHING = "Not measured."


def find_regions(text: str) -> list[str]:
    """Return the names of a document's regions, in order."""
    return [match[2] for match in REGION.finditer(text)]


def fill(text: str, tables: Mapping[str, str]) -> str:
    """Return the document with each region replaced by the table of its name."""

    def replace(match: re.Match[str]) -> str:
        return f"{match[1]}\n{tables.get(match[2]) or NOTHING}\n\n{match[3]}"

    return REGION.sub(replace, text)


def table(heading: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown; of no rows nothing."""
    lines = [heading, ["---"] * len(heading), *rows]
    texts = [f"| {' | '.join(map(str, line))} |" for line in lines]
    return "\n".join(texts) if len(texts) > 2 else ""


def percent(value: float, digits: int = 2) -> str:
    """Write a share in percent, without the sign."""
    return f"{100 * value:.{digits}f}"


def plus_minus(one: Interval, digits: int = 2) -> str:
    """Write a share and its interval in percent."""
    return f"{percent(one.mean, digits)} ± {percent(one.half, digits)}"


def minus(value: float, digits: int = 1) -> str:
    """Write with a sign; of nothing a dash."""
    if value != value:
        return "–"
    return f"{round(value, digits) + 0.0:+.{digits}f}".replace("-", "−")


def signed(one: Interval, digits: int = 2) -> str:
    """Write a difference and its interval in points."""
    return f"{minus(100 * one.mean, digits)} ± {percent(one.half, digits)}"


def listed(names: Iterable[str], nothing: str = "none") -> str:
    """Write names with commas."""
    return ", ".join(names) or nothing


def number(value: float) -> str:
    """Write three digits, more of a large number, and never an exponent."""
    if abs(value) >= 100 or value == 0:
        return f"{value:,.0f}"
    decimals = 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:.{decimals}f}"


def spread(taken: Mapping[str, float]) -> str:
    """Write seconds: median (least–greatest)."""
    least, most = number(taken["min_s"]), number(taken["max_s"])
    return f"{number(taken['median_s'])} ({least}–{most})"
