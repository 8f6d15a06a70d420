"""The policy `ordered`: buy what the hypotheses need in the order of training."""

from __future__ import annotations

from dataclasses import dataclass

from core import kernels
from core.model.ensemble import Ensemble
from core.session.arrays import SessionArrays
from core.session.policies.step import Step
from core.session.state import State


@dataclass(frozen=True, slots=True)
class Plan:
    """The hypotheses whose features fit the budget: a prefix of the ensemble.

    Hypotheses on features that came back without a value are passed over.
    """

    length: int
    first_open: int | None


def find_plan(ensemble: Ensemble, arrays: SessionArrays) -> Plan:
    """Longest prefix that what remains can pay (Huang et al. 2015, Algorithm 1).

    A tree is asked along its path only, but belongs to the plan if what remains pays
    every feature that the path may still come to. The feature asked may be one of the
    tree after the plan, whose next step can be paid and whose whole can't. A product
    that can't be paid whole is not asked at all: it would have no vote.
    """
    catalogue, paths = ensemble.catalogue, ensemble.paths
    length, first_open = kernels.find_plan(
        arrays.values,
        arrays.status,
        paths.roots,
        paths.nodes,
        paths.cuts,
        catalogue.costs,
        catalogue.group_idxs,
        catalogue.fees,
        arrays.is_group_paid.copy(),
        arrays.remaining,
    )
    return Plan(int(length), None if first_open < 0 else int(first_open))


def find_next(ensemble: Ensemble, state: State, arrays: SessionArrays) -> Step:
    """Ask the first feature of the plan that has no answer yet."""
    del state
    plan = find_plan(ensemble, arrays)
    if plan.first_open is not None:
        return Step(plan.first_open)
    is_whole = plan.length == len(ensemble.hypotheses)
    return Step(None, "all_known" if is_whole else "budget_exhausted")
