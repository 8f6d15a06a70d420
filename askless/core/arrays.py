"""Array types, and base classes for values that hold or derive arrays."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
# Of single or double precision.
Floats = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.int64]
# Positions of rows, in half of the room.
RowArray = npt.NDArray[np.uint32]
CodeArray = npt.NDArray[np.uint8]
BallotArray = npt.NDArray[np.int8]
BoolArray = npt.NDArray[np.bool_]

Result = TypeVar("Result")
# Keys of any kind lead to what was computed for them.
Results = dict[object, Any]


def evenly_spaced(n_samples: int, most: int | None) -> IntArray:
    """Return the positions of at most so many rows, evenly spaced; None: all."""
    n_few = n_samples if most is None else min(n_samples, most)
    return np.linspace(0, n_samples - 1, n_few).round().astype(np.int64)


def round_digits(numbers: FloatArray, digits: int) -> FloatArray:
    """Return numbers rounded to `digits` significant digits."""
    # Zero has no logarithm, and stays zero at any power.
    is_zero = numbers == 0
    powers = np.floor(np.log10(np.abs(np.where(is_zero, 1.0, numbers))))
    scales = 10.0 ** (digits - 1 - powers)
    rounded: FloatArray = np.rint(numbers * scales) / scales
    return rounded


def is_equal(value: object, other: object) -> bool:
    """Return whether two values are equal; arrays by content, where NaN equals NaN."""
    if isinstance(value, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(value, other, equal_nan=value.dtype.kind == "f")
    if isinstance(value, tuple) and isinstance(other, tuple):
        return len(value) == len(other) and all(map(is_equal, value, other))
    return value == other


class Arrays:
    """Dataclasses that hold arrays: equal if all fields are equal."""

    def __eq__(self, other: object) -> bool:
        """Compare field by field."""
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]  # a dataclass
        return all(is_equal(getattr(self, n), getattr(other, n)) for n in names)

    __hash__ = None  # type: ignore[assignment]  # arrays have none


class Derived:
    """Values with cached arrays that follow from their fields and are not pickled."""

    def __getstate__(self) -> dict[str, object]:
        """Return the fields alone; arrays mapped read-only would suit no kernel."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # a dataclass


def look_up(
    results: Results,
    key: object,
    compute: Callable[[], Result],
    *,
    is_frozen: bool = False,
) -> Result:
    """Return the result of a key, which is computed where there is none yet.

    `is_frozen` makes an array read-only.
    """
    if key not in results:
        results[key] = result = compute()
        if is_frozen and isinstance(result, np.ndarray):
            result.flags.writeable = False
    kept: Result = results[key]
    return kept
