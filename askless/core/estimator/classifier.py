"""A scikit-learn estimator around training and budgeted prediction.

Its importances are those that scikit-learn's selection of features reads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any
from warnings import warn

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    check_random_state,
)

from askless.core.arrays import FloatArray
from askless.core.catalogue.costs import read_budget, read_catalogue
from askless.core.codes.binned_table import code_table
from askless.core.errors import Refusal, RefusedError
from askless.core.estimator import conventions
from askless.core.estimator.classes import read_error_costs, weigh_classes
from askless.core.estimator.conventions import hash_rows
from askless.core.estimator.frames import declared_texts
from askless.core.estimator.incremental import Incremental
from askless.core.estimator.predictions import BudgetedPredictor, ErrorCurve, Served
from askless.core.model.model import Model
from askless.core.model.rows import check_rows, refuse_unseen_batch
from askless.core.pipeline.check import note_missing
from askless.core.pipeline.choosing import AUTO, AUTO_NAMES
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train
from askless.core.simulation.outcomes import TableRows
from askless.core.simulation.refusals import measure_refusals
from askless.core.table.check import CheckedTable
from askless.core.table.columns import scale_weights
from askless.core.table.dataset import Dataset
from askless.core.table.spec import TableSpec
from askless.core.table.targets import ErrorCosts
from askless.core.table.texts.categories import note_lookalikes
from askless.core.table.weights import overflow_safe_mean
from askless.core.training.algorithms import ALGORITHMS, grow_ensemble, make_ensemble
from askless.core.training.params import BoostParams
from askless.core.work import run_to_end

# Rows drawn of a longer table: a fit takes hardly longer for them.
MOST_ROWS = 500


def weigh_features(
    served: Served, dataset: Dataset, budget: Any, policy: str | None, seed: int
) -> FloatArray:
    """Return the share of each feature in the rise of the loss by refusals.

    Parameters
    ----------
    dataset : Dataset
        The rows to measure on; at most `MOST_ROWS`, drawn by `seed`.
    budget, policy : as the estimator's
        Several budgets count as unlimited.

    Returns
    -------
    float64 array, shape (n_features,)
        At least 0. They sum to 1, or are all 0 where no refusal raises the loss.
    """
    if dataset.n_samples > MOST_ROWS:
        random = np.random.default_rng(seed)
        rows = random.choice(dataset.n_samples, MOST_ROWS, replace=False)
        dataset = dataset.take(np.sort(rows))
    name = served.choose_policy(policy)
    limit = read_budget(budget) if np.ndim(budget) == 0 else None
    limit = served.choose_budget(limit, name, None)
    played = TableRows(dataset.values, hash_rows(dataset.values), seed)
    rises = measure_refusals(served.ensemble, dataset, played, limit, name)
    gains = np.maximum(rises, 0.0)
    return gains / (gains.sum() or 1.0)


def fit_model(
    dataset: Dataset,
    spec: TrainingSpec,
    warnings: tuple[str, ...],
    error_costs: ErrorCosts = None,
) -> Model:
    """Train as the service does; several labels at once by boosting alone."""
    if not dataset.is_multilabel:
        return run_to_end(train(CheckedTable(dataset, error_costs, warnings), spec))
    # Panels, folds and choices on held-out rows need one class per row.
    name = spec.boost.algorithm
    params = replace(spec.boost, algorithm=ALGORITHMS[name].rule or name)
    rounds = [*grow_ensemble(code_table(dataset), params, (), is_strict=True)]
    ensemble = make_ensemble(dataset, params, rounds)
    return Model(spec.name, ensemble, spec.table.target, asdict(params))


class BudgetedBoostingClassifier(
    ClassifierMixin, Incremental, BudgetedPredictor, BaseEstimator
):
    """Predicts under a budget on what features cost, trained as the service trains.

    Parameters
    ----------
    algorithm : str
        `auto` is `panels`: for every budget a set of features and a blend that predicts
        from it. Or boosting by a rule (`askless.core.training.rules.RULES`), `cascade`
        for two classes, `online`, or a baseline: `decision_tree`, `bagging`,
        `random_forest`.
    costs : sequence of float, or mapping of feature to float, optional
        Cost of each column, by position or by name (of a data frame's column), which
        may be a pattern: "lab_*". What a mapping leaves out costs 1. None: 1 each.
    groups : sequence of mapping, optional
        Each with `members` (as above) and a `fee`, or as a bundle, whose members cost
        nothing themselves, a `price`; optionally a `name` and `label`.
    rounds : int or "auto"
        Weak hypotheses, or trees, 1 to 100,000; in a cascade the most in each stage,
        beside panels 100 at most.
    tau, switch : float or "auto"
        0 to 1. How much `adaboost_bt_smoothed` and `hybrid` smooth costs, and when
        `hybrid` begins to.
    learner : {"stump", "tree", "product"}
        Weak hypotheses of boosting and cascades.
    search : {"all", "lazy", "ucb", "ucb_unscaled"}
        Which features a round looks at.
    leaves, factors, search_size : int
        Most leaves of a tree, 2 to 64; most stumps of a product, 1 to 8; features that
        a round looks at, 1 to 1,000,000.
    random_state : int, RandomState or None
        Seeds folds and draws. An integer is a spec's `seed`: so the model is the same.
    label_weights : {"balanced", "uniform"}
        Initial weights of several classes
        (`askless.core.training.boosting.initial_weights`).
    cost_floor : float, optional
        Above 0: what a cost of 0 counts as to rules. None: the smallest positive cost.
    stages, detection, false_alarm, half_life : int, float, float and int
        The most stages of a cascade, 1 to 50; the share of the second class that each
        must keep, 0.5 to 1, and of the first that it may pass, 0 to 1 (held-out rows).
        Of `online`: rows after which a row counts half, 1 to 1,000,000,000.
    effort : {"fast", "standard", "thorough"}
        How long `auto` and `panels` search for better sets of features.
    folds : int
        0, or 2 to 50. Held-out rows give `curve_`, calibrate the probabilities, and
        choose the policy at each budget (`auto`). With 0 nothing does, in less time.
    budget : float or array of float, optional
        Budget of each row's session unless a method is given one. None: unlimited.
    policy : str, optional
        The policy, unless a method is given one; by default the best at each budget.
    missing : sequence of str or float, optional
        Words and numbers that stand for a missing value, besides the usual words.
    missing_words : sequence of str, optional
        The words that mean missing besides `missing`. None: the usual ones.
    feature_types : mapping of feature to {"number", "boolean", "category"}, optional
        Types, by position, name or pattern. What is left out has the type that its
        column suggests.
    error_costs : mapping of class to mapping of class to float, optional
        What it costs to predict the inner class where the outer one is true, in the
        unit of `costs`. `predict` then returns the label of least expected cost.
    class_weight : "balanced" or mapping of class to float, optional
        Weights of the rows of each class, beside `sample_weight`.
    accept_unseen : bool
        Whether tables are predicted of which most cells of a category were never seen
        in training. Else they are refused: most often they are spelt otherwise.
    rare : int
        Categories of fewer rows become one, and so do those not seen in training.
    least_missing : int
        1 to 1,000,000: rows that must lack a feature for this to count as information.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
    model_ : askless.core.model.model.Model
        What `save` writes. Its classes are in the order of their texts.
    ensemble_ : askless.core.model.ensemble.Ensemble
    curve_ : askless.core.estimator.predictions.ErrorCurve or None
        Error and spend against budget, from the folds' held-out rows.
    params_ : askless.core.training.params.BoostParams
        Parameters that were trained with, those that "auto" chose among them.
    warnings_ : tuple of str
        What is odd about the columns although it is legal.
    feature_importances_ : array, shape (n_features,)
        Mean rise of the log-loss where sessions under `budget` get a refusal for the
        feature, as shares of the sum; all 0 where none rises. It is measured on at most
        500 of the training rows, so it flatters what training fitted too closely.
    n_features_in_ : int
    feature_names_in_ : array of str, of a data frame

    Notes
    -----
    X is an array or a data frame (pandas, polars, pyarrow). A frame's column of texts
    or categories is a category, also of numbers; one of true and false is boolean. An
    array's texts are read as a CSV's. Missing values
    (NaN, None, null) are not charged. Predictions find a frame's columns by name.

    Several classes are boosted by AdaBoost.MH. An indicator matrix y of 0 and 1,
    (n_samples, n_classes), lets a row belong to several classes (multi-label): only by
    boosting, without folds or parameters "auto"; `auto` is then its first rule.
    A parameter "auto" is chosen on a third of the rows (`pipeline.choosing`).
    At prediction `adaboost_rs` and `online` draw by `random_state` and a row's values.
    With `online` the rows can come in batches, by `partial_fit`.
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
        half_life: int = 20_000,
        effort: str = "standard",
        folds: int = 3,
        budget: Any = None,
        policy: str | None = None,
        missing: Sequence[Any] | None = None,
        missing_words: Sequence[str] | None = None,
        feature_types: Mapping[Any, str] | None = None,
        error_costs: Mapping[Any, Mapping[Any, float]] | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        accept_unseen: bool = False,
        rare: int = 0,
        least_missing: int = 20,
    ) -> None:
        self.algorithm = algorithm
        self.costs = costs
        self.groups = groups
        self.rounds = rounds
        self.tau = tau
        self.learner = learner
        self.search = search
        self.random_state = random_state
        self.leaves, self.factors, self.search_size = leaves, factors, search_size
        self.label_weights = label_weights
        self.switch = switch
        self.cost_floor = cost_floor
        self.stages, self.detection, self.false_alarm = stages, detection, false_alarm
        self.half_life = half_life
        self.effort = effort
        self.folds = folds
        self.budget = budget
        self.policy = policy
        self.missing = missing
        self.missing_words = missing_words
        self.feature_types = feature_types
        self.error_costs = error_costs
        self.class_weight, self.accept_unseen = class_weight, accept_unseen
        self.rare = rare
        self.least_missing = least_missing

    def __sklearn_tags__(self) -> Tags:
        """Declare what the algorithm supports: missing values, and which classes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        is_auto = any(str(getattr(self, name)) == AUTO for name in AUTO_NAMES)
        boosted = conventions.list_multilabel_algorithms()
        tags.classifier_tags.multi_label = self.algorithm in boosted and not is_auto
        algorithm = ALGORITHMS.get(str(self.algorithm))
        tags.classifier_tags.multi_class = not (algorithm and algorithm.is_binary)
        return tags

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> "BudgetedBoostingClassifier":
        """Train on rows X (n_samples, n_features) with classes y.

        Parameters
        ----------
        y : array, shape (n_samples,) or (n_samples, n_classes) of 0 and 1
        groups : array, shape (n_samples,), optional
            Rows of one value belong together, and stay in one fold.

        Raises
        ------
        RefusedError
            A ValueError; its fields are those of a spec, so `rounds` is
            `params.rounds`. For wrong parameters, columns that can't be read, classes
            that the algorithm can't deal with, a cascade's rates that can't be met.
        ValueError
            From scikit-learn: for infinities, rows without a class, wrong weights.
        """
        request = conventions.read_params(self.algorithm, self.get_params(deep=False))
        seed = conventions.read_seed(self.random_state, self._draw_seed)
        columns = self._read_columns(X, reset=True)
        labels, targets = self._read_classes(y)
        check_consistent_length(next(iter(columns.values())), targets)
        algorithm, auto, folds = request.boost.algorithm, request.auto, request.folds
        conventions.require_classes(algorithm, targets, len(labels), auto)
        weights = _check_sample_weight(
            sample_weight, targets, dtype=np.float64, ensure_non_negative=True
        )
        weights = weigh_classes(weights, self.class_weight, conventions.to_dense(y))
        error_costs = read_error_costs(self.error_costs, labels)
        if error_costs is not None and targets.ndim == 2:
            rule = "can be had for one class per row only"
            raise RefusedError([Refusal("error_costs", rule)])
        catalogue = read_catalogue([*columns], self.costs, self.groups)
        table = TableSpec(str(getattr(y, "name", None) or "y"))
        declared = declared_texts(X)
        read = conventions.gather_values(columns, catalogue, request, declared)
        dataset = Dataset(
            catalogue=read.catalogue,
            classes=labels,
            values=read.values,
            targets=targets,
            weights=scale_weights(weights),
            row_groups=conventions.number_row_groups(groups, len(targets)),
            mean_weight=overflow_safe_mean(weights),
        )
        boost = replace(request.boost, seed=seed)
        spec = TrainingSpec(table, boost=boost, auto=auto, seed=seed, folds=folds)
        rows = conventions.drop_weightless_rows(dataset)
        alike = note_lookalikes((label.label for label in labels), "classes")
        self.warnings_ = (*alike, *read.warnings, *note_missing(rows, spec))
        self._store(spec, fit_model(rows, spec, self.warnings_, error_costs))
        self.feature_importances_ = weigh_features(
            self._serve(), rows, self.budget, self.policy, seed
        )
        return self

    def _store(self, spec: TrainingSpec, model: Model) -> None:
        """Set the attributes that training makes known."""
        self.model_, self.ensemble_ = model, model.ensemble
        self.params_ = BoostParams(**model.params)  # type: ignore[arg-type]  # as read
        self.curve_ = None if model.curve is None else ErrorCurve.of(model.curve)
        self._seed = spec.seed

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def _read_rows(self, X: Any) -> TableRows:
        check_is_fitted(self)
        columns = self._read_columns(X, reset=False)
        if not self.accept_unseen:
            refuse_unseen_batch([columns], self.ensemble_, "accept_unseen=True")
        values, unseen = check_rows(columns, self.ensemble_)
        for warning in unseen:
            warn(warning, stacklevel=4)
        return TableRows(values, conventions.hash_rows(values), self._seed)

    def _serve(self) -> Served:
        check_is_fitted(self)
        columns = getattr(self, "feature_names_in_", range(self.n_features_in_))
        labels = self.classes_[np.argsort(self._order)]
        return Served(self.model_, labels, self._order, list(columns))
