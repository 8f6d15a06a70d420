"""Predicts tables under budgets, for the estimator and for loaded models."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from core.arrays import FloatArray, IntArray
from core.estimator.conventions import (
    as_dense,
    find_positions,
    read_aim,
    read_aims,
    read_indicators,
    read_weights_of,
)
from core.model.ensemble import Ensemble
from core.model.model import Curve, Model
from core.session.outline import outline
from core.session.policies import check_policy
from core.session.state import Aim
from core.simulation.curves import evaluate
from core.simulation.outcomes import Outcomes, TableRows, play_each
from core.table.costs import read_budget, read_budgets, read_row_budgets
from core.table.dataset import Dataset
from core.table.prices import MICROS_PER_UNIT, from_micros

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
    #: of 95 % for other rows of the kind (Wilson 1927)
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
                None if one is None else from_micros(one) for one in curve.budgets
            ),
            errors=curve.errors_calibrated,
            intervals=curve.intervals,
            vote_errors=curve.errors,
            mean_spends=tuple(one / MICROS_PER_UNIT for one in curve.mean_spends),
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
    #: places in the ensemble of the classes in the caller's order; (n_classes,)
    order: IntArray
    #: the features as the caller names them
    columns: Sequence[Any]

    @property
    def ensemble(self) -> Ensemble:
        """The ensemble of the model."""
        return self.model.ensemble

    def find_targets(self, y: Any, n_rows: int) -> IntArray:
        """Return the place of each row's class, or the indicators of several."""
        if self.ensemble.is_multilabel:
            return read_indicators(np.asarray(y), (n_rows, self.labels.size))
        return find_positions(self.labels.tolist(), y, n_rows)

    def find_budget(
        self, limit: int | None, policy: str | None, aim: Aim | None
    ) -> int | None:
        """Return the budget to play under where one may spend a limit; micro-units.

        The curve knows it of whom the model prefers, without an aim.
        """
        curve = self.model.curve
        if curve is None or policy is not None or aim is not None:
            return limit
        return curve.best_budget(limit)

    def choose_policy(self, name: str | None) -> str | None:
        """Return who asks; None: whom the model prefers at a budget."""
        return None if name is None else check_policy(name, self.ensemble, "policy")


class BudgetedPredictor(ABC):
    """Predictions under budgets, from a model and a way to read tables.

    A row is a session of its own. Its budget, in the unit of the costs, bounds what is
    charged for its values: one amount, or one for each row; infinity: unlimited.
    `policy` says who asks, by default whom the model prefers at the budget. `aim` is
    one of `mean_budget`, `wanted_error` and `error_price`, with a number: what sessions
    are to reach on average, none of them above its budget. Where the model's curve says
    that a smaller budget surely errs less, rows are played under that one, which
    `best_budget` names; `exact_budget` spends the budget nevertheless.
    """

    @abstractmethod
    def _serve(self) -> Served:
        """Return what is predicted with; raise where there is nothing yet."""

    @abstractmethod
    def _read_rows(self, X: Any) -> TableRows:
        """Return the values of a table."""

    def _own(self, name: str, given: Any) -> Any:
        """Return what a call gives, else what was set once for all calls."""
        return getattr(self, name, None) if given is None else given

    def _play(
        self, X: Any, budget: Any, policy: str | None, aim: AimWish, is_exact: bool
    ) -> Outcomes:
        served, rows = self._serve(), self._read_rows(X)
        asks = served.choose_policy(self._own("policy", policy))
        limits = read_row_budgets(self._own("budget", budget), rows.values.shape[0])
        sought = read_aim(aim, served.ensemble, asks, "aim")
        if not is_exact:
            used = {one: served.find_budget(one, asks, sought) for one in set(limits)}
            limits = [used[one] for one in limits]
        return play_each(served.ensemble, rows, limits, asks, sought)

    def best_budget(self, budget: Budget = None) -> float | None:
        """Return the budget that rows are played under where one may spend so much.

        A smaller one where the curve says that it surely errs less; None: unlimited.
        """
        limit = read_budget(self._own("budget", budget))
        found = self._serve().find_budget(limit, self._own("policy", None), None)
        return None if found is None else from_micros(found)

    def predict(
        self,
        X: Any,
        budget: Any = None,
        policy: str | None = None,
        aim: AimWish = None,
        exact_budget: bool = False,
    ) -> npt.NDArray[Any]:
        """Return the label of each row; (n_rows,), multi-label (n_rows, n_classes).

        The most probable class, or the one of least expected cost where the model has
        costs of errors.
        """
        ends, served = self._play(X, budget, policy, aim, exact_budget), self._serve()
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

        Calibrated on held-out rows, if the training had folds and if that helps.
        """
        chances = self._play(X, budget, policy, aim, exact_budget).chances
        return chances[:, self._serve().order]

    def spend(
        self,
        X: Any,
        budget: Any = None,
        policy: str | None = None,
        aim: AimWish = None,
        exact_budget: bool = False,
    ) -> FloatArray:
        """Return what the session of each row is charged; (n_rows,)."""
        return self._play(X, budget, policy, aim, exact_budget).spent / MICROS_PER_UNIT

    def asked(
        self,
        X: Any,
        budget: Any = None,
        policy: str | None = None,
        aim: AimWish = None,
        exact_budget: bool = False,
    ) -> list[tuple[Any, ...]]:
        """Return the features that the session of each row asks for, in order."""
        ranks = self._play(X, budget, policy, aim, exact_budget).ranks
        columns, n_asked = self._serve().columns, (ranks > 0).sum(axis=1)
        orders = np.argsort(np.where(ranks > 0, ranks, ranks.size + 1), axis=1)
        return [
            tuple(columns[idx] for idx in order[:size])
            for order, size in zip(orders.tolist(), n_asked.tolist(), strict=True)
        ]

    def plan(
        self, budget: Budget = None, policy: str | None = None
    ) -> list[PlannedPurchase]:
        """Return what a session buys on paper: every value comes, a middle one."""
        served = self._serve()
        asks = served.choose_policy(self._own("policy", policy))
        limit = read_budget(self._own("budget", budget))
        purchases, total = [], 0
        for question in outline(served.ensemble, limit, asks):
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

        Under each of `budgets` (None: unlimited), or for each of `aims` under the one
        budget that stands beside them, by default none. Raises `RefusedError` where y
        has another length than X, or classes that training did not see, and for
        budgets and aims that are none.
        """
        served, rows = self._serve(), self._read_rows(X)
        n_rows = rows.values.shape[0]
        dataset = Dataset(
            catalogue=served.ensemble.catalogue,
            classes=served.ensemble.classes,
            values=rows.values,
            targets=served.find_targets(as_dense(y), n_rows),
            weights=read_weights_of(sample_weight, n_rows),
        )
        asks = served.choose_policy(self._own("policy", policy))
        limits = read_budgets([None] if budgets is None else budgets, "budgets")
        limits, sought = read_aims(aims, limits, served.ensemble, asks)
        curve = evaluate(
            served.ensemble, dataset, limits, asks, rows.seed, rows.streams, sought
        )
        return ErrorCurve.of(curve)
