"""The tables of docs/performance.md, from what was measured."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.bench.by_budget import PARTIES
from benchmarks.documents import Rows, number, spread
from benchmarks.service.tables import SERVICE, write_service

Figures = Mapping[str, Any]
TITLES = {
    "askless": "Askless",
    "askless_avx2": "Askless, AVX2 alone",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "adaboost": "scikit-learn's AdaBoost",
}
NO_SIZES = ("minutes", "peak_bytes", "store_ns")
STEPS = ("observe", "next_question", "answer_to_question", "forecast")


def write_machine(results: Figures) -> Rows:
    if results["machine"]:
        yield tuple(results["machine"].values())


def write_parts(results: Figures) -> Rows:
    for name, part in results["parts"].items():
        sizes = [
            f"{key.replace('_', ' ')} {value:,}"
            for key, value in part.items()
            if isinstance(value, int | float) and key not in NO_SIZES
        ]
        load = f"{part['load']['before']:.2f} to {part['load']['after']:.2f}"
        about = part["processor"], part["measured"], part["minutes"]
        yield name, *about, load, "; ".join(sizes)


def name_modes(one: Figures) -> Iterator[tuple[str, Figures, Figures, Figures]]:
    """Yield each party's modes: label, its fastest binning, boosting, and both."""
    for name, party in one["parties"].items():
        for mode, boosting in party["boosting"].items():
            label = TITLES[name]
            if len(party["boosting"]) > 1:
                label = f"{label} {mode}"
            binning = party["best"].get("binning", {})
            yield label, binning, boosting, party["both"][mode]


def write_training(one: Figures) -> Rows:
    for label, *times in name_modes(one):
        yield label, *(spread(taken) if taken else "–" for taken in times)


def write_faster(parts: Figures) -> Rows:
    for name in ("numeric", "binary", "adaboost"):
        for ours, label in (("", "as it is"), ("_avx2", "AVX2 alone")):
            one = parts.get(name, {})
            for peer, faster in one.get(f"times_faster{ours}", {}).items():
                least = one[f"times_faster_by_least{ours}"][peer]
                binning = one["parties"][peer]["best"].get("binning", {"name": "–"})
                ratios = (
                    by[part] for by in (faster, least) for part in ("boosting", "both")
                )
                yield (
                    name,
                    label,
                    TITLES[peer],
                    binning["name"],
                    *(f"{number(ratio)} ×" for ratio in ratios),
                )


def write_kernels(one: Figures) -> Rows:
    for kind, kernels in one["kinds"].items():
        for name, taken in kernels.items():
            yield (
                kind,
                name,
                *(f"{taken[key]:,.0f}" for key in ("cells", "adds", "bytes")),
                *(number(taken[key]) for key in ("bound_ms", "native_ms", "avx2_ms")),
            )


def write_whole(one: Figures) -> Rows:
    ours, *_ = one["seconds"].values()
    for way, taken in one["seconds"].items():
        ratios = (
            f"{number(taken[key] / ours[key])} ×" for key in ("median_s", "min_s")
        )
        yield way, spread(taken), *ratios


def write_memory(one: Figures) -> Rows:
    cells = one["bytes_per_cell"]
    ends = f"{number(cells['min'])}–{number(cells['max'])}"
    peak = f"{one['peak_bytes'] / 2**20:,.0f}"
    yield peak, f"{number(cells['median'])} ({ends})", cells["runs"]


def write_sessions(one: Figures) -> Rows:
    for policy, calls in one["calls"].items():
        times = (calls[step] for step in STEPS)
        cells = (f"{taken['p50_us']:,.0f} ({taken['p95_us']:,.0f})" for taken in times)
        yield policy, *cells


def write_curves(one: Figures) -> Rows:
    for policy, taken in one["seconds"].items():
        yield policy, spread(taken)


def write_start(one: Figures) -> Rows:
    yield [spread(one[step]) for step in ("imported", "warm", "first_round")]


def write_accuracy(one: Figures) -> Rows:
    signs = {"askless": "", "adaboost": "", "difference": "+"}
    for name, measured in one["sets"].items():
        for learner, errors in measured["learners"].items():
            cells = [
                f"{errors[key]['mean']:{sign}.1f} ± {errors[key]['half_width']:.1f}"
                if key in errors
                else "–"
                for key, sign in signs.items()
            ]
            yield f"{name}, {measured['classes']} classes", f"{learner}s", *cells


def write_by_budget(one: Figures) -> Rows:
    for name, measured in one["sets"].items():
        size = f"{measured['rows']:,} × {measured['features']}"
        cells = (spread(measured[party]) for party in PARTIES)
        yield (
            name,
            size,
            *cells,
            *(f"{spread(ratio)} ×" for ratio in measured["ratios"]),
        )


#: The regions that show one part each.
TABLES = {
    "adaboost": write_training,
    "kernels": write_kernels,
    "whole": write_whole,
    "by_budget": write_by_budget,
    "memory": write_memory,
    "sessions": write_sessions,
    "curves": write_curves,
    "start": write_start,
    "accuracy": write_accuracy,
}
NAMES = ("machine", "parts", "faster", *SERVICE, *TABLES)


def write_all(results: Figures, service: Figures | None) -> dict[str, Rows]:
    """Return every table whose part was measured, by its region."""
    parts = results["parts"]
    found = {
        name: write(parts[name]) for name, write in TABLES.items() if name in parts
    }
    return (
        found
        | {
            "machine": write_machine(results),
            "parts": write_parts(results),
            "faster": write_faster(parts),
        }
        | write_service(service)
    )
