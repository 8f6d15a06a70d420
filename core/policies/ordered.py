"""The policy `ordered`: buy what the hypotheses need in the order of training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core import kernels
from core.policies.step import Step
from core.session_arrays import SessionArrays
from core.types import BoolArray, Ensemble, State


@dataclass(frozen=True)
class Plan:
    """The hypotheses whose features fit the budget: a prefix of the ensemble.

    Hypotheses on features that came back without a value are passed over.
    `is_planned` (n_features,) marks the features read by the prefix.
    """

    length: int
    first_open: int | None
    is_planned: BoolArray


def find_plan(ensemble: Ensemble, arrays: SessionArrays) -> Plan:
    """Longest prefix that what remains can pay (Huang et al. 2015, Algorithm 1)."""
    catalogue = ensemble.catalogue
    is_planned = np.zeros(len(catalogue.features), dtype=np.bool_)
    length, first_open = kernels.find_plan(
        ensemble.feature_idxs,
        arrays.status,
        catalogue.costs,
        catalogue.group_idxs,
        catalogue.fees,
        arrays.is_group_paid.copy(),
        arrays.remaining,
        is_planned,
    )
    return Plan(int(length), None if first_open < 0 else int(first_open), is_planned)


def find_next(ensemble: Ensemble, state: State, arrays: SessionArrays) -> Step:
    """Ask the first feature of the plan that has no answer yet."""
    del state
    plan = find_plan(ensemble, arrays)
    if plan.first_open is not None:
        return Step(plan.first_open)
    is_whole = plan.length == len(ensemble.hypotheses)
    return Step(None, "all_known" if is_whole else "budget_exhausted")
