"""Decide how much of its budget a session spends by itself."""

from askless.core.model.ensemble import Ensemble
from askless.core.session.state import Aim, Spend

# Policies that buy only what is worth it; the others end as their papers say.
LIMITED = ("panels", "worth", "adaptive")


def compute_limit(
    ensemble: Ensemble,
    budget: int | None,
    aim: Aim | None,
    spend: Spend,
    policy: str | None = None,
) -> int | None:
    """Return the most that a session spends by itself; None: unlimited.

    It is the worthwhile part of the budget, in micro-units, if that was measured with
    `policy` (None: the default one). A session with an aim may spend all of its budget.
    """
    if aim is not None or spend == "all":
        return budget
    limit = ensemble.worthwhile_at(budget)
    measured = ensemble.policy_at(limit)
    return limit if measured in LIMITED and policy in (None, measured) else budget
