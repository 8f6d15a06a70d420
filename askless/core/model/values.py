"""Derive values of features from a model: ranges, typical values, values to try."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.catalogue.catalogue import MOST_VALUES
from askless.core.kernels import NUMBER_CODE
from askless.core.model.ensemble import Ensemble

# Rows that tell quickly of most numbers that they have many values.
FEW_ROWS = 1000

# So many values are tried of a number that hypotheses have no cuts of.
N_VALUES = 9


def add_value_ranges(ensemble: Ensemble, ranges: FloatArray) -> Ensemble:
    """Return the ensemble with the value range of each number that it reads.

    `ranges` (n_features, 2): least and greatest value, NaN where there is none.
    """
    features = list(ensemble.catalogue.features)
    for idx in np.flatnonzero(ensemble.is_used).tolist():
        low, high = ranges[idx].tolist()
        if features[idx].type == "number" and low <= high:
            features[idx] = replace(features[idx], value_range=(low, high))
    catalogue = replace(ensemble.catalogue, features=tuple(features))
    return replace(ensemble, catalogue=catalogue)


def add_distinct_values(ensemble: Ensemble, rows: FloatArray) -> Ensemble:
    """Return the ensemble with the values of each number that has only a few.

    `rows` (n_samples, n_features) are some that it was trained on; the ends of a
    number's range count too. Numbers that the ensemble does not read have no values.
    """
    features = list(ensemble.catalogue.features)
    for idx in np.flatnonzero(ensemble.is_used).tolist():
        ends = features[idx].value_range
        if ends is None or np.unique(rows[:FEW_ROWS, idx]).size > MOST_VALUES + 1:
            continue
        values = np.union1d(rows[~np.isnan(rows[:, idx]), idx], ends).tolist()
        if len(values) <= MOST_VALUES:
            features[idx] = replace(features[idx], values=tuple(values))
    catalogue = replace(ensemble.catalogue, features=tuple(features))
    return replace(ensemble, catalogue=catalogue)


def list_cuts(ensemble: Ensemble) -> list[list[float]]:
    """Return the cuts of each feature's stumps, sorted, with repetitions."""
    cuts: list[list[float]] = [[] for _ in ensemble.catalogue.features]
    for hypothesis in ensemble.hypotheses:
        for stump in hypothesis.stumps:
            cuts[stump.feature_idx].append(stump.cut)
    return [sorted(feature_cuts) for feature_cuts in cuts]


def panel_columns(ensemble: Ensemble) -> Iterator[tuple[int, int, FloatArray]]:
    """Yield each column of each panel: index, code, and (low, high, mean, deviation).

    The code is that of a category, or `NUMBER_CODE` or `MISSING_CODE`. Panels clip
    numbers to the range from low to high; mean and standard deviation are those of
    clipped values. Panels that share a column repeat it.
    """
    if ensemble.panels is None:
        return
    for panel in ensemble.panels.panels:
        if panel.blend is not None:
            columns = panel.blend.columns
            figures = np.column_stack(
                (columns.lows, columns.highs, columns.means, columns.scales)
            )
            yield from zip(
                columns.feature_idxs.tolist(),
                columns.codes.tolist(),
                figures,
                strict=True,
            )


def middle_values(ensemble: Ensemble) -> list[float]:
    """Return a typical value of each feature, coded as in the table.

    If panels read it: the mean of a number, the likelier value of a boolean, the mode
    of a category. Otherwise its middle cut, or 0 if it has none.
    """
    middles = [cuts[len(cuts) // 2] if cuts else 0.0 for cuts in list_cuts(ensemble)]
    shares: dict[int, dict[float, float]] = defaultdict(dict)
    for idx, code, (_, _, mean, _) in panel_columns(ensemble):
        if code >= 0:
            shares[idx][code] = mean
        elif code == NUMBER_CODE:
            is_number = ensemble.catalogue.features[idx].type == "number"
            middles[idx] = float(mean if is_number else mean > 0.5)
    for idx, by_code in shares.items():
        if len(ensemble.catalogue.features[idx].categories) == 2:
            # Only one of the two has a column.
            by_code |= {1.0 - code: 1.0 - share for code, share in by_code.items()}
        middles[idx] = float(max(by_code, key=by_code.__getitem__))
    return middles


def typical_values(ensemble: Ensemble) -> FloatArray:
    """Return the middle values; of a number with few values the nearest one."""
    typical = np.array(middle_values(ensemble))
    for idx, feature in enumerate(ensemble.catalogue.features):
        if feature.values:
            seen = np.array(feature.values)
            typical[idx] = seen[np.abs(seen - typical[idx]).argmin()]
    return typical


def possible_values(
    ensemble: Ensemble, feature_idx: int, *, has_votes: bool
) -> FloatArray:
    """Return values of a feature among which predictions may differ, ascending.

    All values of a category or boolean. For a number, if hypotheses vote, one value of
    each segment between their cuts; else `N_VALUES` evenly spaced over the range. The
    ensemble caches them.
    """
    cache: dict[tuple[int, bool], FloatArray]
    cache = ensemble.__dict__.setdefault("possible_values", {})
    if (feature_idx, has_votes) not in cache:
        values = compute_possible_values(ensemble, feature_idx, has_votes=has_votes)
        values.flags.writeable = False
        cache[feature_idx, has_votes] = values
    return cache[feature_idx, has_votes]


def compute_possible_values(
    ensemble: Ensemble, feature_idx: int, *, has_votes: bool
) -> FloatArray:
    """Compute the `possible_values` of a feature, without the cache."""
    feature = ensemble.catalogue.features[feature_idx]
    if feature.type == "category":
        return np.arange(len(feature.categories), dtype=np.float64)
    if feature.type == "boolean":
        return np.array([0.0, 1.0])
    cuts = np.unique(list_cuts(ensemble)[feature_idx]) if has_votes else np.empty(0)
    if cuts.size:
        return segment_midpoints(cuts, feature.value_range)
    ends = [feature.value_range] if feature.value_range else []
    for idx, code, (low, high, _, _) in panel_columns(ensemble):
        is_number = (idx, code) == (feature_idx, NUMBER_CODE)
        ends += [(float(low), float(high))] if is_number else []
    return np.unique(np.linspace(*ends[0], N_VALUES)) if ends else np.empty(0)


def segment_midpoints(cuts: FloatArray, ends: tuple[float, float] | None) -> FloatArray:
    """Return a value of each segment: the middle of two cuts, or an end of the range.

    A cut belongs to the segment below it. `ends` is the range of values. Without it
    the outer segments are as wide as the range of the cuts, or 1.
    """
    width = float(np.ptp(cuts)) or 1.0
    low, high = ends or (cuts[0] - width, cuts[-1] + width)
    inner = cuts[:-1] + (cuts[1:] - cuts[:-1]) / 2
    # A range may lie within the cuts; the last value must be above the last cut.
    first, last = min(low, cuts[0]), max(high, np.nextafter(cuts[-1], np.inf))
    return np.array([first, *inner, last])
