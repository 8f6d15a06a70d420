"""Measure what is missing and fill in docs/evidence.md: `make evidence [QUICK=1]`.

A quick run has a folder of its own, build/evidence, for document, figures and data.

A part is a module with its sets (`TITLES`) and `measure(quick)`, and one, the same or
another, with its regions of the document (`TABLES`). A new part needs its line in
`PARTS` and its regions. The prose and the verdicts are written by hand.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import plots
from benchmarks.documents import Place, Rows, fill, listed
from benchmarks.papers import (
    baselines,
    huang,
    huang_tables,
    margins,
    online,
    reyzin,
    reyzin_tables,
    search,
    selection,
    trees,
)
from benchmarks.papers.pictures import PICTURES
from benchmarks.papers.results import SetResults, Sets
from benchmarks.papers.runs import Results, run

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "docs" / "evidence.md"
QUICK_NOTE = (
    "> **A quick run** (`make evidence QUICK=1`): tables and pictures are of this run, "
    "with few repetitions and wide intervals. The prose is that of docs/evidence.md; "
    "its figures are of the full run.\n\n"
)


class Part(NamedTuple):
    """A module that measures, and one that shows."""

    work: Any
    shown: Any


PARTS = {
    "reyzin": Part(reyzin, reyzin_tables),
    "margins": Part(margins, margins),
    "online": Part(online, online),
    "huang": Part(huang, huang_tables),
    "trees": Part(trees, trees),
    "baselines": Part(baselines, baselines),
    "selection": Part(selection, selection),
    "search": Part(search, search),
}
WHOLE = Place(ROOT / "benchmarks" / "results", SOURCE)
QUICK = Place(ROOT / "build" / "evidence", ROOT / "build" / "evidence" / "evidence.md")


def read_results(folder: Path) -> dict[str, Results]:
    """Return everything stored, by part."""
    paths = {name: folder / f"papers_{name}.json" for name in PARTS}
    found = {
        n: json.loads(path.read_text()) for n, path in paths.items() if path.exists()
    }
    return {name: results for name, results in found.items() if results["sets"]}


def find_sets(all_results: dict[str, Results]) -> dict[str, Sets]:
    """Return the sets of every part, with two repetitions or more."""
    parts: dict[str, Sets] = {}
    for name, results in all_results.items():
        parts[name] = {}
        for title in PARTS[name].work.TITLES:
            stored = results["sets"].get(title, {})
            records = [stored[number] for number in sorted(stored, key=int)]
            if len(records) > 1:
                parts[name][title] = SetResults(title, records, parts)
    return {name: sets for name, sets in parts.items() if sets}


def write_document(all_results: dict[str, Results], place: Place) -> None:
    """Fill in the regions of the parts that have results, and draw their pictures."""
    parts = find_sets(all_results)
    tables = {name: write(all_results) for name, write in GENERAL.items()}
    for part, sets in parts.items():
        for name, write in PARTS[part].shown.TABLES.items():
            tables[name] = write(sets)
        for title, draw in PICTURES.get(part, {}).items():
            plots.save(draw(sets), place.document.parent / "figures" / f"{title}.svg")
    head, body = fill(SOURCE.read_text(), tables).split("\n\n", 1)
    note = QUICK_NOTE if place is QUICK else ""
    place.document.write_text(f"{head}\n\n{note}{body}")


def write_runs(all_results: dict[str, Results]) -> Rows:
    """How much was measured: sets, repetitions, processor time, and settings."""
    for part, results in all_results.items():
        counts = sorted({len(stored) for stored in results["sets"].values()})
        ends = dict.fromkeys((counts[0], counts[-1]))
        stored = [
            piece for pieces in results["sets"].values() for piece in pieces.values()
        ]
        minutes = sum(one["seconds"] for one in stored) / 60
        settings = [
            f"{key} {value}"
            for key, value in results["settings"].items()
            if isinstance(value, int | float) and key != "version"
        ]
        cells = (len(results["sets"]), " to ".join(map(str, ends)), f"{minutes:.1f}")
        yield part, *cells, listed(settings, "")


def write_lacking(all_results: dict[str, Results]) -> Rows:
    """What could not be measured, and why."""
    for part, results in all_results.items():
        for why in results.get("lacking", {}).values():
            yield part, why


GENERAL = {"runs": write_runs, "lacking": write_lacking}
NAMES = (*GENERAL, *(n for part in PARTS.values() for n in part.shown.TABLES))


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
        parts = {
            name: part.work.measure(arguments.quick) for name, part in PARTS.items()
        }
        for line in {why for part in parts.values() for why in part.lacking.values()}:
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
