"""The tables of docs/performance.md about the service, from what was measured."""

from collections.abc import Mapping
from typing import Any

from benchmarks.documents import Rows, number

Figures = Mapping[str, Any]
SERVICE = ("service", "service-blocks", "service-money", "service-pages")
ENGINES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
#: What is to be reached: line, and figure in it; limits below.
TARGETS = (
    ("answers a second, to b31d553", "16 clients", "askless / before, per_s"),
    ("the same, one model for both", "16 clients", "same model / before, per_s"),
    ("answers a second, to bare", "16 clients", "askless / bare, per_s"),
    ("answers a second, to bare", "1 clients", "askless / bare, per_s"),
    ("processor time of an answer, to bare", "16 clients", "askless / bare, cpu_ms"),
    ("p99 at half the rate, to bare", "half rate", "p99"),
    ("sessions begun a second, to bare", "POST /predict", "rate"),
)
LIMITS = {
    "16 clients, askless / before, per_s": {"sqlite": ">= 2.5", "postgresql": ">= 2"},
    "16 clients, same model / before, per_s": {"sqlite": "", "postgresql": ""},
    "16 clients, askless / bare, per_s": {"sqlite": ">= 0.8", "postgresql": ">= 0.8"},
    "1 clients, askless / bare, per_s": {"sqlite": ">= 0.8", "postgresql": ">= 0.8"},
    "half rate, p99": {"sqlite": "<= 2", "postgresql": "<= 2"},
    "POST /predict, rate": {"sqlite": ">= 0.6", "postgresql": ">= 0.6"},
}


def ranged(three: list[float]) -> str:
    """Write a median with the least and the greatest."""
    median, least, most = map(number, three)
    return f"{median} ({least}–{most})"


def write_targets(results: Figures) -> Rows:
    for engine, name in ENGINES.items():
        lines = results.get(engine, {}).get("lines", {})
        for what, line, key in TARGETS:
            if key in lines.get(line, {}):
                limit = LIMITS.get(f"{line}, {key}", {}).get(engine, "")
                yield name, f"{what}; {line}", limit, f"{ranged(lines[line][key])} ×"
        if engine == "sqlite" and lines:
            p99 = lines["8 clients"]["blocks"]["askless"]["p99_ms"]
            yield name, "p99 of an answer, 8 clients", "<= 60 ms", f"{ranged(p99)} ms"
    loads = [results[k] for k in ("load_before", "load_after") if k in results]
    if loads:
        load = " to ".join(f"{load:.1f}" for load in loads)
        cores = results["machine"]["cores"]
        yield "", f"load of the {cores} cores, before and after", "idle", load
    if "two processes" in results:
        rate = f"{ranged(results['two processes']['rate'])} ×"
        yield "PostgreSQL", "two API processes and workers, to one", ">= 1.4", rate


def write_blocks(results: Figures) -> Rows:
    for engine, name in ENGINES.items():
        for line, found in results.get(engine, {}).get("lines", {}).items():
            ours = found["blocks"]["askless"]
            keys = ("per_s", "p50_ms", "p99_ms", "cpu_ms")
            yield name, line, *(ranged(ours[key]) for key in keys)


def write_money(results: Figures) -> Rows:
    for engine, name in ENGINES.items():
        found = results.get(f"{engine}, money")
        if found is not None:
            memory = found["memory_mib"]
            yield (
                name,
                f"{found['sessions']:,}",
                f"{found['answers']:,}",
                sum(found["violations"].values()),
                f"{number(min(memory))} to {number(max(memory))} MiB",
            )


def write_pages(results: Figures) -> Rows:
    for engine, name in ENGINES.items():
        found = results.get(f"{engine}, pages", {"readers": {}})
        for readers, taken in found["readers"].items():
            times = (ranged(taken[key]) for key in ("p50_ms", "p99_ms", "cpu_ms"))
            least, most = found["bytes"]
            yield name, readers, *times, f"{least / 1000:.1f} to {most / 1000:.1f}"


def write_service(results: Figures | None) -> dict[str, Rows]:
    """Return the tables of the service by their regions."""
    results = results or {}
    return {
        "service": write_targets(results),
        "service-blocks": write_blocks(results),
        "service-money": write_money(results),
        "service-pages": write_pages(results),
    }
