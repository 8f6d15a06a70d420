"""When a case goes on from a panel to a dearer one: the rules that training learned."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from annotated_types import Interval, Len

from core.arrays import Arrays, FloatArray
from core.model.ranges import Amounts, Costs, MeanCost, Positions, Shares

ErrorCosts = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, eq=False)
class StoppingRule(Arrays):
    """From which panel a case goes on to which, at one price of an error.

    A case that a panel predicts goes on to the panel's target if the error cost to be
    expected of it is above the panel's threshold. Else it stops.
    """

    #: error cost that a micro-unit has to save
    rate: MeanCost
    #: mean spend, in micro-units, and mean error cost on held-out rows
    spend: MeanCost
    error: MeanCost
    #: (n_panels,), positions of panels; its own: no case goes on
    targets: Positions
    #: (n_panels,)
    thresholds: Annotated[FloatArray, Interval(ge=-1, le=1e18)]
    #: (n_panels,), of going on, in micro-units
    prices: Amounts
    #: (n_panels,), what share of the error cost to be expected is left at the end, of
    #: held-out rows that went on
    left: Shares

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
    """The rules of a ladder, the cheapest first; what they cost falls convexly."""

    #: (n_panels,), mean error cost of each panel on held-out rows
    errors: Costs
    rules: Annotated[tuple[StoppingRule, ...], Len(1)]


def expect_costs(chances: FloatArray, error_costs: ErrorCosts | None) -> FloatArray:
    """Error cost to be expected of the label of least; (..., n_classes) -> (...).

    Without costs of its own an error costs 1: it is the chance of an error.
    """
    if error_costs is None:
        return np.asarray(1.0 - chances.max(axis=-1))
    costs: FloatArray = chances @ np.array(error_costs, np.float64)
    return np.asarray(costs.min(axis=-1))
