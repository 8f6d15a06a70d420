"""Logs of made cases, and a policy that asks one vendor, then another if in doubt."""

from dataclasses import replace

import numpy as np

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.catalogue.prices import MICROS_PER_UNIT as UNIT
from askless.core.model.ensemble import Ensemble
from askless.core.shadow.logs import UNKNOWN, LoggedCases
from tests.panels import make_aimed

#: The rule that asks, as a mean budget; one of 0 asks nothing.
ASKS = 5 * UNIT


def make_doubtful(threshold: float = 0.4, billing: str = "per_call") -> Ensemble:
    """Two vendors: f0 is always asked, f1 where the risk is above a threshold."""
    ensemble = make_aimed()
    ladder = ensemble.panels
    assert ladder is not None
    assert ladder.stopping is not None
    idle, busy = ladder.stopping.rules
    busy = replace(
        busy,
        targets=np.array([0, 0, 1]),
        thresholds=np.array([0.0, threshold, -1.0]),
    )
    stopping = replace(ladder.stopping, rules=(idle, busy))
    features = tuple(
        replace(feature, billing=billing) for feature in ensemble.catalogue.features
    )
    return replace(
        ensemble,
        catalogue=Catalogue(features, ensemble.catalogue.groups),
        panels=replace(ladder, stopping=stopping),
    )


def add_known(ensemble: Ensemble) -> Ensemble:
    """Add a feature that costs nothing, which no panel reads."""
    known = Feature("known", cost=0)
    catalogue = replace(
        ensemble.catalogue, features=(*ensemble.catalogue.features, known)
    )
    return replace(ensemble, catalogue=catalogue)


def draw_cases(
    n_cases: int, seed: int = 0, *, asks: float = 1.0, empty: float = 0.1
) -> LoggedCases:
    """Draw cases of two vendors; f1 is in the log of a share of them."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(n_cases, 2))
    values[random.random(values.shape) < empty] = np.nan
    orders = np.ones((n_cases, 2), np.int64)
    orders[:, 1] = np.where(random.random(n_cases) < asks, 2, 0)
    values[orders == 0] = np.nan
    outcomes = random.integers(0, 2, n_cases)
    return LoggedCases(
        values=values,
        orders=orders,
        decisions=np.where(random.random(n_cases) < 0.2, 1 - outcomes, outcomes),
        outcomes=outcomes,
        days=np.arange(n_cases) // 10,
        repeats=np.zeros(n_cases, np.int64),
        numbers=np.arange(n_cases),
    )


def forget(cases: LoggedCases, name: str) -> LoggedCases:
    """Return the cases without decisions, or without outcomes."""
    return LoggedCases(**(vars(cases) | {name: np.full(cases.n_cases, UNKNOWN)}))
