"""Measure everything, part by part, and write the results, a report and pictures.

`make bench`, or `python -m benchmarks.bench`. `--only PART` measures parts again and
keeps the others; `--resume` measures the parts that are missing after an interruption;
`--report` only writes docs/performance.md again. `--quick` measures little, and writes
to build/bench.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.bench.accuracy import measure_accuracy
from benchmarks.bench.children import pin_threads
from benchmarks.bench.doubling import measure_doubling
from benchmarks.bench.figures import draw
from benchmarks.bench.machine import load, machine, today
from benchmarks.bench.memory import measure_memory
from benchmarks.bench.report import write_report
from benchmarks.bench.scale import QUICK, Scale
from benchmarks.bench.search import measure_search
from benchmarks.bench.sessions import measure_curves, measure_sessions
from benchmarks.bench.start import measure_start
from benchmarks.bench.targets import judge
from benchmarks.bench.training import measure_adaboost, measure_binary, measure_numeric
from benchmarks.data import MissingDataError

ROOT = Path(__file__).resolve().parents[2]
HTTP = ROOT / "benchmarks" / "results" / "http_latency.json"
EARLIER = tuple(HTTP.parent.glob("bench_*.json"))
PARTS: Mapping[str, Callable[[Scale], dict[str, Any]]] = {
    "numeric": measure_numeric,
    "binary": measure_binary,
    "adaboost": measure_adaboost,
    "doubling": measure_doubling,
    "memory": measure_memory,
    "search": measure_search,
    "sessions": measure_sessions,
    "curves": measure_curves,
    "start": measure_start,
    "accuracy": measure_accuracy,
}


@dataclass(frozen=True)
class Places:
    """Where everything is written."""

    results: Path
    report: Path

    @property
    def figures(self) -> Path:
        return self.report.parent / "figures"


FULL = Places(ROOT / "benchmarks" / "results.json", ROOT / "docs" / "performance.md")
TRIAL = Places(
    ROOT / "build" / "bench" / "results.json", ROOT / "build" / "bench" / "trial.md"
)


def measure(name: str, scale: Scale) -> dict[str, Any]:
    """Measure a part, with the machine's load before and after and how long it took."""
    before, start = load(), time.monotonic()
    figures = PARTS[name](scale)
    minutes = (time.monotonic() - start) / 60
    return {
        **figures,
        "measured": today(),
        "load": {"before": before, "after": load()},
        "minutes": round(minutes, 1),
    }


def write(results: Mapping[str, Any], places: Places) -> None:
    places.report.parent.mkdir(parents=True, exist_ok=True)
    places.results.write_text(json.dumps(results, indent=1) + "\n")
    http = json.loads(HTTP.read_text()) if HTTP.is_file() else None
    earlier = [json.loads(path.read_text()) for path in sorted(EARLIER)]
    figures = draw(results["parts"], places.figures)
    places.report.write_text(write_report(results, earlier, http, figures))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    pin_threads()
    scale, places = (QUICK, TRIAL) if arguments.quick else (Scale(), FULL)
    kept: dict[str, Any] = {}
    if arguments.only or arguments.resume or arguments.report:
        if places.results.is_file():
            kept = json.loads(places.results.read_text())["parts"]
        elif arguments.report:
            parser.error(f"nothing was measured: {places.results} is missing")
    chosen = arguments.only or [
        name for name in PARTS if not (arguments.resume and name in kept)
    ]
    if arguments.report:
        stored = json.loads(places.results.read_text())
        write(stored | {"targets": judge(kept)}, places)
        return
    for name in chosen:
        print(f"{name}: load {load():.2f}", flush=True)
        try:
            kept[name] = measure(name, scale)
        except MissingDataError as error:
            print(f"skipped {error}", flush=True)
            continue
        parts = {one: kept[one] for one in PARTS if one in kept}
        results = {"machine": machine(), "targets": judge(parts), "parts": parts}
        write(results, places)
        print(f"{name}: {kept[name]['minutes']} min", flush=True)
    for one in judge(kept):
        print(f"{one['verdict']:<12}{one['part']:<10}{one['figure']:>10} {one['what']}")


if __name__ == "__main__":
    main()
