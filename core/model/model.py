"""A model: an ensemble with its curve and its card."""

import math
from dataclasses import dataclass, field

from core.model.ensemble import Ensemble

# Of the standard normal distribution, for intervals of 95 %.
QUANTILE = 1.959963984540054


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

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """Interval of 95 % of each calibrated error, for other rows of the kind."""
        n_rows = self.n_samples if self.n_effective is None else self.n_effective
        return tuple(wilson_interval(one, n_rows) for one in self.errors_calibrated)


def wilson_interval(share: float, n_rows: float) -> tuple[float, float]:
    """Return the interval of 95 % of a share observed on independent rows.

    Notes
    -----
    Wilson (1927): the shares p with |share - p| <= z sqrt(p(1 - p)/n). Weighted rows
    count by their effective number (Kish 1965), which needs no integer.
    """
    if n_rows <= 0:
        return 0.0, 1.0
    square = QUANTILE**2 / n_rows
    middle = share + square / 2.0
    spread = math.sqrt(square * max(share * (1.0 - share), 0.0) + square**2 / 4.0)
    ends = ((middle - spread) / (1.0 + square), (middle + spread) / (1.0 + square))
    return max(0.0, min(ends[0], share)), min(1.0, max(ends[1], share))


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
