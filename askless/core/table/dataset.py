"""Hold a checked table: features, classes, rows and their weights."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue

#: Most values that codes tell apart: they are uint8.
MAX_CODES = 254


@dataclass(frozen=True, slots=True)
class ClassLabel:
    """A class: its label in the table, and the text shown to people."""

    label: str
    display: str


class LabelledRows:
    """Rows with their classes, weights and row groups, without values.

    `targets` holds class positions; of two classes the second is the positive one.
    Where a row may belong to several classes at once (multi-label) its shape is
    (n_samples, n_classes), 1 for each class of the row, else 0. `weights` sum to 1.
    Rows of the same number in `row_groups` belong together; None: no rows do.
    """

    catalogue: Catalogue
    classes: tuple[ClassLabel, ...]
    targets: IntArray
    row_groups: IntArray | None

    if TYPE_CHECKING:

        @property
        def weights(self) -> FloatArray:
            """Weight of each row; they sum to 1."""

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.targets.shape[0])

    @property
    def is_multilabel(self) -> bool:
        """Whether a row may belong to several classes at once, or to none."""
        return self.targets.ndim == 2

    @property
    def row_group_idxs(self) -> IntArray:
        """Row group of each row, numbered without gaps; by default its own."""
        if self.row_groups is None:
            return np.arange(self.n_samples)
        return np.unique(self.row_groups, return_inverse=True)[1]

    @property
    def signs(self) -> FloatArray:
        """-1 for the first of two classes, +1 for the second; (n_samples,)."""
        return np.where(self.targets == 1, 1.0, -1.0)

    @property
    def class_signs(self) -> FloatArray:
        """+1 for each class that a row belongs to, else -1; (n_samples, n_classes)."""
        belongs = self.targets
        if not self.is_multilabel:
            belongs = self.targets[:, None] == np.arange(len(self.classes))
        return np.where(belongs == 1, 1.0, -1.0)

    @property
    def priors(self) -> FloatArray:
        """Weight of the rows of each class; (n_classes,)."""
        if self.is_multilabel:
            shares: FloatArray = self.weights @ (self.targets == 1)
            return shares
        sums = np.bincount(self.targets, self.weights, len(self.classes))
        return sums.astype(np.float64)


@dataclass(frozen=True)
class Dataset(LabelledRows):
    """A checked table.

    `values` is float64 (n_samples, n_features): numbers as they are, booleans 0 or 1,
    categories as codes into `Feature.categories` (`UNSEEN` for any other category,
    which only rows outside training have), NaN where missing. Weights are positive.
    """

    catalogue: Catalogue
    classes: tuple[ClassLabel, ...]
    values: FloatArray
    targets: IntArray
    weights: FloatArray
    row_groups: IntArray | None = None
    #: mean of the weights before they were scaled; 1 where the table has none
    mean_weight: float = 1.0

    def take(self, row_idxs: IntArray | slice) -> "Dataset":
        """Return the rows at these positions, their weights rescaled to sum to 1."""
        weights = self.weights[row_idxs]
        mean_weight = self.mean_weight
        if np.ptp(self.weights) > 0:
            mean_weight *= float(weights.mean()) * self.n_samples
        return replace(
            self,
            values=np.ascontiguousarray(self.values[row_idxs]),
            targets=self.targets[row_idxs],
            weights=weights / weights.sum(),
            row_groups=None if self.row_groups is None else self.row_groups[row_idxs],
            mean_weight=mean_weight,
        )


def count_outputs(n_classes: int, is_multilabel: bool) -> int:
    """Return how many numbers a vote has: 1 for two classes, else one per class."""
    return 1 if n_classes == 2 and not is_multilabel else n_classes
