"""Reads the X and y of scikit-learn's conventions for an estimator."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_y, column_or_1d, validate_data

from askless.core.arrays import IntArray
from askless.core.errors import Refusal, RefusedError
from askless.core.estimator import conventions, frames
from askless.core.estimator.matching import match_names
from askless.core.table.columns import Column
from askless.core.table.dataset import ClassLabel


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
        labels, self._order = conventions.order_classes(self.classes_)
        return labels, self._order[positions]

    def _check_targets(self, y: Any) -> Any:
        """Return classes or indicators as an array; refuse what are none."""
        if y is None:
            rule = "requires y to be passed, but the target y is None"
            raise RefusedError([Refusal("y", rule)])
        y = _check_y(conventions.as_dense(y), multi_output=True, estimator=self)
        check_classification_targets(y)
        return y

    def _read_columns(self, X: Any, *, reset: bool) -> dict[str, Column]:
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
        return {str(idx): column for idx, column in enumerate(values.T)}
