"""MODEL.json in Python: rows of a table predicted under a budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.documents.files import load_model as read_model
from core.arrays import FloatArray
from core.errors import Refusal, RefusedError, describe
from core.model.model import Model
from core.model.rows import check_rows
from core.session.probability import decide
from core.session.simulate import class_probabilities, walk
from core.table.costs import read_budget


@dataclass(frozen=True)
class LoadedModel:
    """A trained model, as `askless train` or the service's export wrote it.

    `model` is all that the file holds. Columns map features to values, one for each
    row; a data frame does. Numbers are missing where they are NaN, words where they
    are None.
    """

    model: Model

    @property
    def name(self) -> str:
        """Name that its spec gave it."""
        return self.model.name

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that it may ask for."""
        return tuple(one.name for one in self.model.ensemble.catalogue.features)

    @property
    def classes(self) -> tuple[str, ...]:
        """Labels, in the order of the columns of `predict_proba`."""
        return tuple(one.label for one in self.model.ensemble.classes)

    def predict(
        self, columns: Mapping[str, Sequence[Any]], budget: float | None = None
    ) -> list[str]:
        """Return the label of each row, as `askless predict` does.

        Each row is a session of its own, in which no more is read than `budget` pays,
        in the unit of the costs; None: unlimited.
        """
        chances = self.predict_proba(columns, budget)
        return [self.classes[idx] for idx in decide(self.model.ensemble, chances)]

    def predict_proba(
        self, columns: Mapping[str, Sequence[Any]], budget: float | None = None
    ) -> FloatArray:
        """Return the probability of each class; (n_rows, n_classes).

        Raises RefusedError for a budget that is no amount, and for columns that are
        missing, are no lists of one length, or have values of another type.
        """
        ensemble = self.model.ensemble
        limit = read_budget(budget)
        known = {
            name: as_column(name, columns[name])
            for name in self.features
            if name in columns
        }
        check_lengths(known)
        values, _ = check_rows(known, ensemble)
        walks = walk(ensemble, values, [limit])
        return class_probabilities(ensemble, walks)[:, 0]


def as_column(name: str, values: Sequence[Any]) -> npt.NDArray[Any]:
    """Return numbers as float64, else words, None where one is missing."""
    try:
        column = np.asarray(values)
        is_list = column.ndim == 1
    except ValueError:
        # Lists of several lengths stand in it.
        is_list = False
    if not is_list:
        rule = "must be a list of values, one for each row"
        raise RefusedError([Refusal(f"column {name}", rule, describe(values))])
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    words = [None if one is None or one != one else str(one) for one in values]
    return np.array(words, dtype=object)


def check_lengths(columns: Mapping[str, npt.NDArray[Any]]) -> None:
    """Refuse columns that have not as many rows as the first of them."""
    sizes = {name: column.size for name, column in columns.items()}
    first, n_rows = next(iter(sizes.items()), ("", 0))
    refusals = [
        Refusal(f"column {name}", f"must have {n_rows} rows, as {first} has", str(size))
        for name, size in sizes.items()
        if size != n_rows
    ]
    if refusals:
        raise RefusedError(refusals)


def load_model(path: str | Path) -> LoadedModel:
    """Read a MODEL.json; raise `RefusedError` where it is none."""
    return LoadedModel(read_model(Path(path)))
