"""Predicts rows of a table under a budget with a MODEL.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from warnings import warn

import numpy as np

from app.documents.files import load_model as read_model
from core.estimator import frames
from core.estimator.predictions import BudgetedPredictor, ErrorCurve, Served
from core.model.model import Model
from core.model.rows import check_rows
from core.simulation.outcomes import TableRows


@dataclass(frozen=True)
class LoadedModel(BudgetedPredictor):
    """A trained model, as `askless train`, the service or `save` wrote it.

    `model` is all that the file holds. A table is a data frame, or maps features to
    lists of values, one for each row: numbers are missing where they are NaN, words
    where they are None. Columns that the model never reads may be absent. Labels are
    texts, as the file has them.
    """

    model: Model

    @property
    def name(self) -> str:
        """Name of the model, from its spec."""
        return self.model.name

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that the model may ask for."""
        return tuple(one.name for one in self.model.ensemble.catalogue.features)

    @property
    def classes(self) -> tuple[str, ...]:
        """Labels, in the order of the columns of `predict_proba`."""
        return tuple(one.label for one in self.model.ensemble.classes)

    @property
    def curve(self) -> ErrorCurve | None:
        """Error and spend against budget, from the training's held-out rows."""
        return None if self.model.curve is None else ErrorCurve.of(self.model.curve)

    def _serve(self) -> Served:
        labels = np.array(self.classes, dtype=object)
        return Served(self.model, labels, np.arange(labels.size), self.features)

    def _read_rows(self, X: Any) -> TableRows:
        """Return the values of a table; raise RefusedError where it doesn't fit.

        The rows draw as those of `askless predict` do, by their places.
        """
        if isinstance(X, Mapping):
            columns = frames.mapped_columns(X, self.features)
        else:
            columns = frames.frame_columns(X)
        values, unseen = check_rows(columns, self.model.ensemble)
        for one in unseen:
            warn(one, stacklevel=4)
        return TableRows(values, range(len(values)), 0)


def load_model(path: str | Path) -> LoadedModel:
    """Read a MODEL.json; raise `RefusedError` where it is none."""
    return LoadedModel(read_model(Path(path)))
