"""What certified early stops do on rows whose classes are known."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.model.certification import EarlyRule
from core.model.ensemble import Ensemble
from core.session import machine
from core.session.certificates import Certificate, find_certificate
from core.session.policies import POLICIES
from core.session.position import UNLIMITED
from core.session.state import StopRule
from core.session.traces import find_stops
from core.session.walks import Cases
from core.table.dataset import Dataset


@dataclass(frozen=True, slots=True)
class EarlyPoint:
    """Sessions of many rows under one budget, with early stops; money in micro-units.

    Shares and means are weighted by the rows' weights.
    """

    budget: int | None
    certificate: Certificate
    #: of labels that aren't those of the session's end
    differing: float
    #: of labels that are wrong
    error: float
    mean_spend: float
    #: without early stops
    mean_spend_whole: float


def evaluate_early(
    ensemble: Ensemble,
    dataset: Dataset,
    budgets: Sequence[int | None],
    stop: StopRule,
    policy: str | None = None,
    seed: int = 0,
) -> list[EarlyPoint]:
    """Play the rows of a dataset with the early stops that a rule asks for.

    `stop` has a `disagreement`; all else is as in `evaluate`.
    """
    points = []
    for budget in budgets:
        state = machine.start(ensemble, budget, seed, policy=policy, stop=stop)
        found = find_certificate(ensemble, state)
        limits = np.array([UNLIMITED if budget is None else budget], np.int64)
        cases = Cases(dataset.values, limits, seed, range(dataset.n_samples))
        (traces,) = POLICIES[state.policy].trace(ensemble, cases)
        # Without a certificate no label is probable enough.
        threshold = 2.0 if found.threshold is None else found.threshold
        opens = tuple(one.is_open for one in found.strata) or (False,)
        bounds = [one.least_spend for one in found.strata[1:]]
        stops = find_stops(traces, [EarlyRule(threshold, opens)], bounds)
        is_wrong = stops.labels[0] != dataset.targets
        points.append(
            EarlyPoint(
                budget=budget,
                certificate=found,
                differing=float(dataset.weights @ stops.differs[0]),
                error=float(dataset.weights @ is_wrong),
                mean_spend=float(dataset.weights @ stops.spends[0]),
                mean_spend_whole=float(dataset.weights @ traces.spends[:, -1]),
            )
        )
    return points
