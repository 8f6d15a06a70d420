"""Define the ranges of a model's numbers.

They are checked where a stored model is read, and nowhere inside core.
"""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Interval

from askless.core.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Each:
    """A list has one entry for each of some things of a model."""

    things: str


@dataclass(frozen=True, slots=True)
class Below:
    """Numbers are below the number of some things of a model: positions of them."""

    things: str


#: of several shares; a sum of shares may exceed 1 by rounding
Share = Annotated[float, Interval(ge=0, le=1 + 1e-9)]
Chance = Annotated[float, Interval(ge=0, le=1)]
#: money in micro-units
Micros = Annotated[int, Interval(ge=0, le=2**62)]
#: a mean of money in micro-units, or a mean cost of errors
MeanCost = Annotated[float, Interval(ge=0, le=1e18)]
Position = Annotated[int, Interval(ge=0, le=2**31)]
Count = Annotated[int, Interval(ge=0, le=2**53)]
Number = Annotated[float, Interval(ge=-1e300, le=1e300)]

#: each entry keeps the range
Numbers = Annotated[FloatArray, Interval(ge=-1e300, le=1e300)]
Shares = Annotated[FloatArray, Interval(ge=0, le=1)]
Costs = Annotated[FloatArray, Interval(ge=0, le=1e18)]
Amounts = Annotated[IntArray, Interval(ge=0, le=2**62)]
Positions = Annotated[IntArray, Interval(ge=0, le=2**31)]
