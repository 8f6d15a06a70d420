"""Work done in steps: generators that yield progress and return a result."""

from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

Step = TypeVar("Step")
Told = TypeVar("Told")
Found = TypeVar("Found")

# Share of the remaining way that each step of work of unknown length advances.
STRIDE = 0.02


def end_of(working: Generator[Step, None, Found]) -> Found:
    """Run a generator to its end; return its result."""
    while True:
        try:
            next(working)
        except StopIteration as end:
            found: Found = end.value
            return found


def pass_on(
    working: Generator[Step, None, Found], tell: Callable[[Step], Told]
) -> Generator[Told, None, Found]:
    """Yield the steps of a generator, each converted by `tell`; return its result."""
    while True:
        try:
            step = next(working)
        except StopIteration as end:
            found: Found = end.value
            return found
        yield tell(step)


def approach(share: float, end: float) -> Iterator[float]:
    """Yield shares that approach `end`, for work of unknown length."""
    while True:
        share += (end - share) * STRIDE
        yield share
