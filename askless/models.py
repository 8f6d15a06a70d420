"""Predict rows of a table under a budget with a MODEL.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from warnings import warn

import numpy as np
import numpy.typing as npt

from askless.app.documents.files import load_model as read_model
from askless.core.arrays import IntArray
from askless.core.estimator import frames
from askless.core.estimator.matching import match_names
from askless.core.estimator.predictions import BudgetedPredictor, ErrorCurve, Served
from askless.core.model.model import Model
from askless.core.model.rows import check_rows, refuse_unseen_batch
from askless.core.simulation.outcomes import TableRows
from askless.core.table.texts.numbers import parse_number


@dataclass(frozen=True)
class LoadedModel(BudgetedPredictor):
    """A trained model, as `askless train`, the service or `save` wrote it.

    `model` is all that the file holds. A table is a data frame, or maps features to
    lists of values, one for each row: numbers are missing where they are NaN, words
    where they are None. Columns are found by name, in any order. Those that the model
    never reads may be absent, and the target may be there, unread. Other names are
    refused: `X[[*model.features]]` leaves them out. Labels are texts, as the file has
    them.
    """

    model: Model
    #: whether most cells of a category may be unseen in training
    accept_unseen: bool = False

    @property
    def name(self) -> str:
        """Name of the model, from its spec."""
        return self.model.name

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that the model may ask for."""
        return tuple(feature.name for feature in self.model.ensemble.catalogue.features)

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """Labels, in the order of the columns of `predict_proba`; (n_classes,).

        Where all are numbers they are in the order of these, else in that of texts:
        the order of an estimator's classes, which are as they were passed.
        """
        labels, order = self._order_classes()
        return labels[order]

    @property
    def curve(self) -> ErrorCurve | None:
        """Error and spend against budget, from the training's held-out rows."""
        return None if self.model.curve is None else ErrorCurve.of(self.model.curve)

    def _serve(self) -> Served:
        labels, order = self._order_classes()
        return Served(self.model, labels, order, self.features)

    def _order_classes(self) -> tuple[npt.NDArray[Any], IntArray]:
        """Return labels as the file orders them, and positions in `classes_` order."""
        labels = [label.label for label in self.model.ensemble.classes]
        numbers = [parse_number(label.strip()) for label in labels]
        keys: list[Any] = [*labels] if None in numbers else [*numbers]
        order = np.argsort(keys, kind="stable")
        return np.array(labels, dtype=object), order

    def _read_rows(self, X: Any) -> TableRows:
        """Return the values of a table; raise RefusedError where it doesn't fit.

        The rows draw as those of `askless predict` do, by their places.
        """
        names = (*self.features, self.model.target)
        if isinstance(X, Mapping):
            match_names(X, names)
            columns = frames.mapped_columns(X, self.features)
        else:
            columns = match_names(frames.frame_columns(X), names)
        if not self.accept_unseen:
            ensemble = self.model.ensemble
            refuse_unseen_batch([columns], ensemble, "accept_unseen=True")
        values, unseen = check_rows(columns, self.model.ensemble)
        for warning in unseen:
            warn(warning, stacklevel=4)
        return TableRows(values, range(len(values)), 0)


def load_model(path: str | Path, accept_unseen: bool = False) -> LoadedModel:
    """Read a MODEL.json; raise `RefusedError` where it is none.

    `accept_unseen`: predict tables too of which most cells of a category were never
    seen in training.
    """
    return LoadedModel(read_model(Path(path)), accept_unseen)
