"""Error rates that held-out rows had under budgets, as sessions promise them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MeasuredErrors:
    """Mean error under each budget; with error costs the mean cost of errors.

    Budgets are in micro-units and ascend, the first is 0; None: unlimited.
    """

    budgets: tuple[int | None, ...]
    errors: tuple[float, ...]

    def rate_at(self, budget: int | None) -> float:
        """Return the error under any budget: that of the largest one not above it."""
        error = self.errors[0]
        for limit, measured in zip(self.budgets, self.errors, strict=True):
            if budget is None or (limit is not None and limit <= budget):
                error = measured
        return error
