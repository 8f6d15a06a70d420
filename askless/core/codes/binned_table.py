"""Hold a checked table as codes, a byte per cell, and the values of a sample of rows.

Boosting reads the codes. All that needs values (choosing, panels, calibration, curves)
reads the sample, which is the whole table unless that is large.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray, evenly_spaced
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.codes.binning import (
    Binned,
    CodedColumns,
    code_columns,
    join_columns,
    mask_categories,
)
from askless.core.table.dataset import ClassLabel, Dataset, LabelledRows

# Rows sampled from a larger table, evenly spaced. An error rate on so many has a 95 %
# interval of about +-0.3 percentage points.
SAMPLE_ROWS = 100_000


#: Lays rows and their signed weights, (n_samples, n_outputs), out in shards elsewhere.
#: Returns a context manager; `askless.core.training.boosting.boost` takes its value.
LayOut = Callable[[Binned, FloatArray], Any]


@dataclass(frozen=True)
class BinnedTable(LabelledRows):
    """All rows of a table as codes, and the values of some.

    `is_in` says which rows are trained on, None: all. The others have weight 0: a fold
    is the table with weight 0 for the rows held out, so that all folds share codes and
    cuts. `row_weights` are the weights in the whole table. `ranges` (n_features, 2)
    are the least and the greatest value, NaN where there is none; `n_missing` counts
    cells. `sample` has the rows at `sample_idxs`, ascending. `lay_out` puts rows into
    shards elsewhere, None: boosting uses `binned`. If rows are only elsewhere, `binned`
    has cuts and no rows.
    """

    catalogue: Catalogue
    classes: tuple[ClassLabel, ...]
    targets: IntArray
    row_weights: FloatArray
    row_groups: IntArray | None
    binned: Binned
    ranges: FloatArray
    n_missing: int
    sample_idxs: IntArray
    sample: Dataset
    is_in: BoolArray | None = None
    lay_out: LayOut | None = None

    @property
    def weights(self) -> FloatArray:
        """Weight of each row, computed at each access; they sum to 1."""
        if self.is_in is None:
            return self.row_weights
        weights = np.where(self.is_in, self.row_weights, 0.0)
        weights /= weights.sum()
        return weights

    def part(self, is_in: BoolArray) -> "BinnedTable":
        """Return the table with weight 0 for the other rows; (n_samples,)."""
        return replace(self, is_in=is_in)

    @cached_property
    def dataset(self) -> Dataset:
        """The rows of the sample that are trained on."""
        if self.is_in is None:
            return self.sample
        return self.sample.take(np.flatnonzero(self.is_in[self.sample_idxs]))

    def keep(self, feature_idxs: tuple[int, ...]) -> "BinnedTable":
        """Return the table with every other feature missing in each row."""
        idxs = list(feature_idxs)
        values = np.full_like(self.sample.values, np.nan)
        values[:, idxs] = self.sample.values[:, idxs]
        binned = self.binned.keep(np.array(idxs, np.int64))
        return replace(self, binned=binned, sample=replace(self.sample, values=values))


def code_table(dataset: Dataset, most: int | None = SAMPLE_ROWS) -> BinnedTable:
    """Code a dataset; keep the values of at most `most` rows, None: of all."""
    idxs = evenly_spaced(dataset.n_samples, most)
    is_all = idxs.size == dataset.n_samples
    is_category = mask_categories(dataset.catalogue)
    columns = code_columns(dataset.values, is_category, dataset.weights)
    sample = dataset if is_all else dataset.take(idxs)
    return join_table(dataset, columns, idxs, sample)


def join_table(
    rows: LabelledRows, columns: CodedColumns, sample_idxs: IntArray, sample: Dataset
) -> BinnedTable:
    """Return the table of rows, their codes and their sample."""
    return BinnedTable(
        catalogue=sample.catalogue,
        classes=rows.classes,
        targets=to_smallest_dtype(rows.targets),
        row_weights=rows.weights,
        row_groups=rows.row_groups,
        binned=join_columns(columns, mask_categories(sample.catalogue)),
        ranges=columns.ranges,
        n_missing=int(columns.n_missing.sum()),
        sample_idxs=sample_idxs,
        sample=sample,
    )


def to_smallest_dtype(targets: IntArray) -> IntArray:
    """Return targets in the smallest dtype that holds them, to save memory."""
    kind = np.min_scalar_type(int(targets.max(initial=0)))
    small: IntArray = targets.astype(kind)
    return small


class TableCoder:
    """Codes a table feature by feature, and forgets the values of all but some rows.

    Parameters
    ----------
    labels : Dataset
        The rows that are coded; it needs no features.
    n_features : int
        How many features there may be.
    most : int or None
        How many rows, evenly spaced, keep their values; None: all.
    keeps_codes : bool
        Whether codes are kept; if not, only the cuts are, and rows are coded elsewhere.
    """

    def __init__(
        self,
        labels: Dataset,
        n_features: int,
        most: int | None,
        *,
        keeps_codes: bool = True,
    ) -> None:
        self._labels = labels
        self._idxs = evenly_spaced(labels.n_samples, most)
        n_kept = labels.n_samples if keeps_codes else 0
        self._codes = np.empty((n_features, n_kept), np.uint8)
        self._coded: list[CodedColumns] = []
        self._samples: list[FloatArray] = []

    def add(self, feature: Feature, column: FloatArray) -> None:
        """Code the next feature; `column` has a value for each of the rows."""
        is_category = np.array([feature.type == "category"])
        coded = code_columns(column[:, None], is_category, self._labels.weights)
        n_kept = self._codes.shape[1]
        self._codes[len(self._coded)] = coded.codes[0, :n_kept]
        # A view would keep all codes in memory.
        self._coded.append(replace(coded, codes=np.empty((1, 0), np.uint8)))
        self._samples.append(column[self._idxs])

    def finish(self, catalogue: Catalogue) -> BinnedTable:
        """Return the table once every feature was added."""
        labels, coded = self._labels, self._coded
        columns = CodedColumns(
            self._codes,
            np.concatenate([column_codes.n_codes for column_codes in coded]),
            np.concatenate([column_codes.n_missing for column_codes in coded]),
            tuple(column_codes.cuts[0] for column_codes in coded),
            np.concatenate([column_codes.ranges for column_codes in coded]),
        )
        is_all = self._idxs.size == labels.n_samples
        sample = replace(
            labels if is_all else labels.take(self._idxs),
            catalogue=catalogue,
            values=np.column_stack(self._samples),
        )
        # A broadcast weight would be summed in another order, and other dtypes of
        # targets would compile kernels again.
        sample = replace(
            sample,
            targets=sample.targets.astype(np.int64),
            weights=np.ascontiguousarray(sample.weights),
        )
        return join_table(labels, columns, self._idxs, sample)
