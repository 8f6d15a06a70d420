"""Work on several things, done on all cores at once."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from core.kernels import count_threads

Thing = TypeVar("Thing")
Made = TypeVar("Made")


def spread(work: Callable[[Thing], Made], things: Iterable[Thing]) -> Iterator[Made]:
    """Yield what some work makes of each thing, in the order of the things.

    Kernels and numpy leave Python's lock while they compute, so threads suffice. Each
    thing is worked on by one thread alone: the outcome does not depend on how many
    there are. Who stops early waits for what is being done, and leaves the rest undone.
    """
    with ThreadPoolExecutor(count_threads()) as pool:
        doing = [pool.submit(work, thing) for thing in things]
        try:
            for one in doing:
                yield one.result()
        finally:
            for one in doing:
                one.cancel()
