"""Exact sums over rows that a curve is drawn from; blocks add up to the whole."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.model.model import Curve
from askless.core.model.votes import TIE
from askless.core.simulation.exact import sum_weighted


@dataclass(frozen=True)
class CurveSums:
    """Exact sums over some rows; tuples have one sum per budget.

    Weights count as they are, whatever they sum to.
    """

    n_samples: int
    weight: Fraction
    #: of the weights' squares
    squares: Fraction
    least_weight: float
    most_weight: float
    wrong_votes: tuple[Fraction, ...]
    wrong_labels: tuple[Fraction, ...]
    #: in micro-units
    spent: tuple[Fraction, ...]
    most_spent: tuple[int, ...]

    def __add__(self, other: "CurveSums") -> "CurveSums":
        """Return the sums of both."""
        return CurveSums(
            n_samples=self.n_samples + other.n_samples,
            weight=self.weight + other.weight,
            squares=self.squares + other.squares,
            least_weight=min(self.least_weight, other.least_weight),
            most_weight=max(self.most_weight, other.most_weight),
            wrong_votes=add_pairwise(self.wrong_votes, other.wrong_votes),
            wrong_labels=add_pairwise(self.wrong_labels, other.wrong_labels),
            spent=add_pairwise(self.spent, other.spent),
            most_spent=tuple(map(max, self.most_spent, other.most_spent)),
        )

    def to_curve(
        self, budgets: Sequence[int | None], group_weights: FloatArray | None
    ) -> Curve:
        """Return the curve of the rows; `group_weights` (n_groups,) or None."""
        return Curve(
            budgets=tuple(budgets),
            errors=self.average(self.wrong_votes),
            errors_calibrated=self.average(self.wrong_labels),
            mean_spends=self.average(self.spent),
            max_spends=self.most_spent,
            n_samples=self.n_samples,
            n_effective=self.count_effective(group_weights),
        )

    def average(self, sums: tuple[Fraction, ...]) -> tuple[float, ...]:
        """Return sums divided by the total weight; 0 without any row."""
        return tuple(
            float(total / self.weight) if self.weight else 0.0 for total in sums
        )

    def count_effective(self, group_weights: FloatArray | None) -> float | None:
        """Return the effective sample size (Kish 1965); None: the number of rows.

        It is 1/sum(w^2) over weights that sum to 1. Rows that belong together count as
        one row of all their weight, as if they always erred together.
        """
        if group_weights is not None:
            return float(group_weights.sum() ** 2 / (group_weights**2).sum())
        if self.most_weight <= (1.0 + TIE) * self.least_weight:
            return None
        return float(self.weight**2 / self.squares)


def add_pairwise(
    first: tuple[Fraction, ...], other: tuple[Fraction, ...]
) -> tuple[Fraction, ...]:
    """Add two tuples of sums, budget by budget."""
    return tuple(addend + more for addend, more in zip(first, other, strict=True))


def sum_rows(
    weights: FloatArray,
    wrong_votes: FloatArray | BoolArray,
    wrong_labels: FloatArray | BoolArray,
    spent: IntArray,
) -> CurveSums:
    """Sum errors and spends, (n_rows, n_budgets) each, weighted by `weights`."""
    counted: FloatArray = np.stack((np.ones(len(weights)), weights), axis=1)
    weight, squares = sum_weighted(weights, counted)
    return CurveSums(
        n_samples=len(weights),
        weight=weight,
        squares=squares,
        least_weight=float(weights.min(initial=math.inf)),
        most_weight=float(weights.max(initial=0.0)),
        wrong_votes=sum_weighted(weights, wrong_votes),
        wrong_labels=sum_weighted(weights, wrong_labels),
        spent=sum_weighted(weights, spent),
        most_spent=tuple(spent.max(axis=0, initial=0).tolist()),
    )
