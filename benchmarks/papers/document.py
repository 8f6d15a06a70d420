"""Pieces of the document: tables, figures in percent, verdicts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import FOLDER, MissingDataError
from benchmarks.papers.intervals import Interval
from benchmarks.papers.runs import Record, Results
from core.arrays import FloatArray


@dataclass(frozen=True)
class Verdict:
    """What became of a paper's claim; `paper` is its number among the seeds."""

    paper: str
    claim: str
    verdict: str
    why: str


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Set a table in markdown."""
    lines = [" | ".join(heading), " | ".join("---" for _ in heading)]
    lines += [" | ".join(row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def percent(value: float, digits: int = 2) -> str:
    """Write a share in percent, without the sign."""
    return f"{100 * value:.{digits}f}"


def plus_minus(one: Interval, digits: int = 2) -> str:
    """Write a share and its interval in percent."""
    return f"{percent(one.mean, digits)} ± {percent(one.half, digits)}"


def signed(one: Interval, digits: int = 2) -> str:
    """Write a difference and its interval in points."""
    mean = f"{round(100 * one.mean, digits) + 0.0:+.{digits}f}".replace("-", "−")
    return f"{mean} ± {percent(one.half, digits)}"


def listed(names: Sequence[str], nothing: str = "none") -> str:
    """Write names as a list in a sentence."""
    if len(names) < 2:
        return names[0] if names else nothing
    return ", ".join(names[:-1]) + " and " + names[-1]


def records(results: Results, title: str) -> list[Record]:
    """The repetitions of a set, in order."""
    stored = results["sets"].get(title, {})
    return [stored[number] for number in sorted(stored, key=int)]


def column(results: Results, title: str, key: str) -> FloatArray:
    """One quantity of a set; a row per repetition."""
    return np.array([one[key] for one in records(results, title)], dtype=np.float64)


def measured(results: Results) -> list[str]:
    """Sets with two repetitions or more."""
    return [title for title, stored in results["sets"].items() if len(stored) > 1]


def repetitions(results: Results) -> str:
    """How many repetitions the sets have."""
    counts = sorted({len(stored) for stored in results["sets"].values()})
    return " to ".join(str(one) for one in dict.fromkeys((counts[0], counts[-1])))


def minutes(results: Results) -> float:
    """Processor time of all repetitions."""
    seconds = sum(
        one["seconds"] for stored in results["sets"].values() for one in stored.values()
    )
    return seconds / 60


def reference(paper: str) -> dict[str, Any]:
    """A paper's own figures, as the file beside the data folder gives them."""
    folder = Path(os.environ.get("ASKLESS_DATA") or FOLDER)
    path = folder.parent / "reference_tables.json"
    if not path.is_file():
        raise MissingDataError(f"no {path.name} beside the data folder")
    return json.loads(path.read_text())[paper]
