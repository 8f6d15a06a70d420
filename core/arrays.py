"""Types of arrays, and values whose arrays follow from their fields."""

from dataclasses import fields

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
CodeArray = npt.NDArray[np.uint8]
BallotArray = npt.NDArray[np.int8]
BoolArray = npt.NDArray[np.bool_]


class Derived:
    """Values whose arrays follow from their fields, and are not pickled with them."""

    def __getstate__(self) -> dict[str, object]:
        """Return the fields alone; arrays mapped read-only would suit no kernel."""
        return {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]  # a dataclass
