"""Hand-written Markdown whose tables a command fills in, and what goes into them.

A region stands between `<!-- table: NAME -->` and `<!-- end -->`, and begins with the
table's heading. The prose around it never states a figure that a new measurement could
change.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.intervals import Interval

ROOT = Path(__file__).resolve().parents[1]
REGION = re.compile(
    r"<!-- table: ([\w-]+) -->\n\n(\|.*\n\|.*\n)(?:\|.*\n)*\n<!-- end -->"
)
Rows = Iterable[Sequence[object]]


class Place(NamedTuple):
    """Where figures and document are written."""

    results: Path
    document: Path


def find_regions(text: str) -> list[str]:
    """Return the names of a document's regions, in order."""
    return [match[1] for match in REGION.finditer(text)]


def fill(text: str, tables: Mapping[str, Rows]) -> str:
    """Return the document with the rows of each region, under its heading there.

    A region that there is no table of stays as it is.
    """

    def replace(match: re.Match[str]) -> str:
        name, heading = match.groups()
        if name not in tables:
            return match[0]
        lines = []
        for row in tables[name]:
            assert len(row) == heading.split("\n")[0].count("|") - 1, (name, row)
            lines.append(f"| {' | '.join(map(str, row))} |\n")
        body = f"{heading}{''.join(lines)}"
        return f"<!-- table: {name} -->\n\n{body}\n<!-- end -->"

    return REGION.sub(replace, text)


def keep_rows(document: str, name: str, rows: Rows, n_keys: int) -> None:
    """Store rows as JSON, and fill a region of a document with all that are stored.

    A row replaces the one with the same first cells; a new one goes to the end.
    """
    results = ROOT / "benchmarks" / "results" / f"{name}.json"
    stored = json.loads(results.read_text()) if results.is_file() else []
    by_key = {tuple(row[:n_keys]): row for row in (*stored, *map(list, rows))}
    lines = ",\n".join(json.dumps(row) for row in by_key.values())
    results.write_text(f"[\n{lines}\n]\n")
    path = ROOT / "docs" / f"{document}.md"
    path.write_text(fill(path.read_text(), {name: by_key.values()}))


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
