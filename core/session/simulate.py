"""Many rows at once: each row is a session, without a Python object for each."""

from collections.abc import Sequence

import numpy as np

from core.arrays import FloatArray, IntArray
from core.model.ensemble import Ensemble
from core.session.policies import POLICIES
from core.session.position import UNLIMITED
from core.session.walks import Cases, Walks


def walk(
    ensemble: Ensemble,
    values: FloatArray,
    budgets: Sequence[int | None],
    policy: str | None = None,
    seed: int = 0,
    *,
    needs_ranks: bool = False,
    streams: Sequence[int] | None = None,
) -> Walks:
    """Play one session per row under each budget, without advice to stop.

    Parameters
    ----------
    values : float64 array, shape (n_rows, n_features)
        As in `Dataset.values`; NaN cells answer `unavailable`.
    budgets : sequence of int or None
        In micro-units, in any order; None: unlimited.
    policy : str, optional
        That of the ensemble's algorithm by default.
    seed, streams : int, sequence of int
        Row i draws from the stream (seed, streams[i]), by default (seed, i); each from
        0 to 2**64 - 1.
    needs_ranks : bool
        Whether `ranks` must be right for draws under budgets that pay everything
        (where they don't matter to anything else, and take long to find).
    """
    limits = np.array([UNLIMITED if b is None else b for b in budgets], np.int64)
    order = np.argsort(limits, kind="stable")
    cases = Cases(
        values=np.ascontiguousarray(values),
        budgets=limits[order],
        seed=seed,
        streams=range(values.shape[0]) if streams is None else streams,
        needs_ranks=needs_ranks,
    )
    walks = POLICIES[policy or ensemble.policy].walk(ensemble, cases)
    return walks.take(np.argsort(order, kind="stable"))


def class_votes(
    ensemble: Ensemble, walks: Walks, policy: str | None = None
) -> IntArray:
    """Class by the raw vote at the end of each walk; (n_rows, n_budgets)."""
    return POLICIES[policy or ensemble.policy].votes(ensemble, walks)


def class_probabilities(
    ensemble: Ensemble, walks: Walks, policy: str | None = None
) -> FloatArray:
    """Probability of each class at the end of each walk; (..., n_classes)."""
    return POLICIES[policy or ensemble.policy].chances(ensemble, walks)
