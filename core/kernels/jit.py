"""The decorators every compiled function uses; defined once."""

from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

from numba import njit

OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}

kernel = njit(**OPTIONS)
parallel_kernel = njit(**OPTIONS, parallel=True)


def serial_and_parallel(body: Callable[..., Any]) -> tuple[Any, Any]:
    """Return a function with a `prange` compiled for one core, and for all.

    numba's cache knows a function by its name and line, so the twin has another name.
    """
    function = cast(FunctionType, body)
    name = f"{function.__name__}_parallel"
    twin = FunctionType(function.__code__, function.__globals__, name)
    twin.__qualname__, twin.__doc__ = name, function.__doc__
    return kernel(function), parallel_kernel(twin)
