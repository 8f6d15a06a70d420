"""Summarise a column as a histogram or word counts, for a person to look at."""

from dataclasses import dataclass

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.catalogue.catalogue import Feature
from askless.core.table.columns import Column, count_categories, read_feature

# Bars of a histogram, or most frequent words, that are shown.
N_BARS = 12


@dataclass(frozen=True, slots=True)
class ColumnSketch:
    """The share of missing cells, the number of distinct values, and a bar chart.

    `bars` count rows. For numbers they are a histogram of `N_BARS` equal steps between
    the `ends`. For other types there is one bar for each of the `words`, the most
    frequent first.
    """

    missing: float
    n_distinct: int
    bars: tuple[int, ...] = ()
    ends: tuple[float, float] | None = None
    words: tuple[str, ...] = ()


def sketch_column(feature: Feature, column: Column) -> ColumnSketch:
    """Return the sketch of a column, read as a feature that has no categories yet.

    Parameters
    ----------
    feature : Feature
        Its type, and the words that mean a missing value.
    column : array, shape (n_samples,)
        float64 with NaN, or str and None; at least one cell. A cell of another type
        counts as missing.
    """
    if feature.type == "number":
        values, _ = read_feature(feature, column)
        return sketch_numbers(values)
    counts = count_categories(feature, column)
    shown = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:N_BARS]
    return ColumnSketch(
        missing=(column.size - counts.total()) / column.size,
        n_distinct=len(counts),
        bars=tuple(count for _, count in shown),
        words=tuple(word for word, _ in shown),
    )


def sketch_numbers(values: FloatArray) -> ColumnSketch:
    """Return the sketch of numbers; NaN and infinite values count as missing."""
    present = values[np.isfinite(values)]
    missing = (values.size - present.size) / values.size
    if not present.size:
        return ColumnSketch(missing, 0)
    ends = float(present.min()), float(present.max())
    # Scaled, since the difference of two doubles may overflow.
    scale = max(abs(ends[0]), abs(ends[1])) or 1.0
    bars, _ = np.histogram(present / scale, N_BARS)
    n_distinct = np.unique(present).size
    return ColumnSketch(missing, n_distinct, tuple(map(int, bars)), ends)
