"""Learning in batches by scikit-learn's `partial_fit`, with online boosting.

The X and y of scikit-learn's conventions are read here for both estimators.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import asdict, replace
from types import MethodType
from typing import Any

import numpy as np
from sklearn.utils.multiclass import (
    _check_partial_fit_first_call,
    check_classification_targets,
    type_of_target,
)
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.costs import read_catalogue
from askless.core.errors import Refusal, RefusedError, shorten
from askless.core.estimator import conventions, frames
from askless.core.estimator.classes import sort_classes_as_text
from askless.core.estimator.matching import match_names
from askless.core.estimator.predictions import ErrorCurve
from askless.core.model.model import Model
from askless.core.model.rows import check_rows
from askless.core.pipeline.online.learning import Learning, LearntRows
from askless.core.pipeline.online.learning_rows import list_weights_outside
from askless.core.pipeline.online.learning_state import get_learning, start_learning
from askless.core.table.columns import Columns
from askless.core.table.dataset import ClassLabel
from askless.core.training.algorithms import ALGORITHMS
from askless.core.training.params import BoostParams


class TableReading:
    """The part of an estimator that reads tables; it sets `classes_` and names."""

    classes_: np.ndarray
    _order: IntArray

    def _read_classes(self, y: Any) -> tuple[tuple[ClassLabel, ...], IntArray]:
        """Set `classes_`; return the labels, and each row's position or indicators."""
        y = self._check_targets(y)
        if type_of_target(y) == "multilabel-indicator":
            self.classes_ = np.arange(y.shape[1])
            self._order = self.classes_
            texts = tuple(ClassLabel(str(c), str(c)) for c in self.classes_)
            return texts, conventions.read_indicators(y, y.shape)
        self.classes_, positions = np.unique(
            column_or_1d(y, warn=True), return_inverse=True
        )
        if self.classes_.size < 2:
            raise RefusedError([Refusal("y", "must have two classes", "1 class")])
        labels, self._order = sort_classes_as_text(self.classes_)
        return labels, self._order[positions]

    def _check_targets(self, y: Any) -> Any:
        """Return classes or indicators as an array; refuse what are none."""
        if y is None:
            rule = "requires y to be passed, but the target y is None"
            raise RefusedError([Refusal("y", rule)])
        y = _check_y(conventions.to_dense(y), multi_output=True, estimator=self)
        check_classification_targets(y)
        return y

    def _read_columns(self, X: Any, *, reset: bool) -> Columns:
        """Return columns by name or position; `reset`: remember names, else compare."""
        is_frame = frames.is_frame(X)
        columns = frames.frame_columns(X) if is_frame else frames.array_columns(X)
        names = [] if reset else [*getattr(self, "feature_names_in_", [])]
        if columns is not None and is_frame and names:
            return match_names(columns, names)
        if columns is not None:
            validate_data(self, X, skip_check_array=True, reset=reset)
            return columns
        values = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset
        )
        return frames.NumberColumns(values)


ONLY_ONLINE = (
    'partial_fit: needs the algorithm "online"; make the estimator with '
    'algorithm="online", or use `fit`'
)


class OnlineMethod:
    """A method that an estimator has while its algorithm learns row by row."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, owner: Any, kind: type) -> Callable[..., Any]:
        """Bind the method; raise AttributeError if the algorithm can't do it."""
        # The class itself is asked for the method's signature.
        if owner is None:
            return self.function
        algorithm = ALGORITHMS.get(str(owner.algorithm))
        if algorithm is None or not algorithm.is_online:
            raise AttributeError(ONLY_ONLINE)
        return MethodType(self.function, owner)


class Incremental(TableReading):
    """The part of an estimator that learns batches of rows."""

    algorithm: str
    costs: Any
    groups: Any
    random_state: Any
    model_: Model
    curve_: ErrorCurve | None
    get_params: Callable[..., dict[str, Any]]
    _draw_seed: Callable[[], int]

    @OnlineMethod
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Any:
        """Learn rows X (n_samples, n_features) with classes y, once each, in order.

        How rows are cut into calls changes nothing but what the first call decides: the
        columns, their types, and the categories of each. Other categories are unknown
        from then on. After `fit` it goes on from there. There is no curve, since
        nothing is held out, and no `feature_importances_`; `model_.card["learnt"]` has
        the error of rows that were predicted before they were learnt.

        Parameters
        ----------
        classes : array, shape (n_classes,)
            All classes that will come. Required in the first call.
        sample_weight : array, shape (n_samples,), optional
            1 is a row like any other; after a weighted `fit`, a row of its mean weight.
            From a millionth to a million times that; rows of weight 0 are not learnt.

        Raises
        ------
        AttributeError
            For another algorithm than `online`.
        RefusedError
            A ValueError, for what `fit` refuses too, and classes not announced.
        """
        # A refused call leaves the estimator as it was.
        learnt = copy(self)
        learnt._learn_batch(X, y, classes, sample_weight)
        self.__dict__ = vars(learnt)
        return self

    def _learn_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        """Learn rows as `partial_fit` does; a refusal leaves some attributes set."""
        if not hasattr(self, "model_"):
            # A refused `fit` leaves its classes.
            vars(self).pop("classes_", None)
        is_first = _check_partial_fit_first_call(self, classes)
        columns = self._read_columns(X, reset=is_first)
        y = self._check_targets(y)
        if type_of_target(y) == "multilabel-indicator":
            rule = "must be one class per row; several labels are not learnt in batches"
            raise RefusedError([Refusal("y", rule)])
        y = column_or_1d(y, warn=True)
        check_consistent_length(next(iter(columns.values())), y)
        declared = frames.declared_texts(X)
        starts = is_first and self._start(columns, declared)
        model, warnings = starts or (self.model_, ())
        targets = self._locate(y)
        values, unseen = check_rows(columns, model.ensemble)
        weights = weigh_batch(sample_weight, targets, model)
        rows = np.flatnonzero(weights > 0.0)
        learning = Learning(model)
        learning.learn(LearntRows(values[rows], targets[rows], weights[rows]))
        model, _ = learning.finish()
        self._store_learnt(model, (*warnings, *unseen))

    def _start(
        self, columns: Any, declared: frozenset[str]
    ) -> tuple[Model, tuple[str, ...]]:
        """Return a model that has learnt nothing yet, and warnings about columns."""
        refusals = [
            Refusal(name, "can be had by `fit` only, not by `partial_fit`")
            for name in ("error_costs", "class_weight")
            if getattr(self, name) is not None
        ]
        if refusals:
            raise RefusedError(refusals)
        if self.classes_.size < 2:
            raise RefusedError([Refusal("classes", "must be two or more", "1 class")])
        request = conventions.read_params(self.algorithm, self.get_params(deep=False))
        self._seed = conventions.read_seed(self.random_state, self._draw_seed)
        labels, self._order = sort_classes_as_text(self.classes_)
        catalogue = read_catalogue([*columns], self.costs, self.groups)
        read = conventions.gather_values(columns, catalogue, request, declared)
        params = replace(request.boost, seed=self._seed)
        model = start_learning(read.catalogue, labels, params)
        return replace(model, params=asdict(params)), read.warnings

    def _locate(self, y: np.ndarray) -> IntArray:
        """Return the position of each row's class among the model's."""
        places = np.searchsorted(self.classes_, y)
        places = np.minimum(places, self.classes_.size - 1)
        is_unknown = self.classes_[places] != y
        if is_unknown.any():
            rule = f"must hold only the classes {shorten(self.classes_.tolist())}"
            label = shorten(y[is_unknown].tolist()[0])
            raise RefusedError([Refusal("y", rule, label)])
        targets: IntArray = self._order[places]
        return targets

    def _store_learnt(self, model: Model, warnings: tuple[str, ...]) -> None:
        """Set the attributes; remove the importances, which only `fit` measures."""
        self.model_, self.ensemble_, self.curve_ = model, model.ensemble, None
        self.params_, self.warnings_ = BoostParams(**model.params), warnings  # type: ignore[arg-type]  # as read
        vars(self).pop("feature_importances_", None)


def weigh_batch(raw: Any, targets: IntArray, model: Model) -> FloatArray:
    """Return the weights of rows; without any, each counts 1."""
    unit = get_learning(model).weight_unit
    if raw is None:
        return np.full(targets.size, unit)
    weights: FloatArray = _check_sample_weight(
        raw, targets, dtype=np.float64, ensure_non_negative=True
    )
    outside, rule = list_weights_outside(weights, unit)
    if outside.size:
        raise RefusedError([Refusal("sample_weight", rule, str(weights[outside[0]]))])
    return weights
