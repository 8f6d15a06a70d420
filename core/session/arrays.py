"""A session's state as the arrays that kernels and policies read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core import kernels
from core.arrays import BoolArray, FloatArray, IntArray
from core.model.ensemble import Ensemble
from core.session.state import State
from core.table.catalogue import NO_GROUP, Catalogue
from core.table.prices import Paid, pay

UNLIMITED = int(np.iinfo(np.int64).max)

STATUSES = {
    None: kernels.OPEN,
    "known": kernels.KNOWN,
    "value": kernels.KNOWN,
    "ordered": kernels.PENDING,
    "unavailable": kernels.GONE,
    "refused": kernels.GONE,
    "unknown": kernels.GONE,
}


@dataclass(frozen=True)
class SessionArrays:
    """What is known, what may be asked and what may be spent.

    `status` (n_features,) holds the codes of `core.kernels`; `values` (n_features,)
    are NaN unless known; `prices` (n_features,) are those of now for open features;
    `remaining` is `UNLIMITED` without a budget.
    """

    status: IntArray
    values: FloatArray
    is_group_paid: BoolArray
    prices: IntArray
    remaining: int

    @property
    def is_affordable(self) -> BoolArray:
        """Which features could be bought now, each taken alone."""
        affordable: BoolArray = self.prices <= self.remaining
        return affordable

    def is_coming(self, catalogue: Catalogue) -> BoolArray:
        """Which features may get an answer although no question is about them.

        They are pending, or would come with the rest of a bundle.
        """
        # A feature of no group has the last place.
        is_bundle = np.append(catalogue.is_bundle, False)[catalogue.group_idxs]
        is_pending = self.status == kernels.PENDING
        coming: BoolArray = is_pending | (is_bundle & self.is_affordable)
        return coming


def paid_by(catalogue: Catalogue, state: State) -> Paid:
    """Give what the charges of a session have paid for."""
    return pay(catalogue, Paid(), [charge.feature_idx for charge in state.charges])


def session_arrays(ensemble: Ensemble, state: State) -> SessionArrays:
    """Lay a session out as arrays."""
    catalogue = ensemble.catalogue
    is_group_paid = np.zeros(len(catalogue.groups), dtype=np.bool_)
    prices = catalogue.costs
    if catalogue.groups:
        is_group_paid[list(paid_by(catalogue, state).group_idxs)] = True
        dues = np.append(np.where(is_group_paid, 0, catalogue.fees), 0)
        assert NO_GROUP == -1
        prices = prices + dues[catalogue.group_idxs]
    remaining = state.remaining
    return SessionArrays(
        status=np.array([STATUSES[outcome] for outcome in state.outcomes], np.int64),
        values=np.array(state.values, np.float64),
        is_group_paid=is_group_paid,
        prices=prices,
        remaining=UNLIMITED if remaining is None else remaining,
    )
