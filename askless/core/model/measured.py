"""Error rates that held-out rows had under budgets, as sessions promise them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MeasuredErrors:
    """Mean error under each budget; with error costs the mean cost of errors.

    Budgets are in micro-units and ascend, the first is 0; None: unlimited.
    """

    budgets: tuple[int | None, ...]
    errors: tuple[float, ...]
    #: least chances at which the rarer of two classes counts as found; (): none is rare
    thresholds: tuple[float, ...] = ()

    def rate_at(self, budget: int | None) -> float:
        """Return the error under any budget: that of the largest one not above it."""
        return self.errors[self._place_at(budget)]

    def threshold_at(self, budget: int | None) -> float | None:
        """Return the threshold under any budget, likewise; None: no class is rare."""
        return self.thresholds[self._place_at(budget)] if self.thresholds else None

    def _place_at(self, budget: int | None) -> int:
        place = 0
        for idx, limit in enumerate(self.budgets):
            if budget is None or (limit is not None and limit <= budget):
                place = idx
        return place
