"""Parsed models in memory, so that an answer does not parse its model each time."""

import json
from collections import OrderedDict
from threading import Lock

from sqlalchemy.orm import Session

from app.errors import NotFoundError
from app.store import models
from core.codec import model_from_json
from core.model.model import Model

MOST = 32


class LoadedModels:
    """The models used last, by id; a stored model never changes."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.lock = Lock()
        self.models: OrderedDict[str, Model] = OrderedDict()

    def get(self, db: Session, model_id: str) -> Model:
        """Give a model, parsed; a deleted one too, for the sessions it has."""
        with self.lock:
            if model_id in self.models:
                self.models.move_to_end(model_id)
                return self.models[model_id]
        stored = models.get(db, model_id, is_deleted_too=True)
        if stored is None:
            raise NotFoundError("model", model_id)
        parsed = model_from_json(json.loads(stored.document))
        with self.lock:
            self.models[model_id] = parsed
            while len(self.models) > self.most:
                self.models.popitem(last=False)
        return parsed
