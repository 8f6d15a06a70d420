"""Predict tables under budgets, for the estimator and for loaded models."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.costs import read_budget, read_budgets, read_row_budgets
from askless.core.catalogue.prices import MICROS_PER_UNIT, from_micros
from askless.core.estimator.classes import class_positions
from askless.core.estimator.conventions import (
    aim_of_mapping,
    aims_of_mappings,
    read_indicators,
    read_sample_weights,
    to_dense,
)
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Curve, Model
from askless.core.session.plans.outline import outline
from askless.core.session.policies import check_policy
from askless.core.session.spending import compute_limit
from askless.core.session.state import Aim, Spend
from askless.core.simulation.curves import evaluate
from askless.core.simulation.outcomes import Outcomes, TableRows, simulate_each
from askless.core.table.dataset import Dataset

Budget = float | int | None
AimWish = Mapping[str, float] | None


@dataclass(frozen=True, slots=True)
class ErrorCurve:
    """Error and spend against budget, money in the unit of the costs.

    Each list has one entry for each budget.
    """

    #: None: unlimited
    budgets: tuple[float | None, ...]
    #: share of the labels of `predict` that are wrong
    errors: tuple[float, ...]
    #: of 95 % for other rows of the kind, see `Curve.intervals`
    intervals: tuple[tuple[float, float], ...]
    #: share of the raw votes that are wrong, without any calibration
    vote_errors: tuple[float, ...]
    mean_spends: tuple[float, ...]
    max_spends: tuple[float, ...]
    n_samples: int

    @classmethod
    def of(cls, curve: Curve) -> "ErrorCurve":
        """Return a curve of core in units."""
        return cls(
            budgets=tuple(
                None if budget is None else from_micros(budget)
                for budget in curve.budgets
            ),
            errors=curve.errors_calibrated,
            intervals=curve.intervals,
            vote_errors=curve.errors,
            mean_spends=tuple(
                mean_spend / MICROS_PER_UNIT for mean_spend in curve.mean_spends
            ),
            max_spends=tuple(map(from_micros, curve.max_spends)),
            n_samples=curve.n_samples,
        )


@dataclass(frozen=True, slots=True)
class PlannedPurchase:
    """Features bought together, with their price and the sum so far, in units."""

    features: tuple[Any, ...]
    price: float
    total: float


class Served(NamedTuple):
    """A model, and the caller's names for its classes and features."""

    model: Model
    #: the caller's class for each one of the ensemble; (n_classes,)
    labels: npt.NDArray[Any]
    #: position in the ensemble of each class in the caller's order; (n_classes,)
    order: IntArray
    #: the features as the caller names them
    columns: Sequence[Any]

    @property
    def ensemble(self) -> Ensemble:
        """The ensemble of the model."""
        return self.model.ensemble

    def read_targets(self, y: Any, n_rows: int) -> IntArray:
        """Return each row's class position, (n_rows,), or indicators if multi-label."""
        if self.ensemble.is_multilabel:
            return read_indicators(np.asarray(y), (n_rows, self.labels.size))
        return class_positions(self.labels.tolist(), y, n_rows)

    def choose_budget(
        self, limit: int | None, policy: str | None, aim: Aim | None
    ) -> int | None:
        """Return the budget to predict under if at most `limit` may be spent.

        Both are in micro-units. It is smaller where the curve is significantly better
        there; the curve applies only to the preferred policy, without an aim. Of what
        is left it is the part that is worth spending.
        """
        curve = self.model.curve
        if curve is not None and policy is None and aim is None:
            limit = curve.best_budget(limit)
        return compute_limit(self.ensemble, limit, aim, "worthwhile", policy)

    def choose_policy(self, name: str | None) -> str | None:
        """Return the name of a policy; None: the one preferred at each budget."""
        return None if name is None else check_policy(name, self.ensemble, "policy")


class BudgetedPredictor(ABC):
    """Predictions under budgets, from a model and a way to read tables.

    A row is a session of its own. Its budget, in the unit of the costs, bounds what is
    charged for its values: one amount, or one for each row; infinity: unlimited.
    `policy` names who asks, by default the policy preferred at the budget. `aim` is
    one of `mean_budget`, `wanted_error` and `error_price`, with a number: what sessions
    are to reach on average, none of them above its budget. Where the model's curve says
    that a smaller budget surely errs less, rows are played under that one, which
    `best_budget` names; `exact_budget` spends the budget nevertheless.
    """

    @abstractmethod
    def _serve(self) -> Served:
        """Return the model to predict with; raise where there is none yet."""

    @abstractmethod
    def _read_rows(self, X: Any) -> TableRows:
        """Return the values of a table with the random stream of each row."""

    def _or_default(self, name: str, given: Any) -> Any:
        """Return the argument of a call, else the attribute set for all calls."""
        return getattr(self, name, None) if given is None else given

    def _simulate(
        self, X: Any, budget: Any, policy: str | None, aim: AimWish, is_exact: bool
    ) -> Outcomes:
        served, rows = self._serve(), self._read_rows(X)
        name = served.choose_policy(self._or_default("policy", policy))
        limits = read_row_budgets(
            self._or_default("budget", budget), rows.values.shape[0]
        )
        checked = aim_of_mapping(aim, served.ensemble, name, "aim")
        if not is_exact:
            best = {
                limit: served.choose_budget(limit, name, checked)
                for limit in set(limits)
            }
            limits = [best[limit] for limit in limits]
        spend: Spend = "all" if is_exact else "worthwhile"
        return simulate_each(served.ensemble, rows, limits, name, checked, spend)

    def best_budget(self, budget: Budget = None) -> float | None:
        """Return the budget that rows are predicted under if one may spend so much.

        It is a smaller one where the curve says that it surely errs less, or that the
        rest is not worth spending; None: unlimited.
        """
        limit = read_budget(self._or_default("budget", budget))
        policy = self._or_default("policy", None)
        best = self._serve().choose_budget(limit, policy, None)
        return None if best is None else from_micros(best)

    def predict(
        self,
        X: Any,
        budget: Any = None,
        policy: str | None = None,
        aim: AimWish = None,
        exact_budget: bool = False,
    ) -> npt.NDArray[Any]:
        """Return the label of each row; (n_rows,), multi-label (n_rows, n_classes).

        It is the most probable class, or the one of least expected cost where the model
        has costs of errors.
        """
        ends, served = (
            self._simulate(X, budget, policy, aim, exact_budget),
            self._serve(),
        )
        if served.ensemble.is_multilabel:
            return ends.labels
        return served.labels[ends.labels]

    def predict_proba(
        self,
        X: Any,
        budget: Any = None,
        policy: str | None = None,
        aim: AimWish = None,
        exact_budget: bool = False,
    ) -> FloatArray:
        """Return the probability of each class; (n_rows, n_classes).

        Chances are calibrated on held-out rows, if the training had folds and if that
        helps.
        """
        chances = self._simulate(X, budget, policy, aim, exact_budget).chances
        return chances[:, self._serve().order]

    def predict_log_proba(
        self,
        X: Any,
        budget: Any = None,
        policy: str | None = None,
        aim: AimWish = None,
        exact_budget: bool = False,
    ) -> FloatArray:
        """Return the logarithms of `predict_proba`; (n_rows, n_classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, budget, policy, aim, exact_budget))

    def spend(
        self,
        X: Any,
        budget: Any = None,
        policy: str | None = None,
        aim: AimWish = None,
        exact_budget: bool = False,
    ) -> FloatArray:
        """Return the spend of each row's session, in units; (n_rows,)."""
        return (
            self._simulate(X, budget, policy, aim, exact_budget).spent / MICROS_PER_UNIT
        )

    def asked(
        self,
        X: Any,
        budget: Any = None,
        policy: str | None = None,
        aim: AimWish = None,
        exact_budget: bool = False,
    ) -> list[tuple[Any, ...]]:
        """Return the features that the session of each row asks for, in order."""
        ranks = self._simulate(X, budget, policy, aim, exact_budget).ranks
        columns, n_asked = self._serve().columns, (ranks > 0).sum(axis=1)
        # Features that are not asked, of rank 0, go last and are cut off.
        orders = np.argsort(np.where(ranks > 0, ranks, ranks.size + 1), axis=1)
        return [
            tuple(columns[idx] for idx in order[:size])
            for order, size in zip(orders.tolist(), n_asked.tolist(), strict=True)
        ]

    def plan(
        self, budget: Budget = None, policy: str | None = None
    ) -> list[PlannedPurchase]:
        """Return the purchases of a session whose answers are all typical values."""
        served = self._serve()
        name = served.choose_policy(self._or_default("policy", policy))
        limit = read_budget(self._or_default("budget", budget))
        purchases, total = [], 0
        for question in outline(served.ensemble, limit, name):
            total += question.price
            features = tuple(served.columns[idx] for idx in question.feature_idxs)
            price = from_micros(question.price)
            purchases.append(PlannedPurchase(features, price, from_micros(total)))
        return purchases

    def error_curve(
        self,
        X: Any,
        y: Any,
        budgets: Sequence[Budget] | None = None,
        policy: str | None = None,
        aims: Sequence[Mapping[str, float]] | None = None,
        sample_weight: Any = None,
    ) -> ErrorCurve:
        """Return error and spend on rows X with classes y.

        There is a point for each of `budgets` (None: unlimited); or for each of `aims`,
        all under one budget, by default unlimited. Raises `RefusedError` where y has
        another length than X, or classes that training did not see, and for invalid
        budgets and aims.
        """
        served, rows = self._serve(), self._read_rows(X)
        n_rows = rows.values.shape[0]
        dataset = Dataset(
            catalogue=served.ensemble.catalogue,
            classes=served.ensemble.classes,
            values=rows.values,
            targets=served.read_targets(to_dense(y), n_rows),
            weights=read_sample_weights(sample_weight, n_rows),
        )
        name = served.choose_policy(self._or_default("policy", policy))
        limits = read_budgets([None] if budgets is None else budgets, "budgets")
        limits, checked = aims_of_mappings(aims, limits, served.ensemble, name)
        curve = evaluate(
            served.ensemble, dataset, limits, name, rows.seed, rows.streams, checked
        )
        return ErrorCurve.of(curve)
