"""A checked table as codes, a byte per cell; the values of some of its rows are kept.

What boosts reads codes. All else that looks at values (choosing, panels, calibrations,
curves) reads the sample, which of a table that is not large is all of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from core.arrays import BoolArray, FloatArray, IntArray
from core.table.binning import (
    Binned,
    CodedColumns,
    bin_values,
    code_columns,
    join_columns,
)
from core.table.catalogue import Catalogue, Feature
from core.table.dataset import ClassLabel, Dataset, LabelledRows

# Of a larger table so many rows, evenly spaced: an error rate on them is known to .3
# percent points.
SAMPLE_ROWS = 100_000


#: Lays rows and their signed weights, (n_samples, n_outputs), out in shards elsewhere:
#: a context, whose value `core.training.boosting.boost` takes.
LayOut = Callable[[Binned, FloatArray], Any]


@dataclass(frozen=True)
class BinnedTable(LabelledRows):
    """All rows of a table as codes, and the values of some.

    `is_in` says which rows have a part in training, None: all. The others weigh
    nothing: a fold is the table with weight 0 for the rows held out, so that all folds
    share codes and cuts. `row_weights` are those of the whole. `ranges` (n_features, 2)
    are the least and the greatest value, NaN where there is none; `n_missing` counts
    cells. `sample` has the rows at `sample_idxs`, ascending. `lay_out` is where
    boosting has its rows, None: here; if there alone, `binned` has cuts without rows.
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
        """Weight of each row, made anew each time it is asked for; they sum to 1."""
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
        """The rows of the sample that have weight."""
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


class ColumnSummary(NamedTuple):
    """What is known of all values of a feature: its ends (or NaN), how many lack."""

    ends: tuple[float, float]
    n_missing: int


def summarise(column: FloatArray) -> ColumnSummary:
    """Return the summary of a column."""
    least = np.fmin.reduce(column, initial=np.nan)
    greatest = np.fmax.reduce(column, initial=np.nan)
    return ColumnSummary((least, greatest), int(np.isnan(column).sum()))


def code_table(dataset: Dataset, most: int | None = SAMPLE_ROWS) -> BinnedTable:
    """Code a dataset; the values of `most` rows are kept, None: of all."""
    idxs = spread_evenly(dataset.n_samples, most)
    is_all = idxs.size == dataset.n_samples
    summaries = [summarise(column) for column in dataset.values.T]
    sample = dataset if is_all else dataset.take(idxs)
    return join_table(dataset, bin_values(dataset), summaries, idxs, sample)


def join_table(
    rows: LabelledRows,
    binned: Binned,
    summaries: Sequence[ColumnSummary],
    sample_idxs: IntArray,
    sample: Dataset,
) -> BinnedTable:
    """Return rows, their codes and their sample as a table."""
    return BinnedTable(
        catalogue=sample.catalogue,
        classes=rows.classes,
        targets=as_small(rows.targets),
        row_weights=rows.weights,
        row_groups=rows.row_groups,
        binned=binned,
        ranges=np.array([one.ends for one in summaries]).reshape(-1, 2),
        n_missing=sum(one.n_missing for one in summaries),
        sample_idxs=sample_idxs,
        sample=sample,
    )


def spread_evenly(n_samples: int, most: int | None) -> IntArray:
    """Return the positions of at most so many rows, evenly spaced."""
    n_few = n_samples if most is None else min(n_samples, most)
    return np.linspace(0, n_samples - 1, n_few).round().astype(np.int64)


def as_small(targets: IntArray) -> IntArray:
    """Return targets in as few bytes as they need: of a long table that is much."""
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
        Of how many of the rows values are kept, evenly spaced; None: of all.
    keeps_codes : bool
        Whether codes are kept too, or the cuts alone: rows are then coded elsewhere.
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
        self._idxs = spread_evenly(labels.n_samples, most)
        n_kept = labels.n_samples if keeps_codes else 0
        self._codes = np.empty((n_features, n_kept), np.uint8)
        self._coded: list[CodedColumns] = []
        self._summaries: list[ColumnSummary] = []
        self._samples: list[FloatArray] = []

    def add(self, feature: Feature, column: FloatArray) -> None:
        """Code the next feature; `column` has a value for each of the rows."""
        is_category = np.array([feature.type == "category"])
        coded = code_columns(column[:, None], is_category, self._labels.weights)
        n_kept = self._codes.shape[1]
        self._codes[len(self._coded)] = coded.codes[0, :n_kept]
        # No view of the codes, which would keep them.
        self._coded.append(replace(coded, codes=np.empty((1, 0), np.uint8)))
        self._summaries.append(summarise(column))
        self._samples.append(column[self._idxs])

    def finish(self, catalogue: Catalogue) -> BinnedTable:
        """Return the table, of which every feature was added."""
        labels, coded = self._labels, self._coded
        columns = CodedColumns(
            self._codes,
            np.concatenate([one.n_codes for one in coded]),
            np.concatenate([one.has_missing for one in coded]),
            tuple(one.cuts[0] for one in coded),
        )
        types = (feature.type == "category" for feature in catalogue.features)
        binned = join_columns(columns, np.fromiter(types, np.bool_))
        is_all = self._idxs.size == labels.n_samples
        sample = replace(
            labels if is_all else labels.take(self._idxs),
            catalogue=catalogue,
            values=np.column_stack(self._samples),
        )
        # Sums over a single repeated weight are rounded otherwise, and kernels are
        # compiled anew for targets of fewer bytes.
        sample = replace(
            sample,
            targets=sample.targets.astype(np.int64),
            weights=np.ascontiguousarray(sample.weights),
        )
        return join_table(labels, binned, self._summaries, self._idxs, sample)
