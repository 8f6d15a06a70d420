"""A scikit-learn estimator around training and budgeted prediction."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
    column_or_1d,
    validate_data,
)

from core import conventions
from core.arrays import FloatArray
from core.errors import Refusal, RefusedError
from core.model.ensemble import Ensemble
from core.model.model import Curve
from core.model.votes import label_votes
from core.pipeline.choosing import AUTO, AUTO_NAMES, tune
from core.pipeline.train import add_panels
from core.session.curves import evaluate
from core.session.probability import label_chances
from core.session.simulate import class_probabilities, class_votes, walk
from core.session.walks import Walks
from core.table.costs import read_budget, read_budgets, read_catalogue
from core.table.dataset import ClassLabel, Dataset
from core.training.algorithms import ALGORITHMS, grow_ensemble, make_ensemble
from core.training.params import BoostParams
from core.work import end_of

Budget = float | int | None


class BudgetedBoostingClassifier(ClassifierMixin, BaseEstimator):
    """Weak hypotheses that predict under a budget on what features cost.

    Parameters
    ----------
    algorithm : str
        A name in `core.training.algorithms.ALGORITHMS`: `auto` is `panels` (for every
        budget a set of features and a blend that predicts from it) beside boosting by
        the best of four rules; boosting by any rule, `cascade` (of two classes), or
        the baselines `decision_tree`, `bagging` and `random_forest`.
    costs : sequence of float, or mapping of feature to float, optional
        Cost of each column, by position or by name (of a data frame's column);
        what a mapping leaves out costs 1. None: every column costs 1.
    groups : sequence of mapping, optional
        Each with `members` (positions or names) and a `fee`, or as a bundle, whose
        members cost nothing themselves, a `price`; optionally a `name` and `label`.
    rounds : int or "auto"
        Weak hypotheses, 1 to 100,000; trees of `bagging` and `random_forest`; of a
        cascade the most in each stage. Without effect on `decision_tree`.
    tau, switch : float or "auto"
        0 to 1. Of `adaboost_bt_smoothed` and `hybrid`; when `hybrid` turns smoothed.
    learner : {"stump", "tree", "product"}
        Of boosting and cascades, as are `search`, `leaves`, `factors`, `search_size`.
    search : {"all", "lazy", "ucb", "ucb_unscaled"}
        Which features a round looks at.
    random_state : int, RandomState or None
        Seeds the search `lazy`, the rows held out by `cascade` and "auto", bootstrap
        samples and ties of the baselines, and the draws of `adaboost_rs` at prediction.
    leaves, factors, search_size : int
        Of a tree, 2 to 64; of a product, 1 to 8; how many features `lazy`, `ucb` and
        `ucb_unscaled` look at, at least 1.
    label_weights : {"balanced", "uniform"}
        Initial weights of several classes; see
        `core.training.boosting.initial_weights`.
    cost_floor : float, optional
        What a cost of 0 counts as where prices are weighed; by default the smallest
        positive cost.
    effort : {"fast", "standard", "thorough"}
        Of `auto` and `panels`: how long to look for better.
    stages : int
        Of a cascade: at most so many, 1 to 50.
    detection, false_alarm : float
        Of a cascade: the share of the second class that each stage must keep (0.5 to
        1), and of the first that it may let pass (0 to 1), on a third of the rows.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
    ensemble_ : core.model.ensemble.Ensemble
    params_ : core.training.params.BoostParams
        What was trained with, so also what "auto" has chosen.
    n_features_in_ : int

    Notes
    -----
    Missing values (NaN) are allowed: a stump abstains on them, and a path ends. Several
    classes are boosted by AdaBoost.MH; y may also be an indicator matrix (n_samples,
    n_classes) of 0 and 1, where a row may belong to several classes at once
    (multi-label): by boosting only, without parameters "auto"; `auto` itself is then
    its first rule.

    A parameter "auto" is chosen on a third of the rows by
    `core.pipeline.choosing.tune`, `rounds` (of boosting, 1,000 at most) by the error
    without a budget, `tau` and `switch` by the mean error over budgets.

    A cascade predicts by its stages: the first class once one rejects, the second after
    the last; its probabilities are shares of held-out rows that came as far, so that
    the two may differ. Rates that can't be met are refused.
    """

    def __init__(
        self,
        algorithm: str = "auto",
        costs: Sequence[float] | Mapping[Any, float] | None = None,
        groups: Sequence[Mapping[str, Any]] | None = None,
        rounds: int | str = 300,
        tau: float | str = 1.0,
        learner: str = "stump",
        search: str = "all",
        random_state: int | np.random.RandomState | None = None,
        leaves: int = 8,
        factors: int = 3,
        search_size: int = 20,
        label_weights: str = "balanced",
        switch: float | str = 0.1,
        cost_floor: float | None = None,
        stages: int = 3,
        detection: float = 0.99,
        false_alarm: float = 0.5,
        effort: str = "standard",
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
        self.switch = switch
        self.cost_floor = cost_floor
        self.stages = stages
        self.detection = detection
        self.false_alarm = false_alarm
        self.effort = effort

    def __sklearn_tags__(self) -> Tags:
        """Say what the algorithm can do: missing values, and which classes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        is_auto = any(str(getattr(self, name)) == AUTO for name in AUTO_NAMES)
        boosted = conventions.find_boosted()
        tags.classifier_tags.multi_label = self.algorithm in boosted and not is_auto
        algorithm = ALGORITHMS.get(str(self.algorithm))
        tags.classifier_tags.multi_class = not (algorithm and algorithm.is_binary)
        return tags

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> "BudgetedBoostingClassifier":
        """Train on rows X (n_samples, n_features) with classes y.

        y : array, shape (n_samples,) or (n_samples, n_classes) of 0 and 1

        Raises
        ------
        RefusedError
            A ValueError; its fields are those of a spec, so `rounds` is
            `params.rounds`. For wrong parameters, costs and groups, fewer than two
            classes; for a cascade of more than two, or one whose rates can't be met;
            for several labels at once where they aren't 0 and 1, the algorithm isn't
            boosting or something is "auto".
        ValueError
            From scikit-learn: for infinities, rows without a class, wrong weights.
        """
        params, auto = conventions.read_params(self.algorithm, self.get_params())
        X, y = validate_data(
            self,
            X,
            conventions.as_dense(y),
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            multi_output=True,
        )
        y = self._read_classes(y)
        conventions.require_classes(str(self.algorithm), y, self.classes_.size, auto)
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        columns = getattr(self, "feature_names_in_", range(self.n_features_in_))
        catalogue = read_catalogue([*map(str, columns)], self.costs, self.groups)
        classes = tuple(ClassLabel(str(c), str(c)) for c in self.classes_)
        dataset = conventions.gather_rows(X, y, weights, classes, catalogue)
        random = check_random_state(self.random_state)
        self._seed = int(random.randint(2**31))
        params = replace(params, seed=self._seed)
        name = params.algorithm
        if y.ndim == 1:
            params = end_of(tune(dataset, params, auto)).params
        elif ALGORITHMS[name].rules:
            # Panels are of one class per row.
            name = ALGORITHMS[name].rules[0]
            params = replace(params, algorithm=name)
        self.params_: BoostParams = params
        rounds = list(grow_ensemble(dataset, params, (), is_strict=True))
        asked = replace(params, algorithm=name)
        self.ensemble_: Ensemble = make_ensemble(dataset, asked, rounds)
        if ALGORITHMS[name].has_panels:
            self.ensemble_ = end_of(add_panels(self.ensemble_, dataset, params))
        return self

    def _read_classes(self, y: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Set `classes_`; give class positions, or the indicators as integers."""
        check_classification_targets(y)
        if type_of_target(y) == "multilabel-indicator":
            self.classes_ = np.arange(y.shape[1])
            return conventions.read_indicators(y, y.shape)
        y = column_or_1d(y, warn=True)
        self.classes_, targets = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise RefusedError([Refusal("y", "must have two classes", "1 class")])
        return targets.astype(np.int64)

    def predict(self, X: npt.ArrayLike, budget: Budget = None) -> npt.NDArray[Any]:
        """Predict the class of each row, reading no more features than budget pays.

        By the raw vote; of panels the most probable class, of a cascade by its stages.
        The budget is in the unit of the costs; None: unlimited. Returns an array of
        shape (n_samples,), multi-label (n_samples, n_classes) of 0 and 1.
        """
        walks = self._walk(X, budget)
        if self.ensemble_.is_multilabel:
            indicators = label_votes(self.ensemble_, walks.margins[:, 0])
            return indicators.astype(np.int64)
        votes = class_votes(self.ensemble_, walks)[:, 0]
        return self.classes_[votes]

    def predict_proba(self, X: npt.ArrayLike, budget: Budget = None) -> FloatArray:
        """Probability per row and class, uncalibrated; (n_samples, n_classes).

        1/(1 + exp(-2F)) of two classes and of each label of a multi-label ensemble,
        exp(F_l)/sum_k exp(F_k) of several classes; of a cascade the share among the
        held-out rows that came as far.
        """
        walks = self._walk(X, budget)
        if self.ensemble_.is_multilabel:
            return label_chances(self.ensemble_, walks.scores[:, 0])
        return class_probabilities(self.ensemble_, walks)[:, 0]

    def error_curve(
        self, X: npt.ArrayLike, y: npt.ArrayLike, budgets: Sequence[Budget]
    ) -> Curve:
        """Error and spend on rows X with classes y under each budget.

        Raises `RefusedError` where y has another length than X, or classes that
        training did not see, and for a budget that isn't an amount.
        """
        values = self._values(X)
        dataset = Dataset(
            catalogue=self.ensemble_.catalogue,
            classes=self.ensemble_.classes,
            values=values,
            targets=self._find_classes(conventions.as_dense(y), values.shape[0]),
            weights=np.full(values.shape[0], 1.0 / values.shape[0]),
        )
        limits = read_budgets(budgets, "budgets")
        streams = conventions.find_streams(values)
        return evaluate(
            self.ensemble_, dataset, limits, seed=self._seed, streams=streams
        )

    def _find_classes(self, y: Any, n_rows: int) -> npt.NDArray[np.int64]:
        if self.ensemble_.is_multilabel:
            return conventions.read_indicators(
                np.asarray(y), (n_rows, self.classes_.size)
            )
        labels = column_or_1d(y).tolist()
        return conventions.find_positions(self.classes_.tolist(), labels, n_rows)

    def _walk(self, X: npt.ArrayLike, budget: Budget) -> Walks:
        values = self._values(X)
        streams, limits = conventions.find_streams(values), [read_budget(budget)]
        return walk(self.ensemble_, values, limits, seed=self._seed, streams=streams)

    def _values(self, X: npt.ArrayLike) -> FloatArray:
        check_is_fitted(self)
        values: FloatArray = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False
        )
        # Kernels are compiled for arrays that can be written to.
        return np.require(values, requirements=["C", "W"])
