"""The cache of machine code: core reads no files, so its place is handed in.

Light, so that it can be set before numba is imported.
"""

from collections.abc import Callable


def keep_given(given: str) -> str:
    """Return numba's own folder, as long as nobody sets `choose_folder`."""
    return given


#: Returns the folder of the present kernels, given that of NUMBA_CACHE_DIR or "".
#: `askless.kernel_cache` sets it; `kernels.jit` calls it before the first kernel.
choose_folder: Callable[[str], str] = keep_given
