"""Measure drift: how answers differ from the values that training saw."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from askless.core.arrays import BoolArray, FloatArray
from askless.core.catalogue.catalogue import UNSEEN
from askless.core.kernels import NUMBER_CODE
from askless.core.model.ensemble import Ensemble
from askless.core.model.figures import Estimate, wilson_interval
from askless.core.model.values import panel_columns

# Shares in training are raised to at least this, since ln 0 is infinite.
LEAST_SHARE = 1e-4


@dataclass(frozen=True, slots=True)
class Drift:
    """Values of one feature compared with training; None: the model lacks a figure."""

    n_values: int
    #: share of numbers outside the range of training, or of categories it did not see
    outside: Estimate | None
    mean: float | None
    training_mean: float | None
    #: population stability index of a boolean or category
    psi: float | None
    #: of how many values the index is the sum
    n_indexed: int = 0


def measure_drift(ensemble: Ensemble, feature_idx: int, values: FloatArray) -> Drift:
    """Compare values (n_values,), one or more, with those of training.

    For a number: the share outside the range, and the means. For a boolean or category:
    the population stability index sum (a - t) ln(a/t) over its values, with a the share
    here (half a case added to each) and t in training (Siddiqi 2006, Credit Risk
    Scorecards); unseen categories count as outside and not in the index.
    """
    feature = ensemble.catalogue.features[feature_idx]
    mean, shares = summarise_training_values(ensemble, feature_idx)
    if feature.type == "number":
        outside = None
        if feature.value_range is not None:
            low, high = feature.value_range
            outside = observed_share((values < low) | (values > high))
        return Drift(values.size, outside, float(values.mean()), mean, None)
    outside = observed_share(values == UNSEEN) if feature.type == "category" else None
    psi = stability_index(values[values != UNSEEN], shares) if shares else None
    return Drift(values.size, outside, None, None, psi, len(shares))


def summarise_training_values(
    ensemble: Ensemble, feature_idx: int
) -> tuple[float | None, dict[float, float]]:
    """Return the mean of a number, or the share of each value of another feature.

    They are stored in the panels; None and an empty dictionary where they are not. A
    single value without a column of its own has the rest of the shares.
    """
    feature = ensemble.catalogue.features[feature_idx]
    means: dict[int, float] = defaultdict(float)
    for idx, code, (_, _, mean, _) in panel_columns(ensemble):
        if idx == feature_idx:
            means[code] = float(mean)
    if feature.type == "number":
        return means.get(NUMBER_CODE), {}
    if feature.type == "boolean":
        share = means.get(NUMBER_CODE)
        return None, {} if share is None else {0.0: 1.0 - share, 1.0: share}
    shares = {float(code): share for code, share in means.items() if code >= 0}
    rest = [code for code in range(len(feature.categories)) if code not in shares]
    if not shares or len(rest) > 1:
        return None, {}
    return None, shares | {float(code): 1.0 - sum(shares.values()) for code in rest}


def compute_mean_shift(
    ensemble: Ensemble, feature_idx: int, values: FloatArray
) -> float | None:
    """Return by how many standard deviations of training the mean of a number differs.

    Values are clipped as in training; None where the model lacks the figures. Its
    square is to numbers what the population stability index is to categories: that of
    two normal distributions whose means differ so.
    """
    for idx, code, (low, high, mean, deviation) in panel_columns(ensemble):
        if (idx, code) == (feature_idx, NUMBER_CODE):
            return float((np.clip(values, low, high).mean() - mean) / deviation)
    return None


def stability_index(values: FloatArray, shares: dict[float, float]) -> float:
    """Return the population stability index of values against shares in training."""
    counts = np.array(
        [np.count_nonzero(values == known_value) for known_value in shares]
    )
    observed = (counts + 0.5) / (counts.sum() + 0.5 * counts.size)
    there = np.maximum([*shares.values()], LEAST_SHARE)
    there /= there.sum()
    return float(((observed - there) * np.log(observed / there)).sum())


def observed_share(is_hit: BoolArray) -> Estimate:
    """Return the share of True among values, with its interval."""
    share = float(np.mean(is_hit))
    return Estimate(share, wilson_interval(share, is_hit.size))
