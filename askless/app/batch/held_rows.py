"""Predict rows that are in memory, as a table's rows are predicted."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from askless.app.batch.budgets import largest_budget
from askless.app.batch.predicting import PredictOrder, PredictWork
from askless.app.batch.sources import HeldPart, TablePart
from askless.core.arrays import FloatArray
from askless.core.model.model import Model
from askless.core.model.rows import UnseenNames, refuse_unseen_batch, warn_unseen
from askless.core.table.columns import Columns


@dataclass(frozen=True)
class HeldPredictions:
    """Predictions of rows: the table of `predictions_to_arrow`, and warnings."""

    table: Any
    classes: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def labels(self) -> list[str]:
        labels: list[str] = self.table["label"].to_pylist()
        return labels

    @property
    def chances(self) -> FloatArray:
        """Probabilities, (n_rows, n_classes)."""
        columns = [self.table[f"probability_{label}"] for label in self.classes]
        return np.column_stack([column.to_numpy() for column in columns])

    @property
    def spent(self) -> FloatArray:
        """Spend of each row in units, (n_rows,)."""
        spent: FloatArray = self.table["spend"].to_numpy()
        return spent

    @property
    def asked(self) -> list[list[str]]:
        """Names of the features that each row paid for, in order."""
        asked: list[list[str]] = self.table["features"].to_pylist()
        return asked


def predict_held(
    model: Model, columns: Columns, order: PredictOrder
) -> HeldPredictions:
    """Predict rows under budgets; raise RefusedError with every broken rule."""
    ensemble = model.ensemble
    is_chosen = any(
        order.choose_budget(ensemble, limit) != limit for limit in order.limits
    )
    work = PredictWork(ensemble, order, largest_budget(order.limits), is_chosen)
    n_rows = len(next(iter(columns.values()))) if columns else 0
    if not order.accept_unseen:
        refuse_unseen_batch([columns], ensemble, "accept_unseen")
    part = HeldPart(TablePart(0, n_rows, columns, pa.table({})))
    played = list(work.play(part))
    unseen = sum((played_rows.unseen for played_rows in played), UnseenNames())
    return HeldPredictions(
        table=pa.concat_tables([played_rows.table for played_rows in played]),
        classes=tuple(label.label for label in ensemble.classes),
        warnings=tuple(warn_unseen(ensemble, unseen)),
    )
