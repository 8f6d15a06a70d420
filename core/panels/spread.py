"""Runs a function on several things at once, on all cores."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from core.kernels import count_threads

Thing = TypeVar("Thing")
Made = TypeVar("Made")


def spread(work: Callable[[Thing], Made], things: Iterable[Thing]) -> Iterator[Made]:
    """Yield the result of a function for each thing, in the order of the things.

    Kernels and numpy leave Python's lock while they compute, so threads suffice. Each
    thing has one thread, so the number of threads changes no result. A caller that
    stops early waits for the things begun and cancels the others.
    """
    with ThreadPoolExecutor(count_threads()) as pool:
        doing = [pool.submit(work, thing) for thing in things]
        try:
            for one in doing:
                yield one.result()
        finally:
            for one in doing:
                one.cancel()
