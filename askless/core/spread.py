"""Run a function on several items at once, on all cores."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from askless.core.kernels import count_threads

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_threads(
    work: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[Result]:
    """Yield the result of a function for each item, in their order, on all cores.

    Kernels and numpy leave Python's lock while they compute, so threads suffice. Each
    item has one thread, so the number of threads changes no result. A caller that
    stops early waits for the items begun and cancels the others.
    """
    with ThreadPoolExecutor(count_threads()) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for future in futures:
                yield future.result()
        finally:
            for future in futures:
                future.cancel()
