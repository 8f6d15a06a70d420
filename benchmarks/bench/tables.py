"""The tables of docs/performance.md, from what was measured."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.documents import Rows, listed, number, spread

Figures = Mapping[str, Any]
TITLES = {
    "askless": "Askless",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "adaboost": "scikit-learn's AdaBoost",
}
ENGINES = {"sqlite": "SQLite", "postgresql": "PostgreSQL 18"}
STEPS = ("observe", "next_question", "answer_to_question", "forecast")


def write_machine(results: Figures) -> Rows:
    machine = results["machine"]
    return [tuple(machine.values())] if machine else []


def write_parts(results: Figures) -> Rows:
    rows = []
    for name, one in results["parts"].items():
        sizes = [
            f"{key.replace('_', ' ')} {value:,}"
            for key, value in one.items()
            if isinstance(value, int | float) and key not in ("minutes", "peak_bytes")
        ]
        load = f"{one['load']['before']:.2f} to {one['load']['after']:.2f}"
        rows.append((name, one["measured"], one["minutes"], load, "; ".join(sizes)))
    return rows


def write_targets(results: Figures) -> Rows:
    rows = []
    for one in results["targets"]:
        bound = "at least" if one["is_floor"] else "at most"
        limit = f"{bound} {one['limit']:g} {one['unit']}"
        figure = f"{number(one['figure'])} {one['unit']}"
        rows.append((one["part"], one["what"], limit, figure, one["verdict"]))
    n_reached = sum(row[-1] == "reached" for row in rows)
    rows.append(("all", "targets reached", len(rows), n_reached, ""))
    return rows


def write_earlier(results: Figures, earlier: Sequence[Figures]) -> Rows:
    runs: dict[str, Figures] = {}
    for run in earlier:
        days = sorted({one["measured"] for one in run["parts"].values()})
        figures = {(one["part"], one["what"]): one for one in run["targets"]}
        runs[f"{run['machine']['processor']}, {listed(days)}"] = figures
    rows = []
    for one in results["targets"]:
        key, unit = (one["part"], one["what"]), one["unit"]
        found = {name: run[key]["figure"] for name, run in runs.items() if key in run}
        cells = [f"{number(figure)} {unit} ({name})" for name, figure in found.items()]
        if cells:
            rows.append((*key, f"{number(one['figure'])} {unit}", "; ".join(cells)))
    return rows


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
    rows = [
        (label, *(spread(taken) if taken else "–" for taken in times))
        for label, *times in name_modes(one)
    ]
    return rows


def write_faster(parts: Figures) -> Rows:
    rows = []
    for name in ("numeric", "binary", "adaboost"):
        one = parts.get(name, {"times_faster": {}})
        for peer, faster in one["times_faster"].items():
            least = one["times_faster_by_least"][peer]
            fastest = one["parties"][peer]["best"].get("binning", {"name": "–"})["name"]
            ratios = (faster["boosting"], faster["both"])
            ratios = (*ratios, least["boosting"], least["both"])
            cells = (f"{number(ratio)} ×" for ratio in ratios)
            rows.append((name, TITLES[peer], fastest, *cells))
    return rows


def write_doubling(one: Figures) -> Rows:
    rows = []
    for size, measured in one["sizes"].items():
        ratios = ["–", *(f"{number(ratio)} ×" for ratio in measured["ratios"])]
        for point, ratio in zip(measured["points"], ratios, strict=True):
            times = (spread(point["binning"]), spread(point["boosting"]))
            rows.append((size, f"{point[size]:,}", *times, ratio))
    return rows


def write_memory(one: Figures) -> Rows:
    cells = one["bytes_per_cell"]
    ends = f"{number(cells['min'])}–{number(cells['max'])}"
    row = (
        f"{one['peak_bytes'] / 2**20:,.0f}",
        f"{number(cells['median'])} ({ends})",
        cells["runs"],
    )
    return [row]


def write_search(one: Figures) -> Rows:
    rows = []
    for search, taken in one["seconds"].items():
        faster, against = "–", "–"
        if search != "all":
            worse = one["points_worse"][search]
            faster = f"{number(one['times_faster'][search])} ×"
            against = (
                f"{worse['mean']:+.2f} ({worse['min']:+.2f} to {worse['max']:+.2f})"
            )
        error = f"{one['test_error'][search]:.2f}"
        rows.append((f"`{search}`", spread(taken), faster, error, against))
    return rows


def write_sessions(one: Figures) -> Rows:
    rows = []
    for policy, calls in one["calls"].items():
        times = (calls[step] for step in STEPS)
        cells = (f"{taken['p50_us']:,.0f} ({taken['p95_us']:,.0f})" for taken in times)
        rows.append((policy, *cells))
    return rows


def write_curves(one: Figures) -> Rows:
    rows = [(policy, spread(taken)) for policy, taken in one["seconds"].items()]
    return rows


def write_start(one: Figures) -> Rows:
    steps = ("imported", "warm", "first_round")
    return [[spread(one[step]) for step in steps]]


def write_accuracy(one: Figures) -> Rows:
    rows = []
    for name, measured in one["sets"].items():
        for learner, errors in measured["learners"].items():
            signs = {"askless": "", "adaboost": "", "difference": "+"}
            cells = [
                f"{errors[key]['mean']:{sign}.1f} ± {errors[key]['half_width']:.1f}"
                if key in errors
                else "–"
                for key, sign in signs.items()
            ]
            rows.append(
                (f"{name}, {measured['classes']} classes", f"{learner}s", *cells)
            )
    return rows


def write_http(http: Figures) -> Rows:
    rows = []
    for engine, handlers in http["engines"].items():
        rate = handlers["bare"]["p50_ms"] / handlers["askless"]["p50_ms"]
        for handler, name in (("askless", "Askless"), ("bare", "bare")):
            one = handlers[handler]
            times = (f"{one['p50_ms']:.2f}", f"{one['p99_ms']:.2f}")
            last = f"{rate:.2f} ×" if handler == "askless" else ""
            rows.append((ENGINES[engine], name, one["answers"], *times, last))
    return rows


#: The regions that show one part each.
TABLES = {
    "numeric": write_training,
    "binary": write_training,
    "adaboost": write_training,
    "doubling": write_doubling,
    "memory": write_memory,
    "search": write_search,
    "sessions": write_sessions,
    "curves": write_curves,
    "start": write_start,
    "accuracy": write_accuracy,
}
NAMES = ("machine", "parts", "targets", "earlier", "faster", "http", *TABLES)


def write_all(
    results: Figures, earlier: Sequence[Figures], http: Figures | None
) -> dict[str, Rows]:
    """Return every table whose part was measured, by its region."""
    parts = results["parts"]
    found = {
        name: write(parts[name]) for name, write in TABLES.items() if name in parts
    }
    return found | {
        "machine": write_machine(results),
        "parts": write_parts(results),
        "targets": write_targets(results),
        "earlier": write_earlier(results, earlier),
        "faster": write_faster(parts),
        "http": write_http(http) if http else [],
    }
