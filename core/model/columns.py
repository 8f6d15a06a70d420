"""Values of features as standardised columns, also where some are hidden."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from core import arrays
from core.arrays import Arrays, BoolArray, FloatArray, IntArray
from core.model.ranges import Numbers, Positions

# Of a column: that of a number, and of one that says whether a value is missing.
NUMBER_CODE, MISSING_CODE = -1, -2

# Of a column that is in no covariance.
ALONE = -1


@dataclass(frozen=True, eq=False)
class Columns(Arrays):
    """How the values of features become standardised columns.

    A number is clipped and scaled; a category has a column for each of its codes; a
    feature with missing cells has one that says so. A missing value is 0, the mean.
    """

    #: (n_columns,), the feature that each reads
    feature_idxs: Positions
    #: (n_columns,), the code whose presence it tells, -1 of a number, -2: of missing
    codes: Annotated[IntArray, Interval(ge=-2, le=2**31)]
    #: (n_columns,)
    lows: Numbers
    highs: Numbers
    means: Numbers
    #: what it is divided by
    scales: Annotated[FloatArray, Interval(gt=0, le=1e300)]
    #: (n_columns,), row of each in the covariance, or `ALONE`
    places: IntArray | None = None
    #: (n_covaried, n_covaried), of the rows of training, shared by all columns of a
    #: ladder; None: of a model made before it was kept
    covariance: Numbers | None = None

    def take(self, feature_idxs: Sequence[int]) -> "Columns":
        """Return the columns of some features, in their order."""
        picks = [np.flatnonzero(self.feature_idxs == idx) for idx in feature_idxs]
        picked = np.concatenate([np.empty(0, np.int64), *picks])
        fields = vars(self).items()
        taken = {
            name: value[picked]
            for name, value in fields
            if name != "covariance" and value is not None
        }
        return replace(self, **taken)

    def hide(self, is_hidden: BoolArray) -> "HiddenColumns":
        """Return what is known of the columns of hidden features, (n_features,).

        The conditional mean and variance of a normal distribution: of columns S known
        and M hidden, x_M has the mean x_S B with B = C_SS^-1 C_SM, and the variance
        V = C_MM - C_MS B. A column that is in no covariance goes with no other.
        """
        is_out = is_hidden[self.feature_idxs]
        hidden = np.flatnonzero(is_out)
        if self.covariance is None or self.places is None:
            none = np.empty(0, np.int64)
            return HiddenColumns(hidden, none, none, np.empty((0, 0)), np.empty((0, 0)))
        is_covaried = self.places != ALONE
        known, told = (np.flatnonzero(is_covaried & one) for one in (~is_out, is_out))
        here, there = self.places[known], self.places[told]
        across = self.covariance[np.ix_(here, there)]
        inner = self.covariance[np.ix_(here, here)]
        means: FloatArray = np.linalg.solve(inner, across).astype(np.float64)
        variance = self.covariance[np.ix_(there, there)] - across.T @ means
        return HiddenColumns(hidden, told, known, means, variance)

    def lay(self, values: FloatArray) -> FloatArray:
        """Return rows as columns; (..., n_features) -> (..., n_columns)."""
        read = values[..., self.feature_idxs]
        is_missing = np.isnan(read)
        is_code = np.where(is_missing, np.nan, read == self.codes)
        clipped = np.clip(read, self.lows, self.highs)
        laid = np.where(self.codes >= 0, is_code, clipped)
        laid = np.where(self.codes == MISSING_CODE, is_missing, laid)
        laid = arrays.make_finite((laid - self.means) / self.scales)
        # Of rows that stand alone each in one piece, as a single one is.
        return np.ascontiguousarray(laid) if values.ndim > 2 else laid


@dataclass(frozen=True, eq=False)
class HiddenColumns:
    """Which columns are hidden, and what the others say of them."""

    #: (n_hidden,), their mean is 0 and their variance 1 but where more is told
    hidden: IntArray
    #: (n_told,), of the hidden ones
    told: IntArray
    #: (n_known,), by which they are told
    known: IntArray
    #: (n_known, n_told), what makes the hidden ones' mean of the known ones
    means: FloatArray
    #: (n_told, n_told), how far they are from it
    variance: FloatArray

    def fill(self, columns: FloatArray) -> FloatArray:
        """Return columns whose hidden ones have their mean; (..., n_columns)."""
        filled = columns.copy()
        filled[..., self.hidden] = 0.0
        if self.known.size:
            filled[..., self.told] = columns[..., self.known] @ self.means
        return filled

    def spreads(self, directions: FloatArray) -> FloatArray:
        """Return the variance along directions, (n_columns, n); (n,)."""
        its, others = directions[self.told], directions[self.hidden]
        along = (its * (self.variance @ its)).sum(axis=0)
        alone = (others**2).sum(axis=0) - (its**2).sum(axis=0)
        spreads: FloatArray = np.maximum(along, 0.0) + np.maximum(alone, 0.0)
        return spreads
