"""Datasets as selection reads them: codes, scaled numbers, classes as signs."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.arrays import BoolArray, FloatArray, IntArray
from core.table.dataset import Dataset

# When an edge counts as none, and as whole.
MIN_EDGE = 1e-12
MAX_EDGE = 1 - 1e-9

# When a Z counts as 0: more than that of a perfect hypothesis, whose alpha is that of
# `MAX_EDGE`.
MIN_Z = 1e-4

# Sums that differ by less are equal: their terms were added in different orders.
TIE = 1e-9


@dataclass(frozen=True)
class SelectionTable:
    """A dataset as selection reads it.

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
        """Where Z counts as 0: a row of average weight, voted wrongly, gives more.

        Z' is compared by it too, though its rows have other weights: one bound for all
        subsets, or two whose Z' is 0 would not tie. The test of the step raises it to
        that of the D' at hand (`next_step`).
        """
        return max(float(self.weights @ self.weights), MIN_Z)

    @property
    def n_outputs(self) -> int:
        """Number of two-class problems."""
        return int(self.signs.shape[1])

    @cached_property
    def kinds(self) -> IntArray:
        """Rows of one kind have the same class and weight; (n_samples,)."""
        _, weight_idxs = np.unique(self.weights, return_inverse=True)
        return self.dataset.targets * (int(weight_idxs.max()) + 1) + weight_idxs

    @cached_property
    def columns(self) -> tuple[tuple[IntArray, ...], ...]:
        """Per feature what its stumps cut: codes in ascending order, -1 missing.

        A number and a boolean have one column, a category one per value (that value
        against the rest); of two values one column says it all.
        """
        columns = []
        for idx, feature in enumerate(self.dataset.catalogue.features):
            is_missing = np.isnan(self.dataset.values[:, idx])
            codes = np.where(is_missing, -1, self.codes[:, idx])
            if feature.type == "category":
                n_values = int(codes.max()) + 1
                values = range(n_values if n_values > 2 else n_values - 1)
                parts = [np.where(is_missing, -1, codes == value) for value in values]
                columns.append(tuple(parts))
            else:
                columns.append((codes,))
        return tuple(columns)


def make_table(dataset: Dataset) -> SelectionTable:
    """Code and scale the values of a dataset."""
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
    # Halves, since the difference of two finite numbers may not be finite.
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
