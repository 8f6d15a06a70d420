"""Measure everything, part by part, and fill in docs/performance.md.

`make bench`, or `python -m benchmarks.bench`. `--only PART` measures parts again and
keeps the others; `--resume` measures the parts that are missing after an interruption;
`--report` only fills in the document again. `--quick` measures little, and writes to
build/bench.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.bench.accuracy import measure_accuracy
from benchmarks.bench.by_budget import measure_by_budget
from benchmarks.bench.doubling import measure_doubling
from benchmarks.bench.kernels import measure_kernels
from benchmarks.bench.memory import measure_memory
from benchmarks.bench.pictures import draw
from benchmarks.bench.runs import in_child, pin_threads
from benchmarks.bench.scale import QUICK, THREADS, Scale
from benchmarks.bench.sessions import measure_curves, measure_sessions
from benchmarks.bench.start import measure_start
from benchmarks.bench.tables import NAMES, write_all
from benchmarks.bench.training import measure_training
from benchmarks.bench.whole import measure_whole
from benchmarks.data import MissingDataError
from benchmarks.documents import Place, fill

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "docs" / "performance.md"
__all__ = ["NAMES", "SOURCE", "main"]
SERVICE = ROOT / "benchmarks" / "results" / "service.json"
PACKAGES = ("numpy", "numba", "scikit-learn", "lightgbm", "xgboost")
PARTS: Mapping[str, Callable[[Scale], dict[str, Any]]] = {
    "numeric": partial(measure_training, "numeric"),
    "binary": partial(measure_training, "binary"),
    "adaboost": partial(measure_training, "numeric", peers=("adaboost",)),
    "kernels": measure_kernels,
    "whole": measure_whole,
    "by_budget": measure_by_budget,
    "doubling": partial(in_child, measure_doubling),
    "memory": measure_memory,
    "sessions": partial(in_child, measure_sessions),
    "curves": partial(in_child, measure_curves),
    "start": measure_start,
    "accuracy": measure_accuracy,
}


FOLDER = ROOT / "build" / "bench"
FULL = Place(ROOT / "benchmarks" / "results" / "bench.json", SOURCE)
TRIAL = Place(FOLDER / "results.json", FOLDER / "trial.md")


def load() -> float:
    """Processes that ran or waited in the last minute, on average."""
    return round(os.getloadavg()[0], 2)


def describe_machine() -> dict[str, Any]:
    """What the figures depend on; the processor's name where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.split(": ", 1)[1] for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": names[0].strip() if names else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "threads": THREADS,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in PACKAGES},
    }


def measure(name: str, scale: Scale) -> dict[str, Any]:
    """Measure a part, with the machine's load before and after and how long it took."""
    before, start = load(), time.monotonic()
    figures = PARTS[name](scale)
    minutes = (time.monotonic() - start) / 60
    return {
        **figures,
        "processor": describe_machine()["processor"],
        "measured": datetime.now(UTC).date().isoformat(),
        "load": {"before": before, "after": load()},
        "minutes": round(minutes, 1),
    }


def write(results: Mapping[str, Any], place: Place) -> None:
    place.document.parent.mkdir(parents=True, exist_ok=True)
    place.results.write_text(json.dumps(results, indent=1) + "\n")
    service = json.loads(SERVICE.read_text()) if SERVICE.is_file() else None
    draw(results["parts"], place.document.parent / "figures")
    tables = write_all(results, service)
    place.document.write_text(fill(SOURCE.read_text(), tables))


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
    scale, place = (QUICK, TRIAL) if arguments.quick else (Scale(), FULL)
    stored: dict[str, Any] = {"parts": {}}
    if place.results.is_file() and (arguments.only or arguments.resume):
        stored = json.loads(place.results.read_text())
    if arguments.report:
        write(json.loads(place.results.read_text()), place)
        return
    kept = stored["parts"]
    missing = [name for name in PARTS if name not in kept or not arguments.resume]
    for name in arguments.only or missing:
        print(f"{name}: load {load():.2f}", flush=True)
        try:
            kept[name] = measure(name, scale)
        except MissingDataError as error:
            print(f"skipped {error}", flush=True)
            continue
        parts = {part: kept[part] for part in PARTS if part in kept}
        write({"machine": describe_machine(), "parts": parts}, place)
        print(f"{name}: {kept[name]['minutes']} min", flush=True)


if __name__ == "__main__":
    main()
