"""Trim a shard's sums by code to what the search for stumps reads, before sending.

In the sums for a stump, a lane of one feature is reduced to one number per code: the
signed quanta, but for missing values, which no cut separates, those of both classes.
"""

import numpy as np

from askless.core.arrays import IntArray
from askless.core.codes.binning import Binned
from askless.core.training.shards.questions import (
    NO_NUMBERS,
    Ask,
    FactorSums,
    PlaceSums,
    Sums,
)

N_HISTOGRAM = 256
MISSING = 255


def trim_sums(ask: Ask, sums: IntArray, binned: Binned, *, is_split: bool) -> IntArray:
    """Return the numbers that a scan reads of the sums asked for; (n_numbers,)."""
    if not sums.size:
        return NO_NUMBERS
    joined: IntArray = sums.sum(axis=-4)
    if not isinstance(ask, Sums | FactorSums):
        return joined.ravel()
    if not is_split:
        return joined[:, :, 0].ravel()
    n_packed = count_packed(ask, binned)
    # Lanes of one feature: positive less negative quanta, one number per code.
    alone = joined[:, n_packed:]
    signed = alone[:, :, 0] - alone[:, :, 1]
    signed[..., MISSING] = alone[..., MISSING].sum(axis=-1)
    return np.concatenate([joined[:, :n_packed].ravel(), signed.ravel()])


def restore_sums(
    ask: Ask, trimmed: IntArray, binned: Binned, *, n_outputs: int, is_split: bool
) -> IntArray:
    """Restore trimmed sums to the shape of sums by code, for a scan to read.

    Trimmed sums of several shards are added up before.
    """
    if not trimmed.size:
        return NO_NUMBERS
    if not isinstance(ask, Sums | FactorSums):
        lead = (n_outputs,) if isinstance(ask, PlaceSums) else (2, n_outputs)
        return trimmed.reshape(*lead, 1, -1, 2, N_HISTOGRAM)
    n_packed = count_packed(ask, binned) if is_split else 0
    sums = np.zeros((n_outputs, 1, ask.lanes.size, 2, N_HISTOGRAM), dtype=np.int64)
    n_joint = sums[:, 0, :n_packed].size
    sums[:, 0, :n_packed] = trimmed[:n_joint].reshape(
        n_outputs, n_packed, 2, N_HISTOGRAM
    )
    alone = sums[:, 0, n_packed:, 0]
    alone[:] = trimmed[n_joint:].reshape(alone.shape)
    return sums


def count_packed(ask: Sums | FactorSums, binned: Binned) -> int:
    """Return how many of the lanes asked for, the first ones, join some features."""
    return int(np.searchsorted(ask.lanes, binned.packing.codes.shape[0]))
