"""Define routes: the values of root features decide which panels a case is asked."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from askless.core.arrays import Arrays, BoolArray, FloatArray, IntArray

# The part of panels for every case, and of a case whose root values decide nothing.
MAIN = -1

SplitKind = Literal["cuts", "codes", "largest"]


@dataclass(frozen=True, eq=False)
class Split(Arrays):
    """A rule that splits cases into parts by the values of root features.

    A number splits by its cuts, a category by its codes. Several numbers of one bundle,
    such as the columns of a one-hot code, split by which of them is the largest.
    """

    #: the root: one feature, or several of one bundle
    feature_idxs: tuple[int, ...]
    kind: SplitKind
    #: cuts, ascending, or the code of each part; empty for "largest"
    points: FloatArray

    @property
    def n_parts(self) -> int:
        """Number of parts, also those without any case."""
        if self.kind == "largest":
            return len(self.feature_idxs)
        return self.points.size + int(self.kind == "cuts")

    def assign_parts(self, values: FloatArray) -> IntArray:
        """Return the part of each row; (n_rows, n_features) -> (n_rows,).

        `MAIN` where the root is missing, or where its code is not among the parts.
        """
        read = values[:, list(self.feature_idxs)]
        if self.kind == "largest":
            parts = read.argmax(axis=1)
        elif self.kind == "codes":
            is_code = read == self.points
            parts = np.where(is_code.any(axis=1), is_code.argmax(axis=1), MAIN)
        else:
            parts = np.searchsorted(self.points, read[:, 0], "left")
        return np.where(np.isnan(read).any(axis=1), MAIN, parts)


@dataclass(frozen=True, eq=False)
class Route(Arrays):
    """A split of cases, the panels for each part, and the budgets where it applies.

    Sessions within these budgets ask the root first, then the panels of its part.
    """

    split: Split
    #: (n_panels,), the part that a panel is for, or `MAIN`; the main panels come first
    parts: IntArray
    #: range of budgets under which cases are split, in micro-units; None: no upper end
    least_budget: int
    up_to: int | None

    def is_in_force(self, budget: int | None) -> bool:
        """Return whether the route applies under a budget; None: unlimited."""
        if budget is None:
            return self.up_to is None
        is_below = self.up_to is None or budget <= self.up_to
        return self.least_budget <= budget and is_below

    def find_part(self, values: FloatArray) -> int:
        """Return the part of a case, or `MAIN` where the part has no panels.

        `values` (n_features,), NaN where not known.
        """
        part = int(self.split.assign_parts(values[None, :])[0])
        return part if part in self.parts else MAIN

    def scale(self, total: int, new_total: int) -> "Route":
        """Return the route with budgets scaled by new_total / total of all costs."""
        up_to = None if self.up_to is None else self.up_to * new_total // total
        least = self.least_budget * new_total // total
        return replace(self, least_budget=least, up_to=up_to)

    def is_for(self, part: int) -> BoolArray:
        """Return which panels are for a part; (n_panels,)."""
        return np.asarray(self.parts == part, np.bool_)
