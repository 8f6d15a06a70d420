"""Play many rows as sessions at once, without a Python object per session."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.session.policies import POLICIES, default_policy
from askless.core.session.policy import Policy
from askless.core.session.position import UNLIMITED
from askless.core.session.rows.walks import SimulatedRows, Walks
from askless.core.session.spending import compute_limit
from askless.core.session.state import Aim, Spend

AnyArray = TypeVar("AnyArray", FloatArray, IntArray)


def simulate(
    ensemble: Ensemble,
    values: FloatArray,
    budgets: Sequence[int | None],
    policy: str | None = None,
    seed: int = 0,
    *,
    needs_ranks: bool = False,
    streams: Sequence[int] | None = None,
    aims: Sequence[Aim | None] | None = None,
    spend: Spend = "worthwhile",
) -> Walks:
    """Simulate one session per row under each budget; only `spend` may end it early.

    Parameters
    ----------
    values : float64 array, shape (n_rows, n_features)
        As in `Dataset.values`; NaN cells answer `unavailable`.
    budgets : sequence of int or None
        In micro-units, in any order; None: unlimited.
    policy : str, optional
        By default the one that the ensemble prefers at each budget, or that takes aims.
    seed, streams : int, sequence of int
        Row i draws from the stream (seed, streams[i]), by default (seed, i); each from
        0 to 2**64 - 1.
    needs_ranks : bool
        Whether `ranks` must be right for draws under budgets that pay everything
        (where they don't matter to anything else, and take long to compute).
    aims : sequence of Aim or None, optional
        One for each budget.
    spend : {"worthwhile", "all"}
        Whether sessions end where going on is not worth it, as in `StopRule`.
    """
    all_aims = [None] * len(budgets) if aims is None else aims
    names, spendable = [], []
    for budget, aim in zip(budgets, all_aims, strict=True):
        name = policy or default_policy(ensemble, budget, aim, spend)
        limit = compute_limit(ensemble, budget, aim, spend, name)
        names.append(name)
        spendable.append(UNLIMITED if limit is None else limit)
    limits = np.array(spendable, np.int64)
    order = np.argsort(limits, kind="stable")
    parts, places = [], []
    # Each policy walks its budgets together; without any budget one makes empty arrays.
    for name in dict.fromkeys(names[place] for place in order) or [ensemble.policy]:
        own_places = [place for place in order.tolist() if names[place] == name]
        simulated = SimulatedRows(
            values=np.ascontiguousarray(values),
            budgets=limits[own_places],
            seed=seed,
            streams=range(values.shape[0]) if streams is None else streams,
            needs_ranks=needs_ranks,
            aims=tuple(all_aims[place] for place in own_places),
        )
        parts.append(POLICIES[name].walk(ensemble, simulated))
        places += own_places
    joined = {
        name: np.concatenate([vars(part)[name] for part in parts], axis=1)
        for name in vars(parts[0]).keys() - {"ranks", "policies"}
    }
    policies = tuple(names[place] for place in places)
    walks = Walks(ranks=parts[-1].ranks, policies=policies, **joined)
    return walks.take(np.argsort(np.array(places, np.int64)))


def class_votes(ensemble: Ensemble, walks: Walks) -> IntArray:
    """Return the class by the raw vote at the end of each walk, (n_rows, n_budgets)."""
    return compute_by_policy(
        ensemble, walks, lambda policy, part: policy.votes(ensemble, part)
    )


def class_probabilities(ensemble: Ensemble, walks: Walks) -> FloatArray:
    """Return class probabilities at the end of each walk, (..., n_classes)."""
    return compute_by_policy(
        ensemble, walks, lambda policy, part: policy.chances(ensemble, part)
    )


def compute_by_policy(
    ensemble: Ensemble, walks: Walks, compute: Callable[[Policy, Walks], AnyArray]
) -> AnyArray:
    """Compute a figure of each walk by its policy, (n_rows, n_budgets, ...)."""
    parts, places = [], []
    for name in dict.fromkeys(walks.policies) or [ensemble.policy]:
        own_places = [
            place for place, policy in enumerate(walks.policies) if policy == name
        ]
        parts.append(compute(POLICIES[name], walks.take(own_places)))
        places += own_places
    order = np.argsort(np.array(places, np.int64))
    return np.concatenate(parts, axis=1)[:, order]
