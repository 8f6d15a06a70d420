"""What is played and kept: a line of JSON for each set, draw, protocol and party.

Lines are added to a file below build/ as jobs end, so a run that was stopped goes on;
the results in the repository are the same lines, sorted. Each says of which commit of
askless/core it is.
"""

import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.frontier.draws import PROTOCOLS
from benchmarks.frontier.parties import PARTIES, play
from benchmarks.papers.runs import Job, Measurement, play_all, start_worker

ROOT = Path(__file__).resolve().parents[2]
CORE = "askless/core"
# Raise it when a protocol or a method has changed its meaning.
VERSION = 1
KEY = ("draw", "set", "protocol", "party")
Line = dict[str, Any]
Lines = dict[tuple[Any, ...], Line]


def read(paths: Iterable[Path]) -> Lines:
    """Read what is kept of this version; of one job the line read last."""
    lines = [
        json.loads(line)
        for path in paths
        if path.is_file()
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    valid = [line for line in lines if line.get("version") == VERSION]
    return {tuple(line[name] for name in KEY): line for line in valid}


def write(path: Path, lines: Lines) -> None:
    """Write all lines, sorted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.dumps(lines[key], separators=(",", ":")) for key in sorted(lines)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def find_core() -> str:
    """Return the last commit of core/, with a + where it has changed since."""
    git = partial(subprocess.run, cwd=ROOT, capture_output=True, text=True, check=False)
    commit = git(["git", "log", "-1", "--format=%h", "--", CORE]).stdout.strip()
    changed = git(["git", "status", "--porcelain", "--", CORE]).stdout
    return f"{commit or 'unknown'}{'+' if changed else ''}"


def find_jobs(titles: Iterable[str], n_draws: int, lines: Lines) -> list[Job]:
    """Jobs that have no line, draw after draw, in the order of the sets."""
    return [
        Job(number, f"{protocol} {party}", title)
        for number in range(n_draws)
        for title in titles
        for protocol in PROTOCOLS
        for party in PARTIES
        if (number, title, protocol, party) not in lines
    ]


def make_parts() -> dict[str, Measurement]:
    """Return what plays each party under each sort of prices."""
    return {
        f"{protocol} {party}": Measurement({}, {}, partial(play, party, protocol))
        for protocol in PROTOCOLS
        for party in PARTIES
    }


def run(
    jobs: list[Job], path: Path, n_workers: int, parts: dict[str, Measurement]
) -> None:
    """Play jobs and add their lines to the file as they end."""
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    core, spawn = find_core(), multiprocessing.get_context("spawn")
    path.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(n_workers, spawn, start_worker) as pool:
        try:
            played = play_all(pool, parts, jobs, n_workers)
            for number, (job, record) in enumerate(played, 1):
                protocol, party = job.part.split()
                key = dict(
                    zip(KEY, (job.number, job.title, protocol, party), strict=True)
                )
                line = {**key, "version": VERSION, "core": core, **record}
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
                told = f"{number}/{len(jobs)} {job.part} {job.title} {job.number}"
                print(f"{told}: {record['seconds']} s", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
