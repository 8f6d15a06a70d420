"""What the parts have stored, as arrays; the papers' own figures."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.data import MissingDataError
from benchmarks.intervals import Interval, interval
from benchmarks.papers.runs import Record, Results
from core.arrays import FloatArray

# What became of a claim, and what was measured.
Verdict = tuple[str, str]


def grade(is_held: Sequence[bool]) -> str:
    """The verdict on a claim that should hold everywhere."""
    if all(is_held):
        return "reproduced"
    return "partly" if any(is_held) else "not reproduced"


def records(results: Results, title: str) -> list[Record]:
    """Return the repetitions of a set, in order."""
    stored = results["sets"].get(title, {})
    return [stored[number] for number in sorted(stored, key=int)]


def column(results: Results, title: str, key: str) -> FloatArray:
    """Return one quantity of a set; a row per repetition."""
    return np.array([one[key] for one in records(results, title)], dtype=np.float64)


def mean(results: Results, title: str, key: str) -> FloatArray:
    """Return one quantity of a set, the mean over its repetitions."""
    return column(results, title, key).mean(axis=0)


def measured(results: Results, order: Sequence[str]) -> list[str]:
    """Return the sets with two repetitions or more, in a given order."""
    return [title for title in order if len(results["sets"].get(title, {})) > 1]


def paired(one: FloatArray, other: FloatArray) -> Interval:
    """Return a paired difference over the repetitions that both have."""
    n_both = min(one.shape[0], other.shape[0])
    return interval(one[:n_both] - other[:n_both])


def beside(results: Results, part: str) -> Results:
    """Return the results of another part; without sets if it wasn't measured."""
    found: Results = results.get("beside", {}).get(part, {"sets": {}})
    return found


def reference(paper: str) -> dict[str, Any]:
    """Return a paper's own figures, as the file beside the data folder has them."""
    path = data.find_folder().parent / "reference_tables.json"
    if not path.is_file():
        raise MissingDataError(f"no {path.name} beside the data folder")
    found: dict[str, Any] = json.loads(path.read_text())[paper]
    return found
