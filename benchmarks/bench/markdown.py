"""Paragraphs, tables and figures as they stand in docs/performance.md."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

WIDTH = 90


def prose(text: str) -> str:
    """One paragraph, wrapped."""
    return textwrap.fill(
        " ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False
    )


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join([line(heading), "|" + "---|" * len(heading), *map(line, rows)])


def line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def number(value: float) -> str:
    """Three digits, more of a large one, and never an exponent."""
    if abs(value) >= 100 or value == 0:
        return f"{value:,.0f}"
    decimals = 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:.{decimals}f}"


def spread(taken: Mapping[str, float]) -> str:
    """Seconds: median (least–greatest)."""
    least, most = number(taken["min_s"]), number(taken["max_s"])
    return f"{number(taken['median_s'])} ({least}–{most})"
