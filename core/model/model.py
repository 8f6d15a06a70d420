"""A model: an ensemble with its curve and its card."""

import math
from dataclasses import dataclass, field

from core.model.ensemble import Ensemble
from core.model.figures import Figures, wilson_interval


@dataclass(frozen=True, slots=True)
class Curve:
    """Error and spend against budget; money in micro-units, None is unlimited."""

    budgets: tuple[int | None, ...]
    errors: tuple[float, ...]
    errors_calibrated: tuple[float, ...]
    mean_spends: tuple[float, ...]
    max_spends: tuple[int, ...]
    n_samples: int
    #: rows of equal weight, each on its own, that would say as much as these rows;
    #: None: all of them
    n_effective: float | None = None
    #: under each budget; None: not measured, as by versions before
    predictive: tuple[Figures, ...] | None = None
    #: under each budget the share of sessions that ask for each feature; None likewise
    purchases: tuple[tuple[float, ...], ...] | None = None

    def place_at(self, budget: int | None) -> int:
        """Return the position of the largest of the budgets that is within this one."""
        limits = [math.inf if one is None else one for one in self.budgets]
        within = math.inf if budget is None else budget
        return max(place for place, one in enumerate(limits) if one <= within)

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """Interval of 95 % of each calibrated error, for other rows of the kind."""
        n_rows = self.n_samples if self.n_effective is None else self.n_effective
        return tuple(wilson_interval(one, n_rows) for one in self.errors_calibrated)


@dataclass(frozen=True, slots=True)
class Model:
    """An ensemble with what a reader of it needs.

    `target` names the column it predicts, `params` are those of the training, `curve`
    comes from its held-out rows, and the `card` holds facts about both.
    """

    name: str
    ensemble: Ensemble
    target: str = ""
    params: dict[str, object] = field(default_factory=dict)
    curve: Curve | None = None
    card: dict[str, object] = field(default_factory=dict)
