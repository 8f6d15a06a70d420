"""The two decorators every compiled function uses; defined once."""

from numba import njit

kernel = njit(nogil=True, cache=True, error_model="numpy")
parallel_kernel = njit(nogil=True, cache=True, error_model="numpy", parallel=True)
