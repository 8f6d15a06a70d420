"""What the hypotheses of a session wait for, and whether it can be paid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core import kernels
from core.arrays import BoolArray, IntArray
from core.model.ensemble import Ensemble
from core.session.arrays import SessionArrays


@dataclass(frozen=True, slots=True)
class Waiting:
    """Where each hypothesis' path has come to; (n_hypotheses,).

    `feature_idxs` is the open feature that it waits for, -1 where it has ended or
    waits for a result that is pending. `is_payable` tells whether what remains pays
    all that it needs before its next vote: of a tree one feature, of a product all
    factors left.
    """

    feature_idxs: IntArray
    is_payable: BoolArray


def find_waiting(ensemble: Ensemble, arrays: SessionArrays) -> Waiting:
    """Find what each hypothesis waits for."""
    catalogue, paths = ensemble.catalogue, ensemble.paths
    ends = np.empty(paths.roots.size, dtype=np.int64)
    dues = np.empty(paths.roots.size, dtype=np.int64)
    kernels.follow_all(
        arrays.values, arrays.status, paths.roots, paths.nodes, paths.cuts, ends
    )
    kernels.find_dues(
        ends,
        arrays.status,
        arrays.prices,
        paths.nodes,
        catalogue.costs,
        catalogue.group_idxs,
        catalogue.fees,
        arrays.is_group_paid,
        dues,
    )
    features = paths.nodes[np.maximum(ends, 0), 0]
    is_open = (ends >= 0) & (arrays.status[features] == kernels.OPEN)
    return Waiting(np.where(is_open, features, -1), dues <= arrays.remaining)
