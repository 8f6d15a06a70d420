"""Prepare a dataset for selection: codes, scaled numbers, classes as signs."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.table.dataset import Dataset

# Edges from which on an edge counts as 0, and as 1.
MIN_EDGE = 1e-12
MAX_EDGE = 1 - 1e-9

# A Z below this counts as 0; a perfect hypothesis, whose alpha is that of `MAX_EDGE`,
# has a smaller Z.
MIN_Z = 1e-4

# Sums that differ by less are equal but for rounding.
TIE = 1e-9


@dataclass(frozen=True)
class SelectionTable:
    """A dataset prepared for selection.

    `codes` (n_samples, n_features): position of each value among the distinct ones
    of its feature, a missing cell as one more. `scaled`: numbers in [0, 1], NaN where
    missing, the other types as in `codes`. `signs` (n_samples, n_outputs): +1 for
    the class of the output, -1 for any other; two classes have one output.
    """

    dataset: Dataset
    codes: IntArray
    scaled: FloatArray
    is_number: BoolArray
    signs: FloatArray

    @property
    def weights(self) -> FloatArray:
        """Weights of the rows; (n_samples,)."""
        return self.dataset.weights

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.codes.shape[1])

    @property
    def least_z(self) -> float:
        """The Z below which Z counts as 0; one wrongly voted row gives a larger Z.

        The bound also applies to Z', whose rows have other weights: with one bound for
        all subsets those whose Z' is 0 tie. `choose_step` raises it to that of its D'.
        """
        return max(float(self.weights @ self.weights), MIN_Z)

    @property
    def n_outputs(self) -> int:
        """Number of two-class problems: 1 for two classes, else one per class."""
        return int(self.signs.shape[1])

    @cached_property
    def kinds(self) -> IntArray:
        """A number for each row, the same for rows of one class and weight."""
        _, weight_idxs = np.unique(self.weights, return_inverse=True)
        return self.dataset.targets * (int(weight_idxs.max()) + 1) + weight_idxs

    @cached_property
    def columns(self) -> tuple[tuple[IntArray, ...], ...]:
        """Columns of codes that each feature's stumps cut, -1 where missing.

        A number and a boolean have one column, a category one per value (that value
        against the rest), but only one for two values.
        """
        columns = []
        for idx, feature in enumerate(self.dataset.catalogue.features):
            is_missing = np.isnan(self.dataset.values[:, idx])
            codes = np.where(is_missing, -1, self.codes[:, idx])
            if feature.type == "category":
                n_values = int(codes.max()) + 1
                values = range(n_values if n_values > 2 else n_values - 1)
                masks = [np.where(is_missing, -1, codes == value) for value in values]
                columns.append(tuple(masks))
            else:
                columns.append((codes,))
        return tuple(columns)


def make_selection_table(dataset: Dataset) -> SelectionTable:
    """Return a dataset with its values coded and scaled."""
    values = dataset.values
    is_missing = np.isnan(values)
    codes = np.empty(values.shape, np.int64)
    for idx in range(values.shape[1]):
        _, codes[:, idx] = np.unique(values[:, idx], return_inverse=True)
    is_number = np.array(
        [feature.type == "number" for feature in dataset.catalogue.features], np.bool_
    )
    filled = np.where(is_missing, np.inf, values).min(axis=0, initial=np.inf)
    lows = np.where(np.isfinite(filled), filled, 0.0)
    highs = np.where(is_missing, -np.inf, values).max(axis=0, initial=-np.inf)
    # Computed by halves, since the difference of two finite numbers may overflow.
    ranges = np.where(highs > lows, highs / 2 - lows / 2, 1.0)
    ranges = np.where(ranges > 0, ranges, 1.0)
    has_one_output = len(dataset.classes) == 2
    return SelectionTable(
        dataset=dataset,
        codes=codes,
        scaled=np.where(is_number, (values / 2 - lows / 2) / ranges, codes),
        is_number=is_number,
        signs=dataset.signs[:, None] if has_one_output else dataset.class_signs,
    )
