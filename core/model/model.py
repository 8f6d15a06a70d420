"""A model: an ensemble with its curve and its card."""

import math
from dataclasses import dataclass, field
from typing import Annotated

from annotated_types import Interval, Len

from core.model.ensemble import Ensemble
from core.model.figures import Figures, wilson_interval
from core.model.ranges import Count, MeanCost, Micros, Share


@dataclass(frozen=True, slots=True)
class SpendSteps:
    """What a model spends under budgets between those of its curve, in micro-units."""

    #: ascending, as in `Curve`; one for each at which something else is bought
    budgets: Annotated[tuple[Micros | None, ...], Len(1)]
    mean_spends: Annotated[tuple[MeanCost, ...], Len(1)]


@dataclass(frozen=True, slots=True)
class Curve:
    """Error and spend against budget; money in micro-units, None is unlimited.

    Errors and `predictive` are of held-out rows: of the ensembles of the folds in the
    curve of a model, of the rows that were given in one that `evaluate` draws. Spends,
    `questions` and `purchases` are of the model itself, played on `n_played` rows. A
    fold's ensemble buys other sets of features at other prices, which nobody pays.
    """

    budgets: tuple[Micros | None, ...]
    errors: tuple[Share, ...]
    errors_calibrated: tuple[Share, ...]
    #: by the model itself where `n_played` says so
    mean_spends: tuple[MeanCost, ...]
    #: likewise
    max_spends: tuple[Micros, ...]
    #: rows that errors are of
    n_samples: Count
    #: rows of equal weight, each on its own, that would say as much as these rows;
    #: None: all of them
    n_effective: Annotated[float, Interval(gt=0, le=2**53)] | None = None
    #: under each budget; None: not measured, as by versions before
    predictive: tuple[Figures, ...] | None = None
    #: under each budget the share of sessions that ask for each feature; None likewise
    purchases: tuple[tuple[Share, ...], ...] | None = None
    #: under each budget the mean number of questions, a bundle being one; None likewise
    questions: tuple[Annotated[float, Interval(ge=0, le=2**53)], ...] | None = None
    #: rows that the model itself was played on for spends, questions and purchases;
    #: None: these are of the rows that errors are of, as in versions before
    n_played: Count | None = None
    #: mean spends under more budgets; None likewise
    steps: SpendSteps | None = None

    def place_at(self, budget: int | None) -> int:
        """Return the position of the largest of the budgets that is within this one."""
        return find_place(self.budgets, budget)

    def spend_at(self, budget: int | None) -> float:
        """Return the mean spend under any budget, in micro-units.

        Between two budgets that were played it is that of the smaller one.
        """
        if self.steps is None:
            return self.mean_spends[self.place_at(budget)]
        return self.steps.mean_spends[find_place(self.steps.budgets, budget)]

    @property
    def betters(self) -> tuple[int | None, ...]:
        """Position of a smaller budget that surely errs less, by budget; None: none."""
        return tuple(self.find_better(place) for place in range(len(self.budgets)))

    def find_better(self, place: int) -> int | None:
        """Return the position of a smaller budget that surely errs less than another.

        Of several the one of least calibrated error; None where there is none. Surely:
        by more than one standard error of the difference of two shares, as if they
        were of different rows. Of the same rows it is smaller, so that this is
        cautious. Where errors have costs, the smaller budget must not cost more.

        Notes
        -----
        To each share one right and one wrong row are added, as Agresti and Caffo (2000)
        do: else one wrong row in a hundred would be more than luck beside none.
        """
        ours, cost = self.errors_calibrated[place], self._cost_at(place)
        better = [
            other
            for other, error in enumerate(self.errors_calibrated)
            if is_smaller(self.budgets[other], self.budgets[place])
            and ours - error > math.hypot(self._spread(ours), self._spread(error))
            and self._cost_at(other) <= cost
        ]
        return min(better, key=self.errors_calibrated.__getitem__, default=None)

    def _spread(self, share: float) -> float:
        """Return the standard error of a share of the rows, two of them added."""
        n_rows = self.n_samples if self.n_effective is None else self.n_effective
        moved = (n_rows * share + 1.0) / (n_rows + 2.0)
        return math.sqrt(moved * (1.0 - moved) / (n_rows + 2.0))

    def _cost_at(self, place: int) -> float:
        """Return the mean cost of errors under a budget; 0 where they have none."""
        cost = None if self.predictive is None else self.predictive[place].expected_cost
        return 0.0 if cost is None else cost.value

    def best_budget(self, budget: int | None) -> int | None:
        """Return the budget to predict under where one may spend so much.

        That is the budget itself, unless a smaller one of the curve surely errs less
        than the point that the budget lies on (`betters`).
        """
        if is_smaller(budget, self.budgets[0]):
            return budget
        better = self.find_better(self.place_at(budget))
        return budget if better is None else self.budgets[better]

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """Interval of 95 % of each calibrated error, for other rows of the kind."""
        n_rows = self.n_samples if self.n_effective is None else self.n_effective
        return tuple(wilson_interval(one, n_rows) for one in self.errors_calibrated)


def is_smaller(one: int | None, other: int | None) -> bool:
    """Return whether a budget is smaller than another; None is unlimited."""
    return one is not None and (other is None or one < other)


def find_place(budgets: tuple[int | None, ...], budget: int | None) -> int:
    """Return the position of the largest of some budgets that is within another."""
    limits = [math.inf if one is None else one for one in budgets]
    within = math.inf if budget is None else budget
    return max(place for place, one in enumerate(limits) if one <= within)


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
