"""Measure what is missing and write docs/evidence.md: `make evidence [QUICK=1]`.

A quick run has a folder of its own, build/evidence, for document, figures and data.

A part is a module of this package with `measure(quick)` and `section(results)`, and if
it likes `verdicts(results)` and `figures(results)`; what is long stands in
`NAME_report.py` and its like. A part that names others in `BESIDE` finds their results
under `results["beside"]`. A new part needs its name in `PARTS`, no more.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.papers import opening, plots
from benchmarks.papers.runs import Measurement, Results, run

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("reyzin", "margins", "huang", "trees", "baselines", "selection", "search")
ENDINGS = ("", "_figures", "_verdicts", "_report")


@dataclass(frozen=True)
class Place:
    """Where the data, the document and its figures go."""

    results: Path
    document: Path

    @property
    def figures(self) -> Path:
        return self.document.parent / "figures"


WHOLE = Place(ROOT / "benchmarks" / "results", ROOT / "docs" / "evidence.md")
QUICK = Place(ROOT / "build" / "evidence", ROOT / "build" / "evidence" / "evidence.md")


def find_modules(name: str) -> list[ModuleType]:
    """The modules of a part that are there, its own first."""
    paths = [f"benchmarks.papers.{name}{ending}" for ending in ENDINGS]
    return [
        importlib.import_module(path)
        for path in paths
        if importlib.util.find_spec(path)
    ]


def find(name: str, attribute: str, default: Any = None) -> Any:
    """What a part has under a name, in whichever of its modules."""
    found = (getattr(module, attribute, None) for module in find_modules(name))
    return next((one for one in found if one is not None), default)


def read_results(folder: Path) -> dict[str, Results]:
    """Everything stored, by part."""
    all_results = {}
    for name in PARTS:
        path = folder / f"papers_{name}.json"
        if path.is_file() and find(name, "section"):
            results = json.loads(path.read_text())
            if results["sets"]:
                all_results[name] = results
    for name, results in all_results.items():
        others = [one for one in find(name, "BESIDE", ()) if one in all_results]
        if others:
            results["beside"] = {one: all_results[one] for one in others}
    return all_results


def write_document(all_results: dict[str, Results], place: Place) -> None:
    """Sections of the parts that have results, under the verdicts of all."""
    sections, verdicts = [], []
    for name, results in all_results.items():
        for title, figure in find(name, "figures", no_figures)(results).items():
            plots.save(figure, place.figures / f"{title}.svg")
        verdicts += find(name, "verdicts", no_verdicts)(results)
        sections.append(find(name, "section")(results))
    head = opening.write(all_results, verdicts, place is QUICK)
    place.document.write_text("\n\n".join([head, *sections]).rstrip() + "\n")


def no_figures(_results: Results) -> dict[str, Any]:
    return {}


def no_verdicts(_results: Results) -> list[Any]:
    return []


def plan(quick: bool) -> dict[str, Measurement]:
    """What there is to measure, by part."""
    functions: dict[str, Callable[[bool], Measurement] | None] = {
        name: find(name, "measure") for name in PARTS
    }
    return {name: one(quick) for name, one in functions.items() if one is not None}


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
        parts = plan(arguments.quick)
        skipped = {
            line: None for one in parts.values() for line in one.lacking.values()
        }
        for line in skipped:
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
