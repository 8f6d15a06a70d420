"""A scikit-learn estimator around boosting and budgeted prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    check_random_state,
    column_or_1d,
    validate_data,
)

from core.binning import bin_values
from core.boosting import (
    BoostParams,
    LabelWeights,
    LearnerName,
    boost,
    initial_weights,
)
from core.evaluate import evaluate, walk
from core.forecasts import label_chances, label_votes, probabilities, raw_votes
from core.prices import to_micros
from core.rules import RULES
from core.search import SearchName
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
    """Boosted weak hypotheses that predict under a budget on what features cost.

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
    learner : {"stump", "tree", "product"}
    search : {"all", "lazy", "ucb"}
        Which features a round looks at.
    random_state : int, RandomState or None
        Seeds the search `lazy` and the draws of `adaboost_rs` at prediction.
    leaves : int
        Of a tree, at least 2.
    factors : int
        Of a product, at least 1.
    search_size : int
        How many features `lazy` and `ucb` look at, at least 1.
    label_weights : {"balanced", "uniform"}
        Initial weights of several classes; see `core.boosting.initial_weights`.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
    ensemble_ : core.types.Ensemble
    n_features_in_ : int

    Notes
    -----
    Missing values (NaN) are allowed: a stump abstains on them. Several classes are
    boosted by AdaBoost.MH; y may also be an indicator matrix (n_samples, n_classes) of
    0 and 1, where a row may belong to several classes at once (multi-label).
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
        leaves: int = 8,
        factors: int = 3,
        search_size: int = 20,
        label_weights: str = "balanced",
    ) -> None:
        self.algorithm = algorithm
        self.costs = costs
        self.groups = groups
        self.rounds = rounds
        self.tau = tau
        self.learner = learner
        self.search = search
        self.random_state = random_state
        self.leaves = leaves
        self.factors = factors
        self.search_size = search_size
        self.label_weights = label_weights

    def __sklearn_tags__(self) -> Tags:
        """Say that values may be missing, and rows of several classes at once."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_label = True
        return tags

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> BudgetedBoostingClassifier:
        """Train on rows X (n_samples, n_features) with classes y.

        y : array, shape (n_samples,) or (n_samples, n_classes) of 0 and 1

        Raises
        ------
        ValueError
            For wrong parameters, fewer than two classes, infinities.
        """
        self._check_params()
        if hasattr(y, "toarray"):
            y = y.toarray()
        X, y = validate_data(
            self,
            X,
            y,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            multi_output=True,
        )
        y = self._read_classes(y)
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        is_weighty = weights > 0
        if y.ndim == 1 and np.unique(y[is_weighty]).size < 2:
            raise ValueError("Two classes need rows of positive weight; found 1 class")
        dataset = Dataset(
            catalogue=self._catalogue(),
            classes=tuple(ClassLabel(str(c), str(c)) for c in self.classes_),
            values=np.ascontiguousarray(X[is_weighty]),
            targets=y[is_weighty],
            weights=weights[is_weighty] / weights[is_weighty].sum(),
        )
        random = check_random_state(self.random_state)
        self._seed = int(random.randint(2**31))
        params = BoostParams(
            algorithm=self.algorithm,
            rounds=int(self.rounds),
            tau=float(self.tau),
            learner=self.learner,  # type: ignore[arg-type]  # checked
            leaves=int(self.leaves),
            factors=int(self.factors),
            search=self.search,  # type: ignore[arg-type]  # checked
            search_size=int(self.search_size),
            seed=self._seed,
            label_weights=self.label_weights,  # type: ignore[arg-type]  # checked
        )
        signed_weights = initial_weights(dataset, params.label_weights)
        rounds = list(
            boost(bin_values(dataset), signed_weights, dataset.catalogue, params)
        )
        self.ensemble_: Ensemble = make_ensemble(dataset, params, rounds)
        return self

    def _read_classes(self, y: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Set `classes_`; give class positions, or the indicators as integers."""
        check_classification_targets(y)
        if type_of_target(y) == "multilabel-indicator":
            self.classes_ = np.arange(y.shape[1])
            return np.asarray(y, dtype=np.int64)
        y = column_or_1d(y, warn=True)
        self.classes_, targets = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(
                "BudgetedBoostingClassifier needs two classes, found 1 class"
            )
        return targets.astype(np.int64)

    def predict(self, X: npt.ArrayLike, budget: Budget = None) -> npt.NDArray[Any]:
        """Predict the class of each row, reading no more features than budget pays.

        budget : float, optional
            In the unit of the costs; None: unlimited.

        Returns
        -------
        array, shape (n_samples,); multi-label (n_samples, n_classes) of 0 and 1
        """
        margins, _ = self._walk(X, budget)
        if self.ensemble_.is_multilabel:
            indicators: npt.NDArray[Any] = label_votes(self.ensemble_, margins)
            return indicators.astype(np.int64)
        votes = raw_votes(self.ensemble_, margins * self.ensemble_.alpha_sums[-1])
        classes: npt.NDArray[Any] = self.classes_[votes]
        return classes

    def predict_proba(self, X: npt.ArrayLike, budget: Budget = None) -> FloatArray:
        """Probability per row and class, uncalibrated; (n_samples, n_classes).

        1/(1 + exp(-2F)) of two classes and of each label of a multi-label ensemble,
        exp(F_l)/sum_k exp(F_k) of several classes.
        """
        margins, shares = self._walk(X, budget)
        if self.ensemble_.is_multilabel:
            return label_chances(self.ensemble_, margins, shares)
        return probabilities(self.ensemble_, "ordered", margins, shares)

    def error_curve(
        self, X: npt.ArrayLike, y: npt.ArrayLike, budgets: Sequence[Budget]
    ) -> Curve:
        """Error and spend on rows X with classes y under each budget."""
        values = self._values(X)
        if self.ensemble_.is_multilabel:
            targets = self._indicators(y, values.shape[0])
        else:
            positions = {one: idx for idx, one in enumerate(self.classes_.tolist())}
            labels = np.asarray(y).tolist()
            if not set(labels) <= set(positions):
                raise ValueError(f"y must hold only the classes {self.classes_}")
            targets = np.array([positions[label] for label in labels], np.int64)
        dataset = Dataset(
            catalogue=self.ensemble_.catalogue,
            classes=self.ensemble_.classes,
            values=values,
            targets=targets,
            weights=np.full(values.shape[0], 1.0 / values.shape[0]),
        )
        limits = [None if b is None else to_micros(b) for b in budgets]
        return evaluate(self.ensemble_, dataset, limits, seed=self._seed)

    def _indicators(self, y: npt.ArrayLike, n_rows: int) -> npt.NDArray[np.int64]:
        given = np.asarray(y)
        shape = (n_rows, self.classes_.size)
        if given.shape != shape or not np.isin(given, (0, 1)).all():
            raise ValueError(f"y must hold 0 and 1 only and have the shape {shape}")
        return given.astype(np.int64)

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
            ("learner", get_args(LearnerName)),
            ("search", get_args(SearchName)),
            ("label_weights", get_args(LabelWeights)),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name} must be one of {choices}, got {getattr(self, name)!r}"
                )
        for name, least in (
            ("rounds", 1),
            ("leaves", 2),
            ("factors", 1),
            ("search_size", 1),
        ):
            if int(getattr(self, name)) < least:
                raise ValueError(
                    f"{name} must be at least {least}, got {getattr(self, name)!r}"
                )
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
