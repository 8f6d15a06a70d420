"""Values of features as a model knows them: ranges, middles, and some to try."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from core.arrays import FloatArray
from core.model.columns import NUMBER_CODE
from core.model.ensemble import Ensemble

# Of a number that no cut parts, or that very many do, so many values are tried.
N_VALUES = 9


def add_ranges(ensemble: Ensemble, ranges: FloatArray) -> Ensemble:
    """Return the ensemble with the range of each number that it reads.

    `ranges` (n_features, 2): least and greatest value, NaN where there is none.
    """
    features = list(ensemble.catalogue.features)
    for idx in np.flatnonzero(ensemble.is_used).tolist():
        low, high = ranges[idx].tolist()
        if features[idx].type == "number" and low <= high:
            features[idx] = replace(features[idx], value_range=(low, high))
    catalogue = replace(ensemble.catalogue, features=tuple(features))
    return replace(ensemble, catalogue=catalogue)


def list_cuts(ensemble: Ensemble) -> list[list[float]]:
    """Return the cuts of each feature's hypotheses, sorted, repeated as they are."""
    cuts: list[list[float]] = [[] for _ in ensemble.catalogue.features]
    for one in ensemble.hypotheses:
        for stump in one.stumps:
            cuts[stump.feature_idx].append(stump.cut)
    return [sorted(its) for its in cuts]


def find_columns(ensemble: Ensemble) -> Iterator[tuple[int, int, FloatArray]]:
    """Yield each column of the panels: its feature, its code, its ends and its mean.

    Beyond the ends of a number panels don't tell values apart.
    """
    for panel in () if ensemble.panels is None else ensemble.panels.panels:
        if panel.blend is not None:
            its = panel.blend.columns
            told = np.column_stack((its.lows, its.highs, its.means))
            pairs = its.feature_idxs.tolist(), its.codes.tolist()
            yield from zip(*pairs, told, strict=True)


def middle_values(ensemble: Ensemble) -> list[float]:
    """Return a middle value of each feature: a mean that panels know, or a middle cut.

    Of a boolean the likelier one that panels know, of a category the most frequent.
    """
    middles = [its[len(its) // 2] if its else 0.0 for its in list_cuts(ensemble)]
    shares: dict[int, dict[float, float]] = defaultdict(dict)
    for idx, code, (_, _, mean) in find_columns(ensemble):
        if code >= 0:
            shares[idx][code] = mean
        elif code == NUMBER_CODE:
            is_number = ensemble.catalogue.features[idx].type == "number"
            middles[idx] = float(mean if is_number else mean > 0.5)
    for idx, its in shares.items():
        if len(ensemble.catalogue.features[idx].categories) == 2:
            # One of both has a column.
            its |= {1.0 - code: 1.0 - share for code, share in its.items()}
        middles[idx] = float(max(its, key=lambda code: its[code]))
    return middles


def possible_values(
    ensemble: Ensemble, feature_idx: int, *, has_votes: bool
) -> FloatArray:
    """Return values of a feature between which predictions may differ, ascending.

    Of categories and booleans all. Of numbers, where hypotheses vote, one of each
    segment between their cuts; else `N_VALUES` evenly spaced over the range. An
    ensemble keeps what was found.
    """
    kept: dict[tuple[int, bool], FloatArray]
    kept = ensemble.__dict__.setdefault("possible_values", {})
    if (feature_idx, has_votes) not in kept:
        found = find_values(ensemble, feature_idx, has_votes=has_votes)
        found.flags.writeable = False
        kept[feature_idx, has_votes] = found
    return kept[feature_idx, has_votes]


def find_values(ensemble: Ensemble, feature_idx: int, *, has_votes: bool) -> FloatArray:
    """Find what `possible_values` returns."""
    feature = ensemble.catalogue.features[feature_idx]
    if feature.type == "category":
        return np.arange(len(feature.categories), dtype=np.float64)
    if feature.type == "boolean":
        return np.array([0.0, 1.0])
    cuts = np.unique(list_cuts(ensemble)[feature_idx]) if has_votes else np.empty(0)
    if cuts.size:
        return middle_of_segments(cuts, feature.value_range)
    ends = [feature.value_range] if feature.value_range else []
    for idx, code, (low, high, _) in find_columns(ensemble):
        is_its = (idx, code) == (feature_idx, NUMBER_CODE)
        ends += [(float(low), float(high))] if is_its else []
    return np.unique(np.linspace(*ends[0], N_VALUES)) if ends else np.empty(0)


def middle_of_segments(
    cuts: FloatArray, ends: tuple[float, float] | None
) -> FloatArray:
    """Return a value of each segment: the middle of two cuts, beyond them the end.

    A cut is of the segment below it. Without a range the outer segments are as wide as
    all cuts, or 1.
    """
    width = float(np.ptp(cuts)) or 1.0
    low, high = ends or (cuts[0] - width, cuts[-1] + width)
    inner = cuts[:-1] + (cuts[1:] - cuts[:-1]) / 2
    first, last = min(low, cuts[0]), max(high, np.nextafter(cuts[-1], np.inf))
    return np.array([first, *inner, last])
