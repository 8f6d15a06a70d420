"""Parsed models in memory, so that an answer does not parse its model each time."""

import json
from collections import OrderedDict
from threading import Lock

from sqlalchemy.orm import Session

from app.documents.model import model_from_json
from app.store import models
from core.model.model import Model

MOST = 32


class LoadedModels:
    """The models used last, by id; a stored model never changes."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.lock = Lock()
        self.models: OrderedDict[str, Model] = OrderedDict()

    def get(self, db: Session, model_id: str) -> Model:
        """Return a model, parsed; a deleted one too, for the sessions it has."""
        with self.lock:
            if model_id in self.models:
                self.models.move_to_end(model_id)
                return self.models[model_id]
        return self.keep(model_id, models.get_deleted_too(db, model_id).document)

    def load(self, db: Session, model_id: str) -> bool:
        """Parse a model unless it is here already; False where it is.

        Ends the caller's transaction before it parses, which on SQLite would keep
        every other writer waiting. Whatever was locked has to be locked again.
        """
        if model_id in self.models:
            return False
        document = models.get_deleted_too(db, model_id).document
        db.rollback()
        self.keep(model_id, document)
        return True

    def keep(self, model_id: str, document: str) -> Model:
        """Parse a document and keep its model; let go of the one used longest ago."""
        model = model_from_json(json.loads(document))
        with self.lock:
            self.models[model_id] = model
            while len(self.models) > self.most:
                self.models.popitem(last=False)
        return model
