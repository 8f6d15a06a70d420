"""Choose the model of a session and the prices it charges."""

from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from askless.app.documents.http.sessions import PredictRequest
from askless.app.documents.prices import write_prices
from askless.app.records import ModelHead
from askless.app.service.loaded import LoadedModels
from askless.app.store import models, price_lists
from askless.app.store.database.transactions import Transaction
from askless.app.store.price_lists import StoredPriceList
from askless.core.catalogue.catalogue import Catalogue


class ChosenModel(NamedTuple):
    """A model locked against deletion, and its price list; None: its own prices."""

    model_id: str
    price_list_id: str | None


def choose_model(
    db: Transaction,
    loaded: LoadedModels,
    request: PredictRequest,
    now: datetime,
) -> ChosenModel:
    """Find the model of a new session, and store the requested price list."""
    head = lock_model(db, loaded, request.model)
    if request.prices is None:
        return ChosenModel(head.id, None)
    ensemble = loaded.get(db, head.id).ensemble
    repriced = ensemble.at_prices(request.prices.build("prices"), "prices").catalogue
    return ChosenModel(head.id, store_prices(db, head, repriced, now).id)


def lock_model(db: Transaction, loaded: LoadedModels, key: str) -> ModelHead:
    """Find a model by id, name or version, and lock it against deletion.

    Look it up again if it had to be parsed first, or was deleted just now. Raises
    NotFoundError if there is none.
    """
    while True:
        head = models.get_head(db, key)
        # `load` returns True if it parsed the model, and then the transaction has
        # ended.
        if not loaded.load(db, head.id) and models.lock(db, head.id, is_shared=True):
            return head


def store_prices(
    db: Transaction, head: ModelHead, repriced: Catalogue, now: datetime
) -> StoredPriceList:
    """Store a price list; sessions with the same prices share one."""
    document = write_prices(repriced)
    digest = sha256(document.encode()).hexdigest()
    key = price_lists.make_id()
    prices = StoredPriceList(key, head.id, digest, document, now)
    stored = price_lists.find_same(db, head.id, digest)
    return stored or price_lists.insert_once(db, prices)
