"""What rows with known classes say of probabilities and labels: figures as values."""

import math
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Interval

from core.model.ranges import Share

# Of the standard normal distribution, for intervals of 95 %.
QUANTILE = 1.959963984540054


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
class Estimate:
    """A figure from some rows, and its interval of 95 % for other rows of the kind."""

    value: float
    #: None where the rows are too few to tell
    interval: tuple[float, float] | None


ShareEstimate = Annotated[Estimate, Interval(ge=0, le=1 + 1e-9)]
CostEstimate = Annotated[Estimate, Interval(ge=0, le=1e18)]


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Rows with chances alike: what was said of them, and what came."""

    #: of the rows' weight
    share: Share
    mean_chance: Share
    #: how often what was said came true
    observed: ShareEstimate


@dataclass(frozen=True, slots=True)
class Figures:
    """How good chances and labels are at the end of sessions under one budget.

    Of two classes the chance is that of the second, the positive one. Of several each
    class is held against the rest, and the mean over the classes is told; calibration
    is then that of the label's chance. None: the rows are of one class only.
    """

    #: chance that a case of the class has a higher chance than one of the rest
    auroc: ShareEstimate | None
    #: mean -ln of the true class's chance
    log_loss: CostEstimate
    #: half the mean squared distance of chances and truth, 0 to 1
    brier: ShareEstimate
    #: mean distance of chances and observed shares over `reliability`
    calibration_error: ShareEstimate
    #: of cases of the class, how many are labelled so
    sensitivity: ShareEstimate | None
    #: of cases of the rest, how many are not labelled so
    specificity: ShareEstimate | None
    #: mean cost of the labels' errors; None without error costs
    expected_cost: CostEstimate | None
    reliability: tuple[ReliabilityBin, ...]
