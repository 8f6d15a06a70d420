"""Hold figures of predictive quality, measured on rows with known classes."""

import math
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Interval

from askless.core.model.ranges import Share

# 97.5 % quantile of the standard normal distribution, for intervals of 95 %.
QUANTILE = 1.959963984540054


def wilson_interval(share: float, n_rows: float) -> tuple[float, float]:
    """Return Wilson's 95 % confidence interval of a share of independent rows.

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
    """A figure measured on some rows, with its 95 % confidence interval."""

    value: float
    #: None where there are too few rows
    interval: tuple[float, float] | None


ShareEstimate = Annotated[Estimate, Interval(ge=0, le=1 + 1e-9)]
CostEstimate = Annotated[Estimate, Interval(ge=0, le=1e18)]


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Rows with similar predicted chances: the mean chance and the observed share."""

    #: share of the rows' weight
    share: Share
    mean_chance: Share
    #: share of the rows in which the predicted class was true
    observed: ShareEstimate


@dataclass(frozen=True, slots=True)
class RareFigures:
    """Threshold, precision and recall of the rarer of two classes.

    In a model's curve the threshold has the best F1 on held-out rows, and the rows of
    each fold are judged by the one that the other folds choose. In other rows it is
    that of the curve.
    """

    #: least chance of the class at which a row counts as found
    threshold: Share
    #: share of the class among the rows found; None: none is
    precision: ShareEstimate | None
    #: share of the class's rows that are found; None: it has none
    recall: ShareEstimate | None


@dataclass(frozen=True, slots=True)
class Figures:
    """Predictive quality at the end of sessions under one budget.

    With two classes the chance is that of the second, the positive one. With several,
    figures are means over the classes, each against the rest, and calibration is that
    of the label's chance. None: the rows are of one class only.
    """

    #: area under the ROC curve
    auroc: ShareEstimate | None
    #: mean -ln of the true class's chance
    log_loss: CostEstimate
    #: Brier score: half the mean squared distance of chances and truth, 0 to 1
    brier: ShareEstimate
    #: expected calibration error: mean |chance - observed share| over `reliability`
    calibration_error: ShareEstimate
    #: share of the class's cases that are labelled so
    sensitivity: ShareEstimate | None
    #: share of all other cases that are not labelled so
    specificity: ShareEstimate | None
    #: mean cost of the labels' errors; None without error costs
    expected_cost: CostEstimate | None
    reliability: tuple[ReliabilityBin, ...]
    #: None: neither of two classes is rare, or errors have costs, which set labels
    rare: RareFigures | None = None
