"""Work done in steps: generators that yield progress and return a result."""

from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

Step = TypeVar("Step")
Converted = TypeVar("Converted")
Result = TypeVar("Result")

# Share of the remaining way that each step of work of unknown length advances.
STRIDE = 0.02


def run_to_end(working: Generator[Step, None, Result]) -> Result:
    """Run a generator to its end; return its result."""
    while True:
        try:
            next(working)
        except StopIteration as end:
            result: Result = end.value
            return result


def convert_steps(
    working: Generator[Step, None, Result], convert: Callable[[Step], Converted]
) -> Generator[Converted, None, Result]:
    """Yield a generator's steps, each converted by `convert`; return its result."""
    while True:
        try:
            step = next(working)
        except StopIteration as end:
            result: Result = end.value
            return result
        yield convert(step)


def approach_share(share: float, end: float) -> Iterator[float]:
    """Yield shares from `share` on that approach `end`, for work of unknown length."""
    while True:
        share += (end - share) * STRIDE
        yield share
