"""The best stump on every feature, by a pass over the codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core import kernels
from core.binning import Binned
from core.types import FloatArray, IntArray, Stump

# Below this many cells waking the threads costs more than they bring.
PARALLEL_CELLS = 2_000_000


@dataclass(frozen=True)
class Candidates:
    """The best stump of each feature; all arrays (n_features,).

    `edges` are gamma >= 0 (both polarities are searched), 0 where a feature has no
    stump. `presents` is the weight of the rows where the feature is not missing.
    """

    edges: FloatArray
    cuts: IntArray
    votes: IntArray
    presents: FloatArray


def find_stumps(binned: Binned, signed_weights: FloatArray) -> Candidates:
    """Find, on every feature, the stump of largest edge.

    Parameters
    ----------
    binned : Binned
    signed_weights : float64 array, shape (n_samples,)
        Weight of each row times its class; the absolute values sum to 1.

    Returns
    -------
    Candidates
        Of equal cuts on a feature the lowest.
    """
    n_features = binned.codes.shape[0]
    edges = np.empty(n_features)
    cuts = np.empty(n_features, dtype=np.int64)
    votes = np.empty(n_features, dtype=np.int64)
    presents = np.empty(n_features)
    is_large = binned.codes.size >= PARALLEL_CELLS
    best_stumps = kernels.best_stumps_parallel if is_large else kernels.best_stumps
    best_stumps(
        binned.codes,
        binned.n_codes,
        binned.is_category,
        binned.has_missing,
        signed_weights,
        edges,
        cuts,
        votes,
        presents,
    )
    return Candidates(edges, cuts, votes, presents)


def make_stump(binned: Binned, candidates: Candidates, feature_idx: int) -> Stump:
    """Give a candidate in the units of its feature."""
    return Stump(
        feature_idx=feature_idx,
        cut=float(binned.cuts[feature_idx][candidates.cuts[feature_idx]]),
        vote=int(candidates.votes[feature_idx]),
        is_category=bool(binned.is_category[feature_idx]),
    )


def reweight(
    binned: Binned, stump: Stump, alpha: float, signed_weights: FloatArray
) -> float:
    """Multiply weights by exp(-alpha y h(x)) and normalise them, in place.

    Returns the normaliser Z. `signed_weights` is mutated.
    """
    feature_idx = stump.feature_idx
    cut = int(np.searchsorted(binned.cuts[feature_idx], stump.cut))
    return float(
        kernels.reweight(
            binned.codes[feature_idx],
            stump.is_category,
            cut,
            stump.vote,
            alpha,
            signed_weights,
        )
    )
