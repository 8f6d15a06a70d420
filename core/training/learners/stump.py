"""The best stump on every feature, by a pass over the codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core import kernels
from core.arrays import FloatArray, IntArray
from core.model.hypotheses import Stump
from core.table.binning import Binned

# Below this many cells waking the threads costs more than they bring.
PARALLEL_CELLS = 2_000_000


@dataclass(frozen=True)
class Candidates:
    """The best stump on each of some features; all arrays (n_candidates,).

    `edges` are gamma >= 0 (both polarities are searched), 0 where a feature has no
    stump; in a tree the gain over the vote so far. `cuts` are codes. `presents` is
    the weight of the rows where the feature is not missing. `votes` are those of a
    single output, where they are known already.
    """

    feature_idxs: IntArray
    edges: FloatArray
    cuts: IntArray
    presents: FloatArray
    votes: IntArray | None = None


def find_stumps(
    binned: Binned,
    signed_weights: FloatArray,
    feature_idxs: IntArray,
    rows: IntArray | None = None,
    votes_before: tuple[int, ...] | None = None,
    *,
    is_parallel: bool | None = None,
) -> Candidates:
    """Find, on each feature, the stump of largest edge.

    Parameters
    ----------
    binned : Binned
    signed_weights : float64 array, shape (n_samples, n_outputs)
        Weight of each row and class, times +1 where the row is of the class, else -1;
        the absolute values sum to 1.
    feature_idxs : int64 array, shape (n_candidates,)
    rows : int64 array, optional
        Only these, a leaf of a tree. A cut must then have weight on both sides.
    votes_before : tuple of int, optional
        What these rows vote now; edges are then gains over it.
    is_parallel : bool, optional
        Whether to use all cores; by default where there is enough to do.

    Returns
    -------
    Candidates
        Of equal cuts on a feature the lowest.

    Notes
    -----
    The edge of a stump with the best votes is sum_l |sum_i w_il y_il phi(x_i)| (Kegl
    and Busa-Fekete 2009, eq. 6 and 7). Missing values abstain, phi = 0.
    """
    n_candidates = feature_idxs.size
    n_outputs = signed_weights.shape[1]
    edges = np.empty(n_candidates)
    cuts = np.empty(n_candidates, dtype=np.int64)
    presents = np.empty(n_candidates)
    all_rows = np.arange(binned.codes.shape[1]) if rows is None else rows
    if is_parallel is None:
        is_parallel = n_candidates * all_rows.size * n_outputs >= PARALLEL_CELLS
    search = kernels.best_output_stumps
    if is_parallel:
        search = kernels.best_output_stumps_parallel
    search(
        binned.codes,
        binned.n_codes,
        binned.is_category,
        binned.has_missing,
        feature_idxs,
        all_rows,
        signed_weights,
        np.array(votes_before or (0,) * n_outputs, dtype=np.float64),
        rows is not None,
        edges,
        cuts,
        presents,
    )
    return Candidates(feature_idxs, edges, cuts, presents)


def make_stump(
    binned: Binned,
    candidates: Candidates,
    position: int,
    signed_weights: FloatArray | None,
    rows: IntArray | None = None,
) -> Stump:
    """Give a candidate in the units of its feature, with its best votes.

    `signed_weights` (n_samples, n_outputs) may be None where the votes are known.

    A class that no vote helps is voted against (Kegl and Busa-Fekete 2009, eq. 7).
    """
    feature_idx = int(candidates.feature_idxs[position])
    cut = candidates.cuts[position]
    is_category = bool(binned.is_category[feature_idx])
    if candidates.votes is not None:
        votes: tuple[int, ...] = (int(candidates.votes[position]),)
    else:
        assert signed_weights is not None, "needed for the votes"
        sums = np.zeros(signed_weights.shape[1])
        kernels.sum_sides(
            binned.codes[feature_idx],
            is_category,
            cut,
            np.arange(binned.codes.shape[1]) if rows is None else rows,
            signed_weights,
            sums,
        )
        votes = tuple(1 if one > 0 else -1 for one in sums.tolist())
    return Stump(
        feature_idx=feature_idx,
        cut=float(binned.cuts[feature_idx][cut]),
        votes=votes,
        is_category=is_category,
    )
