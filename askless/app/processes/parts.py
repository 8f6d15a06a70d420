"""Parts of a training in several processes at once."""

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing.connection import Connection, wait

from askless.app.processes.child import Child, ChildLostError, fork_context
from askless.app.processes.memory import available_bytes
from askless.core import kernels
from askless.core.codes.binned_table import BinnedTable
from askless.core.panels.ladders import ladder_bytes
from askless.core.pipeline.parts import (
    FinishedPart,
    PartJob,
    RunningParts,
    RunParts,
    run_one_by_one,
    run_part_job,
)
from askless.core.pipeline.progress import Progress
from askless.core.pipeline.spec import TrainingSpec
from askless.core.training.algorithms import ALGORITHMS
from askless.core.training.rounds import Round

# For a table of fewer cells a process takes longer to start than it saves.
LEAST_CELLS = 50_000
# What a process takes before it has a job.
PROCESS_BYTES = 300_000_000
MAX_DEATHS = 3
WAIT_S = 0.2


@dataclass
class PartProcess:
    """A process that runs one job after the other; None: it waits for one.

    `rounds` are those of its job that it has reported.
    """

    child: Child
    job: PartJob | None = None
    rounds: list[Round] = field(default_factory=list)


@dataclass
class PartProcesses:
    """Runs jobs in `n_processes`; reports their progress in the order of the jobs.

    A process that dies is replaced; the new one goes on after the rounds that the old
    one reported. `ChildLostError` is raised after too many deaths.
    """

    n_processes: int
    n_deaths: int = 0
    _processes: list[PartProcess] = field(default_factory=list)
    #: by part: progress that was not yielded yet, and the result
    _waiting: dict[int, deque[Progress]] = field(default_factory=dict)
    _finished: dict[int, FinishedPart] = field(default_factory=dict)

    def __call__(self, jobs: Iterable[PartJob]) -> RunningParts:
        """Run jobs; return results in the order of parts, and end all processes."""
        left = iter(jobs)
        try:
            for job in islice(left, self.n_processes):
                self._begin(self._start_process(), job)
            yield from self._follow(left)
        finally:
            for process in self._processes:
                process.child.end()
        return [self._finished[number] for number in sorted(self._finished)]

    def _start_process(self) -> PartProcess:
        """Start a process with its share of the cores."""
        n_threads = kernels.count_threads() // self.n_processes
        child = Child.start(fork_context(serve_jobs), serve_jobs, n_threads)
        self._processes.append(PartProcess(child))
        return self._processes[-1]

    def _begin(self, process: PartProcess, job: PartJob) -> None:
        """Hand a job to a process."""
        process.job, process.rounds = job, []
        self._waiting.setdefault(job.part.number, deque())
        process.child.send(job)

    def _follow(self, left: Iterator[PartJob]) -> Iterator[Progress]:
        """Yield the progress of all parts, one part after the other."""
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
                # A sign of life, so that the caller can do other things meanwhile.
                yield replace(last, added=None, tested=None)

    def _listen(self, left: Iterator[PartJob]) -> None:
        """Receive messages of processes; give the next job to those that are done."""
        busy = [process for process in self._processes if process.job is not None]
        ready = wait([process.child.channel for process in busy], WAIT_S)
        for process in busy:
            if process.child.channel not in ready:
                continue
            assert process.job is not None, "only processes with a job are waited for"
            try:
                message = process.child.receive()
            except ChildLostError as lost:
                self._replace(process, process.job, lost)
                continue
            if isinstance(message, Progress):
                process.rounds += [] if message.added is None else [message.added]
                self._waiting[process.job.part.number].append(message)
                continue
            self._finished[process.job.part.number], process.job = message, None
            for job in islice(left, 1):
                self._begin(process, job)

    def _replace(
        self, process: PartProcess, job: PartJob, lost: ChildLostError
    ) -> None:
        """Start a new process that continues the job of one that died."""
        process.child.end()
        self._processes.remove(process)
        self.n_deaths += 1
        number = job.part.number
        if self.n_deaths > MAX_DEATHS:
            words = f"The process of part {number} ended with code {lost.code}."
            # Only the system kills again and again: when memory runs out.
            raise ChildLostError(
                words, lost.code, is_out_of_memory=lost.is_out_of_memory
            )
        done = {**job.done, number: (*job.done.get(number, ()), *process.rounds)}
        self._begin(self._start_process(), replace(job, done=done))


def choose_runner(
    table: BinnedTable, spec: TrainingSpec, n_processes: int | None = None
) -> RunParts:
    """Return the runner of a training's parts; `n_processes` None: as many as pay.

    Boosting uses all cores by itself; choosing and fitting panels takes long and uses
    hardly more than one. Rows that are elsewhere serve one part at a time.
    """
    if table.lay_out is not None:
        return run_one_by_one
    most = kernels.count_threads() if n_processes is None else n_processes
    if n_processes is None and not is_slow(table, spec):
        most = 1
    most = min(most, spec.folds + 1, count_fitting_parts(table, spec))
    return PartProcesses(most) if most > 1 else run_one_by_one


def is_slow(table: BinnedTable, spec: TrainingSpec) -> bool:
    """Return whether a training's parts take longer than starting processes."""
    algorithm = ALGORITHMS[spec.boost.algorithm]
    is_chosen = bool(spec.auto) or spec.selection is not None
    return (
        algorithm.has_panels or is_chosen
    ) and table.sample.values.size >= LEAST_CELLS


def count_fitting_parts(table: BinnedTable, spec: TrainingSpec) -> int:
    """Return how many parts of a training fit into memory at a time."""
    available = available_bytes()
    if available is None:
        return sys.maxsize
    n_rows, n_features = table.sample.values.shape
    part_bytes = ladder_bytes(n_rows, n_features, spec.boost.effort)
    return available // (PROCESS_BYTES + part_bytes + table.binned.codes.nbytes)


def serve_jobs(channel: Connection, n_threads: int) -> None:
    """Run jobs in a child process until the parent ends it."""
    kernels.use_threads(n_threads)
    with suppress(EOFError, OSError):
        while True:
            run_and_report(channel, channel.recv())


def run_and_report(channel: Connection, job: PartJob) -> None:
    """Run a job; send its progress, then its result or what it raised."""
    try:
        running = run_part_job(job)
        while True:
            channel.send(next(running))
    except StopIteration as end:
        channel.send(end.value)
    except Exception as error:  # It is raised where the training is followed.
        channel.send(error)
