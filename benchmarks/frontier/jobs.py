"""What is played: a job for each set, draw, protocol and party, kept as a line."""

import multiprocessing
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks import lines
from benchmarks.frontier.draws import PROTOCOLS
from benchmarks.frontier.parties import PARTIES, play
from benchmarks.lines import Lines
from benchmarks.papers.runs import Job, Measurement, play_all, start_worker

# Raise it when a protocol or a method has changed its meaning.
VERSION = 1
KEY = ("draw", "set", "protocol", "party")


def read(paths: Iterable[Path]) -> Lines:
    """Read what is kept of this version; of one job the line read last."""
    return lines.read(paths, KEY, VERSION)


def find_jobs(titles: Iterable[str], n_draws: int, kept: Lines) -> list[Job]:
    """Jobs that have no line, draw after draw, in the order of the sets."""
    return [
        Job(number, f"{protocol} {party}", title)
        for number in range(n_draws)
        for title in titles
        for protocol in PROTOCOLS
        for party in PARTIES
        if (number, title, protocol, party) not in kept
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
    core, spawn = lines.find_core(), multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_workers, spawn, start_worker) as pool:
        try:
            played = play_all(pool, parts, jobs, n_workers)
            for number, (job, record) in enumerate(played, 1):
                protocol, party = job.part.split()
                key = dict(
                    zip(KEY, (job.number, job.title, protocol, party), strict=True)
                )
                line = {**key, "version": VERSION, "core": core, **record}
                lines.add(path, line)
                told = f"{number}/{len(jobs)} {job.part} {job.title} {job.number}"
                print(f"{told}: {record['seconds']} s", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
