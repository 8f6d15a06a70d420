"""Predict rows at once, for calls that wait; jobs on tables have a queue."""

from typing import NamedTuple

from askless.app.batch.held_rows import HeldPredictions, predict_held
from askless.app.batch.orders import build_predict_order
from askless.app.documents.http.jobs import PredictOrder
from askless.app.errors import NotFoundError
from askless.app.records import ModelHead
from askless.app.service.loaded import LoadedModels
from askless.app.store import models
from askless.app.store.database.transactions import Transaction
from askless.core.model.model import Model
from askless.core.table.columns import Columns

versions = models.list_versions


class FoundModel(NamedTuple):
    """A model with its head."""

    head: ModelHead
    model: Model


def find_head(db: Transaction, key: str, version: str | None = None) -> ModelHead:
    """Find a model by id or name, and by version; raise NotFoundError."""
    if version is None:
        return models.get_head(db, key)
    head = models.find_by_version(db, f"{key}@{version}") or models.get_head(db, key)
    if str(head.version) != version:
        raise NotFoundError("model", f"{key}@{version}")
    return head


def load(
    db: Transaction, loaded: LoadedModels, key: str, version: str | None = None
) -> FoundModel:
    """Load a model; the caller's transaction ends if it has to be parsed."""
    head = find_head(db, key, version)
    loaded.load(db, head.id)
    return FoundModel(head, loaded.get(db, head.id))


def predict_rows(
    model: Model, columns: Columns, order: PredictOrder
) -> HeldPredictions:
    """Play each row under the order's budget; raise RefusedError for wrong cells."""
    return predict_held(model, columns, build_predict_order(order, model))
