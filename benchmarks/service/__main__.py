"""`python -m benchmarks.service`: the table "To reach" of the service, in one run.

Three servers in processes of their own: ours, the bare handler (`bare.py`), and the
code of an earlier commit with the model that it makes of the same data. They are asked
in blocks of seconds, in turn, so that what else the machine does falls on all alike;
every figure is of a block, every ratio of the blocks of one round. Nothing but the
clients runs here. Then many sessions are played at once, and what must not be is
counted: `--invariants --sessions 10000 --answers 100000` is the long run. `--pages`
reads pages alone. Both leave the other figures as they are. SQLite, then PostgreSQL:
that of ASKLESS_TEST_POSTGRES_URL, or the wheel's.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.documents import fill
from benchmarks.service.clients import Caller, Player, drive, players
from benchmarks.service.invariants import check_invariants
from benchmarks.service.pages import measure_pages
from benchmarks.service.servers import (
    ROOT,
    Party,
    database,
    old_code,
    served,
    train_model,
    workers,
)
from benchmarks.service.tables import write_service

RESULTS = ROOT / "benchmarks" / "results" / "service.json"
DOCUMENT = ROOT / "docs" / "performance.md"
HEADING = "## An answer over HTTP"
BEFORE = "b31d553"
ENGINES = ("sqlite", "postgresql")
Figures = dict[str, Any]


def block(
    party: Party,
    model: str | None,
    n_clients: int,
    seconds: float,
    *,
    act: Any = Player.answer,
    rate: float | None = None,
    guess: float = 300.0,
) -> Figures:
    """One party for some seconds: rate, percentiles, processor time per request."""
    with players(party.ports, model, n_clients, next(SEEDS)) as clients:
        if act is Player.answer:
            n_sessions = int((rate or guess) * seconds / n_clients / 9) + 1
            for caller in clients:
                caller.stock = [caller.open() for _ in range(n_sessions)]
        cpu_s = party.cpu_s
        elapsed = drive(clients, act, seconds, rate)
        cpu_s = party.cpu_s - cpu_s
        times = [one for client in clients for one in client.seconds]
    p50, p99 = np.quantile(times, [0.5, 0.99]) * 1000
    return {
        "requests": len(times),
        "per_s": len(times) / elapsed,
        "p50_ms": float(p50),
        "p99_ms": float(p99),
        "cpu_ms": 1000 * cpu_s / len(times),
    }


SEEDS: Iterator[int] = iter(range(1_000_000))


def compare(
    asked: dict[str, tuple[Party, str | None]],
    n_clients: int,
    arguments: argparse.Namespace,
    **more: Any,
) -> dict[str, list[Figures]]:
    """Blocks of several parties in turn, the order turned around each time."""
    found: dict[str, list[Figures]] = {name: [] for name in asked}
    for number in range(arguments.rounds):
        names = list(asked) if number % 2 == 0 else list(asked)[::-1]
        for name in names:
            party, model = asked[name]
            guess = found[name][-1]["per_s"] if found[name] else 300.0
            made = block(
                party, model, n_clients, arguments.seconds, guess=guess, **more
            )
            found[name].append(made)
    return found


def told(found: dict[str, list[Figures]]) -> Figures:
    """Medians of the blocks, with their least and greatest."""
    return {
        name: {
            key: [
                round(float(quantile), 3)
                for quantile in np.quantile([b[key] for b in blocks], [0.5, 0, 1])
            ]
            for key in blocks[0]
        }
        for name, blocks in found.items()
    }


def ratio(
    found: dict[str, list[Figures]], one: str, other: str, key: str
) -> list[float]:
    """Median, least and greatest of the ratios of the rounds."""
    pairs = zip(found[one], found[other], strict=True)
    ratios = [a[key] / b[key] for a, b in pairs]
    return [round(float(q), 3) for q in np.quantile(ratios, [0.5, 0, 1])]


def measure(engine: str, trees: dict[str, Path], arguments: Any) -> Figures:
    """Every line of the table for one database."""
    with ExitStack() as stack:
        parties = {}
        for name, tree in trees.items():
            url = stack.enter_context(database(engine))
            party = stack.enter_context(served(name, tree, url))
            for label, document in arguments.models.get(name, {}).items():
                party.models[label] = import_model(party, document)
            parties[name] = party
        ours, bare = parties["askless"], parties["bare"]
        asked: dict[str, tuple[Party, str | None]] = {
            "askless": (ours, ours.models["demo"]),
            "bare": (bare, None),
        }
        if "before" in parties:
            before = parties["before"]
            asked["before"] = (before, before.models["demo"])
            asked["same model"] = (ours, ours.models["before"])
        for party, model in asked.values():
            block(party, model, 4, 1.0)
        return {"lines": write_lines(engine, asked, arguments)}


def write_lines(engine: str, asked: Any, arguments: Any) -> Figures:
    lines: Figures = {}
    both = {name: asked[name] for name in ("askless", "bare")}
    for n_clients in (16, 8, 1):
        found = compare(asked if n_clients == 16 else both, n_clients, arguments)
        others = [name for name in found if name not in ("askless", "same model")]
        line = lines[f"{n_clients} clients"] = {"blocks": told(found)}
        for other in others:
            for key in ("per_s", "cpu_ms"):
                for mine in found.keys() & {"askless", "same model"}:
                    line[f"{mine} / {other}, {key}"] = ratio(found, mine, other, key)
        show(engine, f"{n_clients} clients", line)
        if n_clients == 16:
            half = np.median([run["per_s"] for run in found["askless"]]) / 2
    found = compare(both, 16, arguments, rate=float(half))
    p99 = ratio(found, "askless", "bare", "p99_ms")
    line = lines["half rate"] = {"blocks": told(found), "p99": p99}
    show(engine, "half rate", line)
    opened = compare({"askless": both["askless"]}, 16, arguments, act=Player.start)
    answered = compare({"bare": both["bare"]}, 16, arguments)
    found = {"askless": opened["askless"], "bare": answered["bare"]}
    rates = ratio(found, "askless", "bare", "per_s")
    line = lines["POST /predict"] = {"blocks": told(found), "rate": rates}
    show(engine, "POST /predict", line)
    return lines


def show(*words: object) -> None:
    *before, line = words
    print(*before, json.dumps(line, indent=1), flush=True)


def import_model(party: Party, document: str) -> str:
    with Caller(party.ports[0]) as caller:
        return str(caller.post("/models?as_version=true", json.loads(document))["id"])


def play_many(engine: str, arguments: Any) -> Figures:
    """Many sessions, on PostgreSQL by two API processes and two workers."""
    n_processes = 1 if engine == "sqlite" else 2
    with database(engine) as url, ExitStack() as stack:
        party = stack.enter_context(served("askless", ROOT, url, n_processes))
        if n_processes > 1:
            stack.enter_context(workers(url, n_processes))
        model = import_model(party, arguments.models["askless"]["demo"])
        return check_invariants(
            party, model, url, arguments.sessions, arguments.answers
        )


def measure_two(tree: Path, arguments: Any) -> Figures:
    """One API process beside two over one PostgreSQL."""
    model = arguments.models["askless"]["demo"]
    with database("postgresql") as url, ExitStack() as stack:
        pair = stack.enter_context(served("askless", tree, url, 2))
        stack.enter_context(workers(url, 2))
        key = import_model(pair, model)
        single = Party("one", pair.ports[:1], pair.processes[:1])
        asked: Any = {"one": (single, key), "two": (pair, key)}
        for party, _ in asked.values():
            block(party, key, 4, 1.0)
        found = compare(asked, 16, arguments)
        rates = ratio(found, "two", "one", "per_s")
        return {"blocks": told(found), "rate": rates}


def read_pages(engine: str, arguments: Any) -> Figures:
    """The page of a question, by readers who are signed in."""
    with database(engine) as url, served("askless", ROOT, url) as party:
        model = import_model(party, arguments.models["askless"]["demo"])
        found = measure_pages(party, model, arguments.rounds, arguments.seconds)
        return {"load": os.getloadavg()[0], **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engines", nargs="*", default=ENGINES, choices=ENGINES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--before", default=BEFORE, help="'' leaves it out")
    parser.add_argument("--invariants", action="store_true", help="no speed")
    parser.add_argument("--pages", action="store_true", help="pages alone")
    parser.add_argument("--sessions", type=int, default=300)
    parser.add_argument("--answers", type=int, default=3_000)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    # Its threads wait for sockets; a shorter turn keeps them from waiting for it.
    sys.setswitchinterval(0.0005)
    results: Figures = {
        "measured": datetime.now(UTC).date().isoformat(),
        "machine": {"processor": processor(), "cores": os.cpu_count()},
        "load_before": os.getloadavg()[0],
    }
    is_short = arguments.invariants or arguments.pages
    with ExitStack() as stack:
        trees = {"askless": ROOT, "bare": ROOT}
        arguments.models = {"askless": {"demo": train_model(ROOT)}}
        if is_short and arguments.output.exists():
            results = json.loads(arguments.output.read_text())
        if not is_short and arguments.before:
            trees["before"] = stack.enter_context(old_code(arguments.before))
            old = train_model(trees["before"])
            arguments.models["before"] = {"demo": old}
            arguments.models["askless"]["before"] = old
        for engine in arguments.engines:
            if not arguments.invariants:
                found = results[f"{engine}, pages"] = read_pages(engine, arguments)
                show(engine, "pages", found)
            if not is_short:
                results[engine] = measure(engine, trees, arguments)
            if arguments.answers and not arguments.pages:
                found = results[f"{engine}, money"] = play_many(engine, arguments)
                show(engine, "money", found)
            write(results, arguments.output)
        if "postgresql" in arguments.engines and not is_short:
            results["two processes"] = measure_two(ROOT, arguments)
            show("two processes", results["two processes"])
    if not is_short:
        results["load_after"] = os.getloadavg()[0]
    write(results, arguments.output)


def write(results: Figures, path: Path) -> None:
    """Store what was measured; fill in the document's part about the service."""
    path.write_text(json.dumps(results, indent=1) + "\n")
    if path != RESULTS:
        return
    before, heading, rest = DOCUMENT.read_text().partition(HEADING)
    part, end, after = rest.partition("\n## ")
    filled = fill(part, write_service(results))
    DOCUMENT.write_text(f"{before}{heading}{filled}{end}{after}")


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


if __name__ == "__main__":
    main()
