"""The decorators every compiled function uses; defined once."""

from typing import Any

from numba import njit

OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}

kernel = njit(**OPTIONS)
parallel_kernel = njit(**OPTIONS, parallel=True)
