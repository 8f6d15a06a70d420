"""The start of online boosting: an empty state of final size, and its first cuts."""

from collections.abc import Sequence

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, FloatArray
from askless.core.catalogue.catalogue import Catalogue
from askless.core.codes.cuts import compute_thresholds
from askless.core.table.dataset import MAX_CODES

# Codes of a number in a stream without a table.
N_SLOTS = 32
# So many first rows are kept, and let go then. From each count of `MARKS` on they are
# learnt anew, with the cuts of all so far.
MARKS = (16, 32, 64, 128, 256)
# The first look for a stump comes so many rows after the last stump.
LEAST_ROWS = 8


def count_slots(catalogue: Catalogue, cuts: Sequence[FloatArray] | None) -> int:
    """Return the most codes that a feature may have, now and later."""
    n_slots = N_SLOTS
    for idx, feature in enumerate(catalogue.features):
        if feature.type == "category":
            n_slots = max(n_slots, min(len(feature.categories), MAX_CODES))
        elif cuts is not None:
            n_slots = max(n_slots, cuts[idx].size + 1)
    return n_slots


def make_state(
    catalogue: Catalogue, n_slots: int, n_outputs: int, shape: tuple[int, int]
) -> kernels.OnlineState:
    """Return a state that has learnt nothing; `shape`: (n_speeds, n_learners)."""
    n_features, n_learners = len(catalogue.features), shape[1]
    bins = np.zeros((n_features, n_slots, 4))
    bins[:, :, kernels.LEAST], bins[:, :, kernels.MOST] = np.inf, -np.inf
    return kernels.OnlineState(
        cuts=np.full((n_features, n_slots), np.inf),
        n_codes=np.zeros(n_features, np.int64),
        bins=bins,
        sums=np.zeros((n_features, n_slots, n_outputs)),
        squares=np.zeros(n_features),
        facts=np.array([0.0, 1.0]),
        stumps=np.zeros((n_learners, 2), np.int64),
        thresholds=np.zeros(n_learners),
        votes=np.zeros((n_learners, n_outputs), np.int8),
        alphas=np.zeros(shape),
        slopes=np.zeros(shape),
        losses=np.zeros(shape[0]),
        counts=np.array([0, 0, 0, LEAST_ROWS, 0]),
        first_values=np.zeros((MARKS[-1], n_features)),
        first_signed=np.zeros((MARKS[-1], n_outputs)),
    )


def compute_first_cuts(
    catalogue: Catalogue, values: FloatArray, n_slots: int
) -> list[FloatArray]:
    """Return cuts between the values of the first rows, and every known category.

    If a feature has more than `n_slots` values, its cuts are quantiles. `values`
    (n_samples, n_features), NaN where missing.
    """
    cuts = []
    for feature, column in zip(catalogue.features, values.T, strict=True):
        if feature.type == "category":
            n_known = min(len(feature.categories), n_slots)
            cuts.append(np.arange(n_known, dtype=np.float64))
        else:
            present = np.sort(column[~np.isnan(column)])
            cuts.append(compute_thresholds(present, None, n_slots))
    return cuts


def set_cuts(
    state: kernels.OnlineState, cuts: Sequence[FloatArray], is_category: BoolArray
) -> None:
    """Write the cuts of each feature into a state that has none."""
    for idx, cut in enumerate(cuts):
        state.cuts[idx, : cut.size] = cut
        state.n_codes[idx] = cut.size + (not is_category[idx])
