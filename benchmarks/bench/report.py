"""docs/performance.md, written from what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.bench.markdown import number, prose, spread, table
from benchmarks.bench.targets import PEERS

Figures = Mapping[str, Any]
LEARNERS = {"stump": "stumps", "tree": "trees", "product": "products"}
PACKAGES = {
    "numba": "numba",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "scikit-learn": "scikit-learn",
}
ENGINES = {"sqlite": "SQLite", "postgresql": "PostgreSQL 18"}


def write_report(
    results: Figures,
    earlier: Sequence[Figures],
    http: Figures | None,
    pictures: Sequence[str],
) -> str:
    """The whole file; parts that were not measured are left out."""
    parts = results["parts"]
    writers: dict[str, Callable[[Figures], Iterator[str]]] = {
        "numeric": training_blocks,
        "binary": binary_blocks,
        "adaboost": adaboost_blocks,
        "doubling": doubling_blocks,
        "memory": memory_blocks,
        "search": search_blocks,
        "sessions": sessions_blocks,
        "curves": curves_blocks,
        "start": start_blocks,
        "accuracy": accuracy_blocks,
    }
    blocks = [*head_blocks(results), *targets_blocks(results["targets"])]
    for one in earlier:
        blocks += earlier_blocks(results, one)
    for name, write in writers.items():
        if name in parts:
            blocks += write(parts[name])
        if name == "binary" and "performance_training.svg" in pictures:
            alt = "Seconds of boosting and binning of every party"
            blocks.append(f"![{alt}](figures/performance_training.svg)")
        if name == "doubling" and "performance_doubling.svg" in pictures:
            alt = "Seconds against rows, features and rounds, each doubling"
            blocks.append(f"![{alt}](figures/performance_doubling.svg)")
    if http:
        blocks += http_blocks(http)
    return "\n\n".join(blocks) + "\n"


def head_blocks(results: Figures) -> Iterator[str]:
    machine = results["machine"]
    loads = [one["load"] for one in results["parts"].values()]
    days = sorted({one["measured"] for one in results["parts"].values()})
    before = [one["before"] for one in loads]
    after = [one["after"] for one in loads]
    packages = ", ".join(f"{PACKAGES[one]} {machine[one]}" for one in PACKAGES)
    yield "# Performance"
    yield prose(
        """Written by `make bench` from `benchmarks/results.json`, which it writes too;
        `python -m benchmarks.bench --only numeric` measures one part again."""
    )
    yield prose(
        f"""Measured {" and ".join(days)} on {machine["cores"]} cores
        ({machine["processor"]}), {machine["threads"]} threads for everyone; Python
        {machine["python"]}, {packages}. Load average at the start of the parts
        {min(before):.2f} to {max(before):.2f}, at their end {min(after):.2f} to
        {max(after):.2f}, our own threads included. Machines drift: read the ratios,
        each from one run with the parties in turn. Times are medians
        (least–greatest)."""
    )


def targets_blocks(judged: Sequence[Figures]) -> Iterator[str]:
    rows = []
    for one in judged:
        bound = "at least" if one["is_floor"] else "at most"
        limit = f"{bound} {one['limit']:g} {one['unit']}"
        figure = f"{number(one['figure'])} {one['unit']}"
        rows.append((one["part"], one["what"], limit, figure, one["verdict"]))
    n_reached = sum(one["verdict"] == "reached" for one in judged)
    yield "## Targets"
    yield f"{n_reached} of {len(judged)} reached."
    yield table(("part", "figure", "target", "measured", "verdict"), rows)


def earlier_blocks(results: Figures, earlier: Figures) -> Iterator[str]:
    """Figures of an earlier run beside those of this one, where both have them."""
    here = {(one["part"], one["what"]): one for one in results["targets"]}
    rows = []
    for one in earlier["targets"]:
        now = here.get((one["part"], one["what"]))
        if now is not None:
            figures = [f"{number(run['figure'])} {one['unit']}" for run in (one, now)]
            rows.append((one["part"], one["what"], *figures))
    days = sorted({one["measured"] for one in earlier["parts"].values()})
    processors = [run["machine"]["processor"] for run in (earlier, results)]
    yield f"### Beside an earlier run on {processors[0]}"
    yield prose(
        f"""Another machine ({" and ".join(days)}) and an engine that has changed since,
        binning and sessions most: how far ratios carry from one machine to another."""
    )
    yield table(("part", "figure", *processors), rows)


def training_blocks(one: Figures) -> Iterator[str]:
    yield "## Training, beside LightGBM and XGBoost"
    yield prose(
        f"""{one["rows"]:,} rows × {one["features"]} features, {one["rounds"]} rounds of
        stumps, {one["bins"]} bins. LightGBM with `num_leaves=2` in four modes; XGBoost
        with `QuantileDMatrix`, `tree_method="hist"`, `max_depth=1`. Each peer is binned
        from several types of input, made beforehand; the fastest of them and its
        fastest mode count."""
    )
    yield from comparison_blocks(one)


def binary_blocks(one: Figures) -> Iterator[str]:
    yield from comparison_blocks(one)


def comparison_blocks(one: Figures) -> Iterator[str]:
    rows, inputs = [], []
    for name, party in one["parties"].items():
        title = "Askless" if name == "askless" else PEERS[name]
        best = party["best"]
        if name != "askless":
            inputs.append(f"{title} {best['binning']['name']}")
        for mode, boosting in party["boosting"].items():
            label = title if len(party["boosting"]) == 1 else f"{title} {mode}"
            both = party["both"][mode]
            rows.append(
                (label, spread(best["binning"]), spread(boosting), spread(both))
            )
    ratios = "; ".join(
        f"""{PEERS[peer]} boosting {number(faster["boosting"])} ×, with binning
        {number(faster["both"])} × (by the least times
        {number(one["times_faster_by_least"][peer]["boosting"])} and
        {number(one["times_faster_by_least"][peer]["both"])})"""
        for peer, faster in one["times_faster"].items()
    )
    yield prose(
        f"""{one["kind"].capitalize()} features, seconds; fastest inputs:
        {", ".join(inputs)}. As fast as the peer's fastest mode: {ratios}."""
    )
    yield table(("", "binning", "boosting", "both"), rows)


def adaboost_blocks(one: Figures) -> Iterator[str]:
    best = {name: party["best"] for name, party in one["parties"].items()}
    yield "## Training, beside scikit-learn's AdaBoost"
    yield prose(
        f"""{one["rows"]:,} × {one["features"]} numbers, {one["rounds"]} rounds:
        `AdaBoostClassifier` on stumps takes {spread(best["adaboost"]["both"])} s,
        Askless {spread(best["askless"]["boosting"])} s, with binning
        {spread(best["askless"]["both"])} s. scikit-learn's bins nothing, and uses one
        thread."""
    )


def doubling_blocks(one: Figures) -> Iterator[str]:
    rows = [
        (
            size,
            f"{point[size]:,}",
            spread(point["binning"]),
            spread(point["boosting"]),
        )
        for size, measured in one["sizes"].items()
        for point in measured["points"]
    ]
    ratios = "; ".join(
        f"{size} {' and '.join(number(ratio) for ratio in measured['ratios'])}"
        for size, measured in one["sizes"].items()
    )
    yield "## Growth"
    yield prose(
        f"""Around {one["rows"]:,} × {one["features"]} numbers and {one["rounds"]}
        rounds, each doubling multiplies the time by: {ratios} (rows and features:
        binning and boosting; rounds: boosting alone). Seconds:"""
    )
    yield table(("of", "", "binning", "boosting"), rows)


def memory_blocks(one: Figures) -> Iterator[str]:
    cells = one["bytes_per_cell"]
    yield "## Memory"
    yield prose(
        f"""{one["rows"]:,} × {one["features"]} numbers, {one["rounds"]} rounds: binning
        and boosting hold at most {one["peak_bytes"] / 2**20:,.0f} MiB beside the table
        they read, {number(cells["median"])} bytes per cell
        ({number(cells["min"])}–{number(cells["max"])}; resident memory of
        {cells["runs"]} new processes, kernels loaded before)."""
    )


def search_blocks(one: Figures) -> Iterator[str]:
    rows = []
    for search, taken in one["seconds"].items():
        against = ("–", "–")
        if search != "all":
            worse = one["points_worse"][search]
            against = (
                f"{number(one['times_faster'][search])} ×",
                f"{worse['mean']:+.2f} ({worse['min']:+.2f} to {worse['max']:+.2f})",
            )
        error = f"{one['test_error'][search]:.2f}"
        rows.append((f"`{search}`", spread(taken), against[0], error, against[1]))
    yield "## Looking at fewer features"
    yield prose(
        f"""{one["rows"]:,} × {one["features"]:,} numbers, half of them of use,
        {one["rounds"]:,} rounds, boosting alone; all but `all` with
        `search_size={one["search_size"]}`. Test error in % on {one["test_rows"]:,}
        other rows, mean of {one["tables"]} tables. `ucb_unscaled` is UCB(k) as its
        paper has it; `ucb` scales the bonus by the largest reward seen, which was
        chosen on other tables of this kind (docs/mathematics.md)."""
    )
    yield table(
        ("search", "seconds", "as fast as `all`", "test error", "above `all`, points"),
        rows,
    )


def sessions_blocks(one: Figures) -> Iterator[str]:
    steps = ("observe", "next_question", "answer_to_question", "forecast")
    rows = [
        (
            policy,
            *(
                f"{calls[step]['p50_us']:,.0f} ({calls[step]['p95_us']:,.0f})"
                for step in steps
            ),
        )
        for policy, calls in one["calls"].items()
    ]
    yield "## One session, in process"
    yield prose(
        f"""{one["hypotheses"]} stumps, {one["features"]} features; microseconds, p50
        (p95). `both` is the time from an answer to the next question."""
    )
    yield table(("policy", "take an answer", "next question", "both", "forecast"), rows)


def curves_blocks(one: Figures) -> Iterator[str]:
    times = "; ".join(
        f"policy `{policy}` {spread(taken)} s"
        for policy, taken in one["seconds"].items()
    )
    yield "## Curves"
    yield prose(
        f"""`evaluate` on {one["rows"]:,} rows × {one["budgets"]} budgets,
        {one["hypotheses"]} stumps on {one["features"]} features: {times}."""
    )


def start_blocks(one: Figures) -> Iterator[str]:
    yield "## Start"
    yield prose(
        f"""A new process, its kernels in the cache: modules imported after
        {spread(one["imported"])} s, kernels loaded after {spread(one["warm"])} s, the
        first round of a training on {one["rows"]:,} × {one["features"]} made after
        {spread(one["first_round"])} s."""
    )


def accuracy_blocks(one: Figures) -> Iterator[str]:
    rows = []
    for name, measured in one["sets"].items():
        for learner, errors in measured["learners"].items():
            peer, difference = "–", "–"
            if "adaboost" in errors:
                peer = interval(errors["adaboost"])
                difference = interval(errors["difference"], "+")
            rows.append(
                (
                    f"{name}, {measured['classes']} classes",
                    LEARNERS[learner],
                    interval(errors["askless"]),
                    peer,
                    difference,
                )
            )
    yield "## Test error on several classes"
    yield prose(
        f"""AdaBoost.MH beside scikit-learn's `AdaBoostClassifier` (SAMME) with the same
        learner: stumps, or trees of {one["leaves"]} leaves; products of
        {one["factors"]} stumps have no peer there. {one["rounds"]} rounds; a perfect
        hypothesis ends either sooner. {one["splits"]} random splits with the same rows
        for both, {100 * one["test_share"]:.0f} % for testing, class shares kept,
        nothing tuned. Categories (splice) are one-hot encoded for scikit-learn. Share
        of rows put in a wrong class in %, mean ± half of its 95 % interval; the
        difference is paired, below 0 where ours is lower. Intervals are Student's,
        widened because splits share rows (Nadeau and Bengio 2003)."""
    )
    yield table(("set", "learner", "Askless", "scikit-learn", "difference"), rows)


def interval(one: Mapping[str, float], sign: str = "") -> str:
    return f"{one['mean']:{sign}.1f} ± {one['half_width']:.1f}"


def http_blocks(http: Figures) -> Iterator[str]:
    rows, rates = [], []
    for engine, handlers in http["engines"].items():
        title = ENGINES[engine]
        for handler, name in (("askless", "Askless"), ("bare", "bare")):
            one = handlers[handler]
            rows.append((title, name, f"{one['p50_ms']:.2f}", f"{one['p99_ms']:.2f}"))
        rate = handlers["bare"]["p50_ms"] / handlers["askless"]["p50_ms"]
        rates.append(f"{rate:.2f} ({title})")
    n_answers = next(iter(http["engines"].values()))["askless"]["answers"]
    yield "## An answer over HTTP"
    yield prose(
        f"""`python -m benchmarks.http_latency` (its figures:
        `benchmarks/results/http_latency.json`, another run than the above): one caller,
        beside a bare FastAPI and SQLAlchemy handler with the same transaction and the
        same statements that computes nothing; two server processes asked in turn,
        {n_answers} answers each. Milliseconds:"""
    )
    yield table(("database", "handler", "p50", "p99"), rows)
    yield prose(
        f"""So an answer comes at {" and ".join(rates)} times the rate of the bare
        handler."""
    )
