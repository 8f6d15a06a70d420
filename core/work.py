"""Work that is done in steps: a generator, pulled to its end or told in other words."""

from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

Step = TypeVar("Step")
Told = TypeVar("Told")
Found = TypeVar("Found")

# Of what is left to do, by which work of unknown length seems to move on.
STRIDE = 0.02


def end_of(working: Generator[Step, None, Found]) -> Found:
    """Run some work to its end; return what it came to."""
    while True:
        try:
            next(working)
        except StopIteration as end:
            found: Found = end.value
            return found


def pass_on(
    working: Generator[Step, None, Found], tell: Callable[[Step], Told]
) -> Generator[Told, None, Found]:
    """Pass on the steps of some work in other words, and what it came to."""
    while True:
        try:
            step = next(working)
        except StopIteration as end:
            found: Found = end.value
            return found
        yield tell(step)


def approach(share: float, end: float) -> Iterator[float]:
    """Yield shares that come nearer to an end, of work of unknown length."""
    while True:
        share += (end - share) * STRIDE
        yield share
