"""Measure what is missing and fill in docs/evidence.md: `make evidence [QUICK=1]`.

A quick run has a folder of its own, build/evidence, for document, figures and data.

A part is a module with `measure(quick)`, its regions of the document (`TABLES`) and its
judges, by the claims of claims.csv. It finds the results of all parts under
`results["beside"]`. A new part needs its line in `PARTS` and its regions, no more.
"""

import argparse
import csv
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks import plots
from benchmarks.documents import Rows, fill, listed
from benchmarks.papers import (
    baselines,
    baselines_tables,
    huang,
    huang_tables,
    huang_verdicts,
    margins,
    margins_tables,
    reyzin,
    reyzin_tables,
    reyzin_verdicts,
    search,
    search_tables,
    selection,
    selection_tables,
    selection_verdicts,
    trees,
    trees_tables,
)
from benchmarks.papers.pictures import PICTURES
from benchmarks.papers.results import Verdict
from benchmarks.papers.runs import Measurement, Results, run

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "docs" / "evidence.md"
CLAIMS = Path(__file__).with_name("claims.csv")
QUICK_NOTE = (
    "> **A quick run** (`make evidence QUICK=1`): few repetitions, wide intervals, and "
    "verdicts accordingly, all of it measured by this run. The full document is "
    "docs/evidence.md.\n\n"
)


class Part(NamedTuple):
    """What to measure, the regions that it fills in, and the judges of claims."""

    measure: Callable[[bool], Measurement]
    tables: dict[str, Callable[[Results], Rows]]
    judges: dict[str, Callable[[Results], Verdict | None]]


PARTS = {
    "reyzin": Part(reyzin.measure, reyzin_tables.TABLES, reyzin_verdicts.JUDGES),
    "margins": Part(margins.measure, margins_tables.TABLES, margins_tables.JUDGES),
    "huang": Part(huang.measure, huang_tables.TABLES, huang_verdicts.JUDGES),
    "trees": Part(trees.measure, trees_tables.TABLES, trees_tables.JUDGES),
    "baselines": Part(
        baselines.measure, baselines_tables.TABLES, baselines_tables.JUDGES
    ),
    "selection": Part(
        selection.measure, selection_tables.TABLES, selection_verdicts.JUDGES
    ),
    "search": Part(search.measure, search_tables.TABLES, search_tables.JUDGES),
}


@dataclass(frozen=True)
class Place:
    """Where the data, the document and its figures go."""

    results: Path
    document: Path


WHOLE = Place(ROOT / "benchmarks" / "results", SOURCE)
QUICK = Place(ROOT / "build" / "evidence", ROOT / "build" / "evidence" / "evidence.md")


def read_results(folder: Path) -> dict[str, Results]:
    """Return everything stored, by part."""
    all_results: dict[str, Results] = {}
    for name in PARTS:
        path = folder / f"papers_{name}.json"
        if path.is_file():
            results = json.loads(path.read_text())
            if results["sets"]:
                all_results[name] = {**results, "beside": all_results}
    return all_results


def write_document(all_results: dict[str, Results], place: Place) -> None:
    """Fill in the regions of the parts that have results, and draw their pictures."""
    tables = {name: write(all_results) for name, write in GENERAL.items()}
    for part, results in all_results.items():
        for name, write in PARTS[part].tables.items():
            tables[name] = write(results)
    for part, results in all_results.items():
        for title, draw in PICTURES.get(part, {}).items():
            plots.save(
                draw(results), place.document.parent / "figures" / f"{title}.svg"
            )
    head, body = fill(SOURCE.read_text(), tables).split("\n\n", 1)
    note = QUICK_NOTE if place is QUICK else ""
    place.document.write_text(f"{head}\n\n{note}{body}")


def write_runs(all_results: dict[str, Results]) -> Rows:
    """How much was measured: sets, repetitions, processor time, and settings."""
    rows = []
    for part, results in all_results.items():
        counts = sorted({len(stored) for stored in results["sets"].values()})
        ends = dict.fromkeys((counts[0], counts[-1]))
        stored = [one for pieces in results["sets"].values() for one in pieces.values()]
        minutes = sum(one["seconds"] for one in stored) / 60
        settings = [
            f"{key} {value}"
            for key, value in results["settings"].items()
            if isinstance(value, int | float) and key != "version"
        ]
        cells = (len(results["sets"]), " to ".join(map(str, ends)), f"{minutes:.1f}")
        rows.append((part, *cells, listed(settings, "")))
    return rows


def write_lacking(all_results: dict[str, Results]) -> Rows:
    """What could not be measured, and why."""
    return [
        (part, why)
        for part, results in all_results.items()
        for why in results.get("lacking", {}).values()
    ]


def write_verdicts(all_results: dict[str, Results]) -> Rows:
    """What became of each claim whose part was measured."""
    rows = []
    for key, paper, claim in csv.reader(CLAIMS.read_text("utf-8").splitlines()[1:]):
        part, name = key.split(" ", 1)
        results = all_results.get(part)
        found = PARTS[part].judges[name](results) if results else None
        if found:
            rows.append((paper, claim, f"**{found[0]}**", found[1]))
    return rows


GENERAL = {
    "runs": write_runs,
    "lacking": write_lacking,
    "verdicts": write_verdicts,
}
NAMES = (*GENERAL, *(name for part in PARTS.values() for name in part.tables))


def main() -> int:
    """Run the missing repetitions, then write the document."""
    parser = argparse.ArgumentParser(prog="benchmarks.papers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--document", action="store_true", help="write it from what is stored"
    )
    arguments = parser.parse_args()
    place = QUICK if arguments.quick else WHOLE
    if not arguments.document:
        parts = {name: one.measure(arguments.quick) for name, one in PARTS.items()}
        for line in {why for one in parts.values() for why in one.lacking.values()}:
            print(f"skipped {line}", file=sys.stderr)
        try:
            run(parts, place.results, arguments.workers)
        except KeyboardInterrupt:
            print("stopped; the same command goes on from here", file=sys.stderr)
            return 130
    write_document(read_results(place.results), place)
    print(f"wrote {place.document}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
