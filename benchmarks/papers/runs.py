"""What to measure, in which processes, and how it is kept: one JSON file per part.

A part gives a `Measurement`: jobs (set, repetition) and a function that plays one.
What a file already holds is not played again, unless the settings have changed, or the
number of rows of a set.
"""

import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

Record = dict[str, Any]
Results = dict[str, Any]
COLUMNS = (
    "{task.description:<10}",
    BarColumn(),
    MofNCompleteColumn(),
    TimeRemainingColumn(),
)

# Raise it when what a repetition stores has changed its meaning.
VERSION = 1
FLUSH_S = 10.0
AHEAD = 2


class Job(NamedTuple):
    """A repetition to play; sorted, the first ones of every part and set come first."""

    number: int
    part: str
    title: str


@dataclass(frozen=True)
class Measurement:
    """Repetitions by set, and the function (a module's own) that plays one.

    `lacking` names the sets that are not there, with the reason; `n_rows` says of how
    many rows a set was, where that may change.
    """

    settings: dict[str, Any]
    repetitions: dict[str, int]
    play: Callable[[str, int], Record]
    lacking: dict[str, str] = field(default_factory=dict)
    n_rows: dict[str, int] = field(default_factory=dict)


def read(path: Path, measurement: Measurement) -> Results:
    """Read what is stored under the same settings and of the same rows."""
    settings = json.loads(json.dumps({"version": VERSION, **measurement.settings}))
    stored: Results = json.loads(path.read_text()) if path.is_file() else {}
    if stored and stored["settings"] != settings:
        print(f"{path.name}: other settings, measured afresh", file=sys.stderr)
    if not stored or stored["settings"] != settings:
        stored = {"settings": settings, "sets": {}}
    before, now = stored.get("n_rows", {}), measurement.n_rows
    changed = [title for title in now if before.get(title) != now[title]]
    for title in changed:
        if stored["sets"].pop(title, None):
            print(f"{path.name}: {title} has other rows, afresh", file=sys.stderr)
    stored |= {"lacking": measurement.lacking, "n_rows": {**before, **now}}
    return stored


def write(paths: dict[str, Path], all_results: dict[str, Results]) -> None:
    for name, path in paths.items():
        write_part(path, all_results[name])


def write_part(path: Path, results: Results) -> None:
    """Replace the file in one step; a line per repetition."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = {key: value for key, value in results.items() if key != "sets"}
    lines = []
    for title, records in results["sets"].items():
        rows = [
            f'"{number}": {json.dumps(records[number], separators=(",", ":"))}'
            for number in sorted(records, key=int)
        ]
        lines.append(f"{json.dumps(title)}: {{\n" + ",\n".join(rows) + "\n}")
    body = json.dumps(head)[:-1] + ', "sets": {\n' + ",\n".join(lines) + "\n}}\n"
    fresh = path.with_suffix(".tmp")
    fresh.write_text(body)
    fresh.replace(path)


def find_jobs(
    parts: dict[str, Measurement], all_results: dict[str, Results]
) -> list[Job]:
    """Jobs not stored yet, all parts and sets in turn."""
    jobs = [
        Job(number, part, title)
        for part, measurement in parts.items()
        for title, n_repetitions in measurement.repetitions.items()
        for number in range(n_repetitions)
        if str(number) not in all_results[part]["sets"].get(title, {})
    ]
    return sorted(jobs)


def timed(play: Callable[[str, int], Record], title: str, number: int) -> Record:
    """Play one repetition in a worker, and note its processor time."""
    start = time.process_time()
    record = play(title, number)
    return {**record, "seconds": round(time.process_time() - start, 2)}


def start_worker() -> None:
    """Leave Ctrl-C to the parent, which then stores what is there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run(parts: dict[str, Measurement], folder: Path, n_workers: int) -> None:
    """Play what is missing of every part and store it as it comes."""
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    paths = {name: folder / f"papers_{name}.json" for name in parts}
    all_results = {name: read(paths[name], part) for name, part in parts.items()}
    jobs = find_jobs(parts, all_results)
    written_at = time.monotonic()
    spawn = multiprocessing.get_context("spawn")
    with (
        Progress(*COLUMNS, console=Console(stderr=True)) as progress,
        ProcessPoolExecutor(n_workers, spawn, start_worker) as pool,
    ):
        bars = {}
        for name, part in parts.items():
            total = sum(part.repetitions.values())
            n_done = total - sum(job.part == name for job in jobs)
            bars[name] = progress.add_task(name, total=total, completed=n_done)
        try:
            for job, record in play_all(pool, parts, jobs, n_workers):
                records = all_results[job.part]["sets"].setdefault(job.title, {})
                records[str(job.number)] = record
                progress.advance(bars[job.part])
                if time.monotonic() - written_at > FLUSH_S:
                    write(paths, all_results)
                    written_at = time.monotonic()
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            write(paths, all_results)


def play_all(
    pool: ProcessPoolExecutor,
    parts: dict[str, Measurement],
    jobs: list[Job],
    n_workers: int,
) -> Iterator[tuple[Job, Record]]:
    """Yield records as they come; few jobs wait in the pool, so stopping is quick."""
    waiting: dict[Future[Record], Job] = {}
    queue = iter(jobs)
    while True:
        for job in islice(queue, n_workers * AHEAD - len(waiting)):
            play = parts[job.part].play
            waiting[pool.submit(timed, play, job.title, job.number)] = job
        if not waiting:
            return
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            yield waiting.pop(future), future.result()
