"""Blocks of a table worked on in several processes, their results in order.

The only children that are no `Child`: the standard library's pool starts its own. It
hands out short pieces of work and collects their results, which is all that is needed
here; `parts` has long pieces that report progress and outlive the death of a process.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from askless.app.processes.child import ChildLostError, end_with_parent, fork_context

Block = TypeVar("Block")
Result = TypeVar("Result")

# Blocks waiting for each process, so that none is idle until the oldest is done.
N_AHEAD = 2
KILLED = (
    "A process that worked on rows was killed, perhaps for want of memory; "
    "nothing was written. Fewer processes take less."
)


def map_in_processes(
    work: Callable[[Block], Iterator[Result]], blocks: Iterable[Block], n_processes: int
) -> Iterator[Result]:
    """Yield the results of `work` for each block, in the order of the blocks.

    With one process all is done in this one. `work` and blocks are sent to the others;
    what they raise is raised here. Raises `ChildLostError` if one of them dies.
    """
    if n_processes == 1:
        for block in blocks:
            yield from work(block)
        return
    pool = ProcessPoolExecutor(n_processes, fork_context(work), end_with_parent)
    waiting: deque[Future[list[Result]]] = deque()
    try:
        for block in blocks:
            waiting.append(pool.submit(collect_results, work, block))
            if len(waiting) >= N_AHEAD * n_processes:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BrokenProcessPool:
        raise ChildLostError(KILLED) from None
    finally:
        pool.shutdown(cancel_futures=True)


def collect_results(
    work: Callable[[Block], Iterator[Result]], block: Block
) -> list[Result]:
    """Return all results of `work` for a block; runs in a process of the pool."""
    return list(work(block))
