"""A worker's children: killed by the system, killed while idle, stuck at the end."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from tests.app.jobs import Jobs, noisy_spec, noisy_table, wait
from tests.app.test_worker import Launch, Process

pytest_plugins = ["tests.app.test_worker"]
pytestmark = [
    pytest.mark.chaos,
    pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True),
]
# Where groups of processes have limits of memory, and what these are called there.
GROUPS = {
    Path("/sys/fs/cgroup/memory"): "memory.limit_in_bytes",
    Path("/sys/fs/cgroup"): "memory.max",
}
Confine = Callable[[int, int], None]


@pytest.fixture
def confine() -> Iterator[Confine]:
    """Limit what a process may take from now on; beyond that the system kills it."""
    group, limit = make_group()

    def confine(pid: int, n_bytes: int) -> None:
        limit.write_text(str(n_bytes))
        (group / "cgroup.procs").write_text(str(pid))

    yield confine
    for pid in (group / "cgroup.procs").read_text().split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    wait(lambda: not (group / "cgroup.procs").read_text().split())
    group.rmdir()


def make_group() -> tuple[Path, Path]:
    """Make a group of no process yet; return it, and the file of its limit."""
    for root, name in GROUPS.items():
        group = root / f"askless-{uuid4().hex}"
        with suppress(OSError):
            group.mkdir()
            if (group / name).exists():
                return group, group / name
            group.rmdir()
    pytest.skip("no group of processes can be made here, which takes a root's rights")


def test_training_that_the_system_kills_for_memory_says_so(
    jobs: Jobs, launch: Launch, confine: Confine
) -> None:
    (worker,) = launch()
    confine(worker.child, 12_000_000)
    large = jobs.start(noisy_table(20_000), noisy_spec(2000))

    wait(lambda: jobs.get(large.id).state == "failed")
    small = jobs.start(noisy_table(), noisy_spec(5))
    wait(lambda: jobs.get(small.id).state == "succeeded")

    ended = jobs.get(large.id)
    assert ended.error is not None
    assert (ended.attempt, ended.error["type"]) == (1, "/problems/out-of-memory")
    assert "the memory of the machine" in ended.error["detail"]


def test_child_that_dies_while_idle_costs_no_training_anything(
    jobs: Jobs, launch: Launch
) -> None:
    (worker,) = launch(max_attempts=1)
    os.kill(worker.child, signal.SIGKILL)
    wait(lambda: "child.lost" in worker.events())

    training = jobs.start(noisy_table(), noisy_spec(5))
    wait(lambda: jobs.get(training.id).state in ("succeeded", "failed"))

    ended = jobs.get(training.id)
    assert (ended.state, ended.attempt) == ("succeeded", 1)


def errands_of(worker: Process) -> int:
    """The process that runs errands."""
    pid = worker.process.pid
    pids = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    (found,) = {int(pid) for pid in pids} - {worker.child}
    return found


def test_errand_that_hangs_keeps_no_worker_from_ending(
    launch: Launch,
) -> None:
    (worker,) = launch()
    os.kill(errands_of(worker), signal.SIGSTOP)

    worker.process.terminate()
    worker.process.join(20)

    assert worker.process.exitcode == 0
    assert worker.events()[-1] == "worker.stopped"
