"""A scikit-learn estimator around boosting and budgeted prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    check_random_state,
    validate_data,
)

from core.binning import bin_values
from core.boosting import BoostParams, boost
from core.evaluate import evaluate, walk
from core.forecasts import positive_probabilities, raw_votes
from core.prices import to_micros
from core.rules import RULES
from core.training import make_ensemble
from core.types import (
    Catalogue,
    ClassLabel,
    Curve,
    Dataset,
    Ensemble,
    Feature,
    FloatArray,
    Group,
)

Budget = float | int | None


class BudgetedBoostingClassifier(ClassifierMixin, BaseEstimator):
    """Boosted stumps that predict under a budget on what their features cost.

    Parameters
    ----------
    algorithm : str
        A name in `core.rules.RULES`.
    costs : sequence of float, or mapping of feature to float, optional
        Cost of each column, by position or by name (of a data frame's column);
        what a mapping leaves out costs 1. None: every column costs 1.
    groups : sequence of mapping, optional
        Each with `members` (positions or names) and a `fee`, or as a bundle, whose
        members cost nothing themselves, a `price`.
    rounds : int
    tau : float
        Of `adaboost_bt_smoothed` and `hybrid`.
    learner : {"stump"}
    search : {"all"}
    random_state : int, RandomState or None
        Seeds the draws of `adaboost_rs` at prediction.

    Attributes
    ----------
    classes_ : array, shape (2,)
    ensemble_ : core.types.Ensemble
    n_features_in_ : int

    Notes
    -----
    Missing values (NaN) are allowed: a stump abstains on them. Only two classes.
    """

    def __init__(
        self,
        algorithm: str = "adaboost_bt_smoothed",
        costs: Sequence[float] | Mapping[Any, float] | None = None,
        groups: Sequence[Mapping[str, Any]] | None = None,
        rounds: int = 300,
        tau: float = 1.0,
        learner: str = "stump",
        search: str = "all",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.costs = costs
        self.groups = groups
        self.rounds = rounds
        self.tau = tau
        self.learner = learner
        self.search = search
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        """Say that values may be missing and that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False
        return tags

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> BudgetedBoostingClassifier:
        """Train on rows X (n_samples, n_features) with classes y (n_samples,).

        Raises
        ------
        ValueError
            For wrong parameters, more or fewer than two classes, infinities.
        """
        self._check_params()
        X, y = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        check_classification_targets(y)
        self.classes_, targets = np.unique(y, return_inverse=True)
        if type_of_target(y) != "binary" and self.classes_.size > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}."
            )
        if self.classes_.size < 2:
            raise ValueError(
                "BudgetedBoostingClassifier needs two classes, found 1 class"
            )
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        is_weighty = weights > 0
        if np.unique(targets[is_weighty]).size < 2:
            raise ValueError("Both classes need rows of positive weight; found 1 class")
        dataset = Dataset(
            catalogue=self._catalogue(),
            classes=tuple(ClassLabel(str(c), str(c)) for c in self.classes_),
            values=np.ascontiguousarray(X[is_weighty]),
            targets=targets[is_weighty].astype(np.int64),
            weights=weights[is_weighty] / weights[is_weighty].sum(),
        )
        params = BoostParams(
            algorithm=self.algorithm, rounds=int(self.rounds), tau=float(self.tau)
        )
        rounds = list(
            boost(
                bin_values(dataset),
                dataset.signs * dataset.weights,
                dataset.catalogue,
                params,
            )
        )
        self.ensemble_: Ensemble = make_ensemble(dataset, params, rounds)
        self._seed = int(check_random_state(self.random_state).randint(2**31))
        return self

    def predict(self, X: npt.ArrayLike, budget: Budget = None) -> npt.NDArray[Any]:
        """Predict the class of each row, reading no more features than budget pays.

        budget : float, optional
            In the unit of the costs; None: unlimited.
        """
        margins, _ = self._walk(X, budget)
        votes = raw_votes(self.ensemble_, margins * self.ensemble_.alpha_sums[-1])
        classes: npt.NDArray[Any] = self.classes_[votes.astype(np.int64)]
        return classes

    def predict_proba(self, X: npt.ArrayLike, budget: Budget = None) -> FloatArray:
        """1/(1 + exp(-2F)) per row and class, uncalibrated; (n_samples, 2)."""
        margins, shares = self._walk(X, budget)
        positives = positive_probabilities(self.ensemble_, "ordered", margins, shares)
        return np.column_stack((1.0 - positives, positives))

    def error_curve(
        self, X: npt.ArrayLike, y: npt.ArrayLike, budgets: Sequence[Budget]
    ) -> Curve:
        """Error and spend on rows X with classes y under each budget."""
        values = self._values(X)
        positions = {label: idx for idx, label in enumerate(self.classes_.tolist())}
        labels = np.asarray(y).tolist()
        if not set(labels) <= set(positions):
            raise ValueError(f"y must hold only the classes {self.classes_}")
        dataset = Dataset(
            catalogue=self.ensemble_.catalogue,
            classes=self.ensemble_.classes,
            values=values,
            targets=np.array([positions[label] for label in labels], np.int64),
            weights=np.full(values.shape[0], 1.0 / values.shape[0]),
        )
        limits = [None if b is None else to_micros(b) for b in budgets]
        return evaluate(self.ensemble_, dataset, limits, seed=self._seed)

    def _walk(self, X: npt.ArrayLike, budget: Budget) -> tuple[FloatArray, FloatArray]:
        values = self._values(X)
        limit = None if budget is None else to_micros(budget)
        walks = walk(self.ensemble_, values, [limit], seed=self._seed)
        return walks.margins[:, 0], walks.shares[:, 0]

    def _values(self, X: npt.ArrayLike) -> FloatArray:
        check_is_fitted(self)
        values: FloatArray = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False
        )
        # Kernels are compiled for arrays that can be written to.
        return np.require(values, requirements=["C", "W"])

    def _check_params(self) -> None:
        for name, choices in (
            ("algorithm", tuple(RULES)),
            ("learner", ("stump",)),
            ("search", ("all",)),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name} must be one of {choices}, got {getattr(self, name)!r}"
                )
        if int(self.rounds) < 1:
            raise ValueError(f"rounds must be at least 1, got {self.rounds!r}")
        if not 0 <= float(self.tau) <= 1:
            raise ValueError(f"tau must be from 0 to 1, got {self.tau!r}")

    def _catalogue(self) -> Catalogue:
        names = [
            str(name)
            for name in getattr(self, "feature_names_in_", range(self.n_features_in_))
        ]
        groups: list[Group] = []
        group_of: dict[str, str] = {}
        bundles = set()
        for position, entry in enumerate(self.groups or ()):
            if ("fee" in entry) == ("price" in entry):
                raise ValueError(f"groups[{position}] needs a fee or a price")
            group = Group(
                name=str(entry.get("name", f"group {position}")),
                fee=to_micros(entry.get("fee", 0)),
                price=to_micros(entry["price"]) if "price" in entry else None,
            )
            groups.append(group)
            for member in entry["members"]:
                name = self._name(member, names, f"groups[{position}]")
                if name in group_of:
                    raise ValueError(f"{name} is in two groups")
                group_of[name] = group.name
                if group.is_bundle:
                    bundles.add(name)
        costs = dict.fromkeys(names, 1_000_000) | dict.fromkeys(bundles, 0)
        for member, cost in self._given_costs(names):
            name = self._name(member, names, "costs")
            costs[name] = to_micros(cost)
            if name in bundles and costs[name]:
                raise ValueError(f"{name} is in a bundle and has no cost of its own")
        return Catalogue(
            tuple(
                Feature(name, cost=costs[name], group=group_of.get(name))
                for name in names
            ),
            tuple(groups),
        )

    def _given_costs(self, names: Sequence[str]) -> list[tuple[Any, Any]]:
        if self.costs is None:
            return []
        if isinstance(self.costs, Mapping):
            return list(self.costs.items())
        costs = np.asarray(self.costs).tolist()
        if len(costs) != len(names):
            raise ValueError(
                f"costs must be one for each of {len(names)} features, got {len(costs)}"
            )
        return list(enumerate(costs))

    @staticmethod
    def _name(member: Any, names: Sequence[str], where: str) -> str:
        if isinstance(member, int | np.integer) and 0 <= member < len(names):
            return names[int(member)]
        if isinstance(member, str) and member in names:
            return member
        raise ValueError(f"{where}: there is no feature {member!r}")
