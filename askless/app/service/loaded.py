"""Keep parsed models in memory."""

import json
from collections import OrderedDict
from dataclasses import replace
from threading import Lock

from askless.app.documents.model.model import model_from_json
from askless.app.documents.prices import parse_prices
from askless.app.store import models, price_lists
from askless.app.store.database.transactions import Transaction
from askless.core.model.model import Model

MOST = 32
# A model, and the price list that it is read with.
Key = tuple[str, str | None]


class LoadedModels:
    """The last used models, parsed, also at the prices of price lists.

    Stored models and price lists never change.
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.lock = Lock()
        self.models: OrderedDict[Key, Model] = OrderedDict()

    def get(
        self, db: Transaction, model_id: str, price_list_id: str | None = None
    ) -> Model:
        """Return a model, also a deleted one, which its sessions still use."""
        cached = self.find(model_id, price_list_id)
        if cached is not None:
            return cached
        key = (model_id, price_list_id)
        if price_list_id is None:
            document = models.get_deleted_too(db, model_id).document
            return self.keep(key, parse_model(document))
        own = self.get(db, model_id)
        document = price_lists.get(db, price_list_id).document
        prices = parse_prices(document, own.ensemble.catalogue)
        ensemble = own.ensemble.at_prices(prices, "prices")
        return self.keep(key, replace(own, ensemble=ensemble))

    def find(self, model_id: str, price_list_id: str | None = None) -> Model | None:
        """Return a model if it is in memory, else None."""
        key = (model_id, price_list_id)
        with self.lock:
            if key in self.models:
                self.models.move_to_end(key)
            return self.models.get(key)

    def load(self, db: Transaction, model_id: str) -> bool:
        """Parse a model; return False if it is in memory already.

        It ends the caller's transaction first, since that would keep all other writers
        of SQLite waiting. The caller has to lock its rows again.
        """
        key = (model_id, None)
        if key in self.models:
            return False
        document = models.get_deleted_too(db, model_id).document
        db.rollback()
        self.keep(key, parse_model(document))
        return True

    def keep(self, key: Key, model: Model) -> Model:
        """Keep a model; drop the one used longest ago."""
        with self.lock:
            self.models[key] = model
            while len(self.models) > self.most:
                self.models.popitem(last=False)
        return model


def parse_model(document: str) -> Model:
    """Parse a model, and prepare its panels so that no answer waits for that."""
    model = model_from_json(json.loads(document))
    if model.ensemble.panels is not None:
        model.ensemble.panels.prepare()
    return model
