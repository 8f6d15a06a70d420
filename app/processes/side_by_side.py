"""Parts of a training side by side, each in a process of its own."""

import multiprocessing
import signal
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any

from app.processes.children import end_with_parent
from app.processes.memory import available_bytes
from core import kernels
from core.panels.ladders import ladder_bytes
from core.pipeline.parts import (
    FinishedPart,
    PartJob,
    RunningParts,
    RunParts,
    one_by_one,
    run_job,
)
from core.pipeline.progress import Progress
from core.pipeline.spec import TrainingSpec
from core.table.binned_table import BinnedTable
from core.training.algorithms import ALGORITHMS
from core.training.rounds import Round

# Not `fork`: threads that have computed once don't outlive it.
SPAWN = multiprocessing.get_context("spawn")
# Below so many cells a process takes longer to start than it brings.
LEAST_CELLS = 50_000
# What a process takes before it has a job.
PROCESS_BYTES = 300_000_000
MAX_DEATHS = 3
WAIT_S = 0.2


class PartLostError(Exception):
    """The process of a part has ended before the part."""


@dataclass
class PartProcess:
    """A process that runs one job after the other; None: it waits for one.

    `rounds` are those that it has told of its job.
    """

    process: Any
    channel: Connection
    job: PartJob | None = None
    rounds: list[Round] = field(default_factory=list)


@dataclass
class PartProcesses:
    """Runs jobs in so many processes; their progress is told in the jobs' order.

    A process that dies is replaced: its part goes on after the rounds it has told.
    Where deaths go on, `PartLostError` is raised, or MemoryError where it was killed.
    """

    n_processes: int
    n_deaths: int = 0
    _processes: list[PartProcess] = field(default_factory=list)
    #: by part what was not passed on yet, and what came of it
    _waiting: dict[int, deque[Progress]] = field(default_factory=dict)
    _finished: dict[int, FinishedPart] = field(default_factory=dict)

    def __call__(self, jobs: Iterable[PartJob]) -> RunningParts:
        """Run jobs; however that ends, no process is left."""
        left = iter(jobs)
        try:
            for job in islice(left, self.n_processes):
                self._begin(start_process(self.n_processes), job)
            yield from self._follow(left)
        finally:
            for one in self._processes:
                end_process(one)
        return [self._finished[number] for number in sorted(self._finished)]

    def _begin(self, one: PartProcess, job: PartJob) -> None:
        """Hand a job to a process."""
        if one not in self._processes:
            self._processes.append(one)
        one.job, one.rounds = job, []
        self._waiting.setdefault(job.part.number, deque())
        # One that is dead already is found by listening.
        with suppress(OSError):
            one.channel.send(job)

    def _follow(self, left: Iterator[PartJob]) -> Iterator[Progress]:
        number, last = 0, None
        while number in self._waiting:
            self._listen(left)
            waiting = self._waiting[number]
            while waiting:
                last = waiting.popleft()
                yield last
            if number in self._finished:
                number += 1
            elif last is not None:
                # A sign of life, so that who pulls can see to other things.
                yield replace(last, added=None)

    def _listen(self, left: Iterator[PartJob]) -> None:
        """Take what processes tell, and give who is done another job."""
        busy = [one for one in self._processes if one.job is not None]
        heard = wait([one.channel for one in busy], WAIT_S)
        for one in busy:
            if one.channel not in heard:
                continue
            assert one.job is not None, "one that waits is not listened to"
            try:
                told = one.channel.recv()
            except (EOFError, OSError):
                self._replace(one)
                continue
            if isinstance(told, Exception):
                raise told
            if isinstance(told, Progress):
                one.rounds += [] if told.added is None else [told.added]
                self._waiting[one.job.part.number].append(told)
                continue
            self._finished[one.job.part.number], one.job = told, None
            for job in islice(left, 1):
                self._begin(one, job)

    def _replace(self, one: PartProcess) -> None:
        """Let another process go on with the job of one that has died."""
        end_process(one)
        self._processes.remove(one)
        self.n_deaths += 1
        assert one.job is not None
        if self.n_deaths > MAX_DEATHS:
            code, number = one.process.exitcode, one.job.part.number
            words = f"the process of part {number} ended with {code}"
            # Who else kills again and again: the system, where memory ends.
            raise (MemoryError if code == -signal.SIGKILL else PartLostError)(words)
        number, before = one.job.part.number, one.job.done
        done = {**before, number: (*before.get(number, ()), *one.rounds)}
        job = replace(one.job, done=done)
        self._begin(start_process(self.n_processes), job)


def choose_runner(
    table: BinnedTable, spec: TrainingSpec, n_processes: int | None = None
) -> RunParts:
    """Return what runs the parts of a training; None: in as many processes as pay.

    Boosting uses all cores by itself. What chooses and fits panels uses hardly more
    than one, and takes long. Where rows are elsewhere, one part has them at a time.
    """
    if table.lay_out is not None:
        return one_by_one
    most = kernels.count_threads() if n_processes is None else n_processes
    if n_processes is None and not is_slow(table, spec):
        most = 1
    most = min(most, spec.folds + 1, count_places(table, spec))
    return PartProcesses(most) if most > 1 else one_by_one


def is_slow(table: BinnedTable, spec: TrainingSpec) -> bool:
    """Whether the parts take longer than processes take to start."""
    algorithm = ALGORITHMS[spec.boost.algorithm]
    is_chosen = bool(spec.auto) or spec.selection is not None
    return (
        algorithm.has_panels or is_chosen
    ) and table.sample.values.size >= LEAST_CELLS


def count_places(table: BinnedTable, spec: TrainingSpec) -> int:
    """Return how many parts the memory has room for at a time."""
    there = available_bytes()
    n_rows, n_features = table.sample.values.shape
    its = (
        ladder_bytes(n_rows, n_features, spec.boost.effort) + table.binned.codes.nbytes
    )
    return sys.maxsize if there is None else there // (PROCESS_BYTES + its)


def start_process(n_processes: int) -> PartProcess:
    """Start a process, with its share of the cores."""
    ours, theirs = SPAWN.Pipe()
    n_threads = kernels.count_threads() // n_processes
    process = SPAWN.Process(target=serve_jobs, args=(theirs, n_threads), daemon=True)
    process.start()
    theirs.close()
    return PartProcess(process, ours)


def end_process(one: PartProcess) -> None:
    """End a process at once."""
    one.process.kill()
    one.process.join()
    one.channel.close()


def serve_jobs(channel: Connection, n_threads: int) -> None:
    """Be the process: run the jobs that come, until there is no one to tell."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    kernels.use_threads(n_threads)
    with suppress(EOFError, OSError):
        while True:
            run_one(channel, channel.recv())


def run_one(channel: Connection, job: PartJob) -> None:
    """Run a job; tell its progress, and what came of it."""
    try:
        running = run_job(job)
        while True:
            channel.send(next(running))
    except StopIteration as end:
        channel.send(end.value)
    except Exception as error:  # It is raised where the training is followed.
        channel.send(error)
