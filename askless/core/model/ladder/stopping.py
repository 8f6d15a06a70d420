"""Hold the learned rules that say when a case goes on to a dearer panel."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from annotated_types import Interval, Len

from askless.core.arrays import Arrays, FloatArray
from askless.core.model.ranges import Amounts, Costs, Each, MeanCost, Positions

ErrorCosts = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, eq=False)
class StoppingRule(Arrays):
    """For each panel a target panel and a threshold, at one price of an error.

    A case goes on from a panel to its target if the case's expected error cost is
    above the panel's threshold; else it stops.
    """

    #: error cost that a micro-unit has to save
    rate: MeanCost
    #: mean spend, in micro-units, and mean error cost on held-out rows
    spend: MeanCost
    error: MeanCost
    #: (n_panels,), positions of panels; a panel's own position: no case goes on
    targets: Annotated[Positions, Each("panels")]
    #: (n_panels,)
    thresholds: Annotated[FloatArray, Interval(ge=-1, le=1e18), Each("panels")]
    #: (n_panels,), price of going on to the target, in micro-units
    prices: Annotated[Amounts, Each("panels")]

    def scale(self, factor: float) -> "StoppingRule":
        """Return the rule where all prices are a factor times those of training."""
        return replace(
            self,
            rate=self.rate / factor,
            spend=self.spend * factor,
            prices=np.rint(self.prices * factor).astype(np.int64),
        )


@dataclass(frozen=True, eq=False)
class Stopping(Arrays):
    """The rules of a ladder, the cheapest first; error is convex in spend."""

    #: (n_panels,), mean error cost of each panel on held-out rows
    errors: Annotated[Costs, Each("panels")]
    rules: Annotated[tuple[StoppingRule, ...], Len(1)]


def least_expected_costs(
    chances: FloatArray, error_costs: ErrorCosts | None
) -> FloatArray:
    """Return the expected error cost of the best label; (..., n_classes) -> (...).

    Without `error_costs` each error costs 1, so that it is the chance of an error.
    """
    if error_costs is None:
        return np.asarray(1.0 - chances.max(axis=-1))
    costs: FloatArray = chances @ np.array(error_costs, np.float64)
    return np.asarray(costs.min(axis=-1))
