"""Define splits: the values of features that part cases."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from askless.core.arrays import Arrays, FloatArray, IntArray
from askless.core.model.ranges import Below, Numbers, Position

# No part: the values decide nothing, or too few rows have them.
NOWHERE = -1

SplitKind = Literal["cuts", "codes", "largest"]


@dataclass(frozen=True, eq=False)
class Split(Arrays):
    """A rule that splits cases into parts by the values of features.

    A number splits by its cuts, a category by its codes. Several numbers of one bundle,
    such as the columns of a one-hot code, split by which of them is the largest.
    """

    #: one feature, or several of one bundle
    feature_idxs: Annotated[tuple[Position, ...], Below("features")]
    kind: SplitKind
    #: cuts, ascending, or the code of each part; empty for "largest"
    points: Numbers

    @property
    def n_parts(self) -> int:
        """Number of parts, also those without any case."""
        if self.kind == "largest":
            return len(self.feature_idxs)
        return self.points.size + int(self.kind == "cuts")

    def assign_parts(self, values: FloatArray) -> IntArray:
        """Return the part of each row; (n_rows, n_features) -> (n_rows,).

        `NOWHERE` where a value is missing, or where its code is not among the parts.
        """
        read = values[:, list(self.feature_idxs)]
        if self.kind == "largest":
            parts = read.argmax(axis=1)
        elif self.kind == "codes":
            is_code = read == self.points
            parts = np.where(is_code.any(axis=1), is_code.argmax(axis=1), NOWHERE)
        else:
            parts = np.searchsorted(self.points, read[:, 0], "left")
        return np.where(np.isnan(read).any(axis=1), NOWHERE, parts)
