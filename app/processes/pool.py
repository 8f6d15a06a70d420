"""Parts of a table worked on in several processes, their results in order."""

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from app.processes.children import end_with_parent
from core.errors import CoreError

Part = TypeVar("Part")
Found = TypeVar("Found")

# Not `fork`: the caller may have threads.
CONTEXT = multiprocessing.get_context("forkserver")
# For each process, so that none waits for the first part that is not done.
N_AHEAD = 2


class ProcessLostError(CoreError):
    """A process that worked on a part of a table has died."""

    def __init__(self) -> None:
        super().__init__(
            "A process that worked on rows was killed, perhaps for want of memory; "
            "nothing was written. Fewer processes take less."
        )


def work_through(
    work: Callable[[Part], Iterator[Found]], parts: Iterable[Part], n_processes: int
) -> Iterator[Found]:
    """Yield what work finds in each part, part by part.

    With one process all is done in this one. `work` and parts are sent to others;
    what they raise is raised here. Raises `ProcessLostError` where one dies.
    """
    if n_processes == 1:
        for part in parts:
            yield from work(part)
        return
    pool = ProcessPoolExecutor(n_processes, CONTEXT, end_with_parent)
    waiting: deque[Future[list[Found]]] = deque()
    try:
        for part in parts:
            waiting.append(pool.submit(collect, work, part))
            if len(waiting) >= N_AHEAD * n_processes:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BrokenProcessPool:
        raise ProcessLostError from None
    finally:
        pool.shutdown(cancel_futures=True)


def collect(work: Callable[[Part], Iterator[Found]], part: Part) -> list[Found]:
    """Return all that work finds in a part; runs in another process."""
    return list(work(part))
