"""Turn values of features into standardised columns, and fill in hidden ones."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from annotated_types import Interval

from askless.core import kernels
from askless.core.arrays import Arrays, BoolArray, Derived, FloatArray, IntArray
from askless.core.model.ranges import Below, Each, Numbers, Positions

# The place of a column that is not in the covariance.
ALONE = -1


@dataclass(frozen=True, eq=False)
class Columns(Arrays, Derived):
    """Standardised columns, computed from the values of features.

    A number is clipped and scaled; a category has a column for each of its codes; a
    feature with missing cells has one that marks them. A missing value is 0, the mean.
    """

    #: (n_columns,), the feature that each reads
    feature_idxs: Annotated[Positions, Below("features")]
    #: (n_columns,), the category's code, -1: the number itself, -2: marks missing
    codes: Annotated[IntArray, Interval(ge=-2, le=2**31), Each("columns")]
    #: (n_columns,)
    lows: Annotated[Numbers, Each("columns")]
    highs: Annotated[Numbers, Each("columns")]
    means: Annotated[Numbers, Each("columns")]
    #: divisors, after the means were subtracted
    scales: Annotated[FloatArray, Interval(gt=0, le=1e300), Each("columns")]
    #: (n_columns,), row of each column in the covariance, or `ALONE`
    places: IntArray | None = None
    #: (n_covaried, n_covaried), of the rows of training, shared by all columns of a
    #: ladder
    covariance: Numbers | None = None

    @cached_property
    def served(self) -> kernels.ColumnScales:
        """The columns as kernels read them, which are compiled for writable arrays."""
        arrays = (getattr(self, name) for name in kernels.ColumnScales._fields)
        return kernels.ColumnScales(*(np.require(array, None, "W") for array in arrays))

    @property
    def sizes(self) -> dict[str, int]:
        """Number of columns, by which their lists are checked."""
        return {"columns": self.feature_idxs.size}

    def take(self, feature_idxs: Sequence[int]) -> "Columns":
        """Return the columns of some features, in their order."""
        picks = [np.flatnonzero(self.feature_idxs == idx) for idx in feature_idxs]
        picked = np.concatenate([np.empty(0, np.int64), *picks])
        taken = {
            field.name: value[picked]
            for field in fields(self)
            if field.name != "covariance"
            and (value := getattr(self, field.name)) is not None
        }
        return replace(self, **taken)

    def hide(self, is_hidden: BoolArray) -> "HiddenColumns":
        """Return the conditional distribution of the columns of hidden features.

        `is_hidden` (n_features,). The columns are taken as jointly normal: with S known
        and M hidden, x_M has the mean x_S B with B = C_SS^-1 C_SM, and the variance
        V = C_MM - C_MS B. A column not in the covariance is independent of all others.
        """
        is_out = is_hidden[self.feature_idxs]
        hidden = np.flatnonzero(is_out)
        if self.covariance is None or self.places is None:
            none = np.empty(0, np.int64)
            return HiddenColumns(hidden, none, none, np.empty((0, 0)), np.empty((0, 0)))
        is_covaried = self.places != ALONE
        known = np.flatnonzero(is_covaried & ~is_out)
        predicted = np.flatnonzero(is_covaried & is_out)
        here, there = self.places[known], self.places[predicted]
        across = self.covariance[np.ix_(here, there)]
        inner = self.covariance[np.ix_(here, here)]
        means: FloatArray = np.linalg.solve(inner, across).astype(np.float64)
        variance = self.covariance[np.ix_(there, there)] - across.T @ means
        return HiddenColumns(hidden, predicted, known, means, variance)

    def standardise(self, values: FloatArray) -> FloatArray:
        """Standardise rows; (..., n_features) -> (..., n_columns)."""
        rows = np.ascontiguousarray(values).reshape(-1, values.shape[-1])
        # A row that comes alone is contiguous, so that its sums are rounded as for one.
        columns = np.empty((len(rows), self.codes.size))
        kernels.standardise_rows(rows, self.served, columns)
        return columns.reshape(*values.shape[:-1], self.codes.size)


@dataclass(frozen=True, eq=False)
class HiddenColumns:
    """Hidden columns, with their mean and variance given the known columns."""

    #: (n_hidden,), mean 0 and variance 1, except those that are predicted
    hidden: IntArray
    #: (n_predicted,), hidden columns that are in the covariance
    predicted: IntArray
    #: (n_known,), the columns that predict them
    known: IntArray
    #: (n_known, n_predicted), coefficients of the conditional mean
    means: FloatArray
    #: (n_predicted, n_predicted), conditional variance
    variance: FloatArray

    def fill(self, columns: FloatArray) -> FloatArray:
        """Return columns with hidden ones replaced by their mean; (..., n_columns)."""
        filled = columns.copy()
        filled[..., self.hidden] = 0.0
        if self.known.size:
            filled[..., self.predicted] = columns[..., self.known] @ self.means
        return filled

    def compute_variances(self, directions: FloatArray) -> FloatArray:
        """Return the variance along directions; (n_columns, n) -> (n,)."""
        inner, hidden = directions[self.predicted], directions[self.hidden]
        along = (inner * (self.variance @ inner)).sum(axis=0)
        alone = (hidden**2).sum(axis=0) - (inner**2).sum(axis=0)
        variances: FloatArray = np.maximum(along, 0.0) + np.maximum(alone, 0.0)
        return variances
