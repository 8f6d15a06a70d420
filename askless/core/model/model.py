"""Hold a model: an ensemble with its curve and its card."""

import math
from dataclasses import dataclass, field, replace
from typing import Annotated

from annotated_types import Interval

from askless.core.model.ensemble import Ensemble
from askless.core.model.figures import Figures, wilson_interval
from askless.core.model.learning_state import LearningState
from askless.core.model.measured import MeasuredErrors
from askless.core.model.ranges import Count, Each, MeanCost, Micros, Share


@dataclass(frozen=True, slots=True)
class Curve:
    """Error and spend against budget; money in micro-units, None is unlimited.

    Errors and `predictive` are measured on held-out rows: by the ensembles of the folds
    in a model's curve, on the rows passed in a curve by `evaluate`. At the worthwhile
    parts of budgets, which these rows choose, a model's calibrated errors and expected
    costs are those of rows that do not choose (`measure_optimism`). Spends, `questions`
    and `purchases` come from playing the model itself on `n_played` rows, since a
    fold's ensemble may buy other features at other prices.
    """

    budgets: tuple[Micros | None, ...]
    errors: Annotated[tuple[Share, ...], Each("budgets")]
    errors_calibrated: Annotated[tuple[Share, ...], Each("budgets")]
    #: by the model itself, if `n_played` is known
    mean_spends: Annotated[tuple[MeanCost, ...], Each("budgets")]
    #: likewise
    max_spends: Annotated[tuple[Micros, ...], Each("budgets")]
    #: number of rows that errors are measured on
    n_samples: Count
    #: effective number of independent rows of equal weight; None: `n_samples`
    n_effective: Annotated[float, Interval(gt=0, le=2**53)] | None = None
    #: number of rows outside a fold, on average; None: errors are those of the model
    #: itself, or the model is older
    n_trained: Annotated[int, Interval(ge=1, le=2**53)] | None = None
    #: under each budget; None: not measured
    predictive: Annotated[tuple[Figures, ...], Each("budgets")] | None = None
    #: under each budget the share of sessions that ask for each feature; None: as above
    purchases: (
        Annotated[
            tuple[Annotated[tuple[Share, ...], Each("features")], ...], Each("budgets")
        ]
        | None
    ) = None
    #: under each budget the mean number of questions, a bundle is one; None: as above
    questions: (
        Annotated[
            tuple[Annotated[float, Interval(ge=0, le=2**53)], ...], Each("budgets")
        ]
        | None
    ) = None
    #: number of rows that the model itself was played on for spends, questions and
    #: purchases; None: the rows that errors are measured on
    n_played: Count | None = None

    @property
    def sizes(self) -> dict[str, int]:
        """Number of budgets, by which the other lists are checked."""
        return {"budgets": len(self.budgets)}

    def place_at(self, budget: int | None) -> int:
        """Return the position in the curve of the largest budget not above this one."""
        return locate_budget(self.budgets, budget)

    @property
    def betters(self) -> tuple[int | None, ...]:
        """Position of a smaller, significantly better budget for each; None: none."""
        return tuple(
            self.find_significantly_better(place) for place in range(len(self.budgets))
        )

    def find_significantly_better(self, place: int) -> int | None:
        """Return the position of a smaller budget with a significantly lower error.

        The budget of least calibrated error is chosen; None: there is none. Its
        error is lower by more than one standard error of the difference of two shares
        of independent rows. The rows are the same, so the true standard error is
        smaller: the test is conservative. Where errors have costs, the expected cost at
        the smaller budget must not be higher.

        Notes
        -----
        One right and one wrong row are added to each share (Agresti and Caffo 2000).
        Without them one error in a hundred would differ significantly from none.
        """
        own_error, cost = self.errors_calibrated[place], self._cost_at(place)
        better = [
            other
            for other, error in enumerate(self.errors_calibrated)
            if is_smaller_budget(self.budgets[other], self.budgets[place])
            and own_error - error
            > math.hypot(self._standard_error(own_error), self._standard_error(error))
            and self._cost_at(other) <= cost
        ]
        return min(better, key=self.errors_calibrated.__getitem__, default=None)

    def _standard_error(self, share: float) -> float:
        """Return the standard error of a share of the rows, with two rows added."""
        adjusted = (self.n_independent * share + 1.0) / (self.n_independent + 2.0)
        return math.sqrt(adjusted * (1.0 - adjusted) / (self.n_independent + 2.0))

    def _cost_at(self, place: int) -> float:
        """Return the mean cost of errors under a budget; 0 where they have none."""
        cost = None if self.predictive is None else self.predictive[place].expected_cost
        return 0.0 if cost is None else cost.value

    def best_budget(self, budget: int | None) -> int | None:
        """Return the budget to predict under if at most `budget` may be spent.

        It is the budget itself, or a smaller one of the curve whose error is
        significantly lower (`betters`).
        """
        if is_smaller_budget(budget, self.budgets[0]):
            return budget
        better = self.find_significantly_better(self.place_at(budget))
        return budget if better is None else self.budgets[better]

    @property
    def n_independent(self) -> float:
        """Effective number of independent rows that errors are measured on."""
        return self.n_samples if self.n_effective is None else self.n_effective

    @property
    def variance_factor(self) -> float:
        """Factor by which the variance of figures exceeds that of independent rows.

        Notes
        -----
        Folds' ensembles differ from the model, and they share rows of training. Both
        raise the variance, together by the factor 1 + n_samples / n_trained (Nadeau and
        Bengio 2003). With three folds, all of them validated, it is 2.5.
        """
        return 1.0 + (self.n_samples / self.n_trained if self.n_trained else 0.0)

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """95 % confidence interval of each calibrated error."""
        n_rows = self.n_independent / self.variance_factor
        return tuple(
            wilson_interval(error_rate, n_rows) for error_rate in self.errors_calibrated
        )


def is_smaller_budget(budget: int | None, other: int | None) -> bool:
    """Return whether a budget is smaller than another; None is unlimited."""
    return budget is not None and (other is None or budget < other)


def locate_budget(budgets: tuple[int | None, ...], budget: int | None) -> int:
    """Return the position of the largest of `budgets` that is not above `budget`.

    None is unlimited. Some budget must be so small; else ValueError is raised.
    """
    limits = [math.inf if limit is None else limit for limit in budgets]
    within = math.inf if budget is None else budget
    return max(place for place, limit in enumerate(limits) if limit <= within)


@dataclass(frozen=True, slots=True)
class Model:
    """An ensemble with its name, target, parameters, curve and card.

    `target` names the column it predicts, and `target_label` is what people call it.
    `params` are those of the training, `curve` is measured on held-out rows, and `card`
    holds facts about model and training.
    `learning` is None where the model can't go on learning.
    """

    name: str
    ensemble: Ensemble
    target: str = ""
    params: dict[str, object] = field(default_factory=dict)
    curve: Curve | None = None
    card: dict[str, object] = field(default_factory=dict)
    learning: LearningState | None = None
    target_label: str | None = None

    @property
    def target_title(self) -> str:
        """What people read for the target: its label where it has one."""
        return self.target_label or self.target


def bind_errors(model: Model) -> Model:
    """Return the model whose ensemble has errors and thresholds of the model's curve.

    Errors are those of labels; where errors have costs, mean costs. Without a curve
    that says so for a budget of 0 there are none, and sessions promise nothing.
    """
    curve, ensemble = model.curve, model.ensemble
    measured = None
    if curve is not None and curve.budgets[0] == 0:
        errors = list(curve.errors_calibrated)
        if ensemble.error_costs is not None:
            costs = [figure.expected_cost for figure in curve.predictive or ()]
            errors = [cost.value for cost in costs if cost is not None]
        rares = [figure.rare for figure in curve.predictive or ()]
        thresholds = tuple(rare.threshold for rare in rares if rare is not None)
        if len(thresholds) < len(curve.budgets):
            thresholds = ()
        if len(errors) == len(curve.budgets):
            measured = MeasuredErrors(curve.budgets, tuple(errors), thresholds)
    if measured == ensemble.measured:
        return model
    return replace(model, ensemble=replace(ensemble, measured=measured))
