"""Measure certified early stops on rows of known class."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.model.certificates import EarlyRule
from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from askless.core.session.certificates import Certificate, make_certificate
from askless.core.session.policies import POLICIES
from askless.core.session.position import UNLIMITED, Position
from askless.core.session.rows.traces import locate_stops
from askless.core.session.rows.walks import SimulatedRows
from askless.core.session.state import StopRule
from askless.core.simulation.blocks import Block
from askless.core.simulation.exact import sum_weighted


@dataclass(frozen=True, slots=True)
class EarlyPoint:
    """Sessions of many rows under one budget, with early stops; money in micro-units.

    Shares and means are weighted by the rows' weights.
    """

    budget: int | None
    certificate: Certificate
    #: share of labels that differ from those at the session's end
    differing: float
    #: share of wrong labels
    error: float
    mean_spend: float
    #: without early stops
    mean_spend_whole: float


@dataclass(frozen=True)
class EarlyPlan:
    """How sessions under one budget stop early."""

    budget: int | None
    #: what sessions spend of it at most
    limit: int | None
    policy: str
    seed: int
    certificate: Certificate
    rule: EarlyRule
    #: as in `locate_stops`
    bounds: list[int]


def plan_early_stops(
    ensemble: Ensemble,
    budgets: Sequence[int | None],
    stop: StopRule,
    policy: str | None = None,
    seed: int = 0,
) -> list[EarlyPlan]:
    """Return the early stops of a rule with a `disagreement`, one plan a budget."""
    plans = []
    for budget in budgets:
        state = machine.start(ensemble, budget, seed, policy=policy, stop=stop)
        certificate = make_certificate(ensemble, state)
        # Without a certificate no probability suffices to stop.
        threshold = certificate.threshold
        threshold = 2.0 if threshold is None else threshold
        opens = tuple(stratum.is_open for stratum in certificate.strata) or (False,)
        bounds = [stratum.least_spend for stratum in certificate.strata[1:]]
        rule = EarlyRule(threshold, opens)
        limit = Position.of(ensemble, state).limit
        plans.append(
            EarlyPlan(budget, limit, state.policy, seed, certificate, rule, bounds)
        )
    return plans


def sum_early_stops(
    ensemble: Ensemble, plan: EarlyPlan, block: Block, weights: FloatArray
) -> tuple[Fraction, ...]:
    """Return weighted sums over rows, one for each mean of an `EarlyPoint`."""
    limits = np.array([UNLIMITED if plan.limit is None else plan.limit], np.int64)
    simulated = SimulatedRows(block.values, limits, plan.seed, block.streams)
    (traces,) = POLICIES[plan.policy].trace(ensemble, simulated)
    stops = locate_stops(traces, [plan.rule], plan.bounds)
    amounts = (
        stops.differs[0],
        stops.labels[0] != block.targets,
        stops.spends[0],
        traces.spends[:, -1],
    )
    summed: IntArray = np.stack([amount.astype(np.int64) for amount in amounts], axis=1)
    return sum_weighted(weights, summed)


def average_early_stops(
    plan: EarlyPlan, sums: Sequence[Fraction], weight: Fraction
) -> EarlyPoint:
    """Return the means that sums over rows of a total `weight` make."""
    means = (float(total / weight) for total in sums)
    return EarlyPoint(plan.budget, plan.certificate, *means)
