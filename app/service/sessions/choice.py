"""Choose the model of a session and the prices it charges."""

from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from app.documents.http.sessions import PredictRequest
from app.documents.prices import write_prices
from app.errors import NotFoundError
from app.records import ModelHead
from app.service.loaded import LoadedModels
from app.service.sessions import refits
from app.store import models, price_lists
from app.store.database.transactions import Transaction
from app.store.price_lists import StoredPriceList
from core.table.catalogue import Catalogue

CHAMPION = "champion"


class AskedModel(NamedTuple):
    """A model that is locked against deletion, and its price list; None: its own."""

    model_id: str
    price_list_id: str | None


def choose(
    db: Transaction,
    loaded: LoadedModels,
    request: PredictRequest,
    max_refits: int,
    now: datetime,
) -> AskedModel:
    """Find the model of a session, and store the price list that it names.

    That is the model trained at these prices, once there is one.
    """
    head = hold_model(db, loaded, request.model)
    if request.prices is None:
        return AskedModel(head.id, None)
    ensemble = loaded.get(db, head.id).ensemble
    moved = ensemble.at_prices(request.prices.build("prices"), "prices").catalogue
    prices = store_prices(db, head, moved, now)
    order = refits.RefitOrder(head, ensemble.catalogue, moved, max_refits)
    prices = refits.ensure(db, prices, order, now)
    refitted = refits.find_model(db, prices)
    if refitted is None:
        return AskedModel(head.id, prices.id)
    try:
        return AskedModel(hold_model(db, loaded, refitted).id, prices.id)
    except NotFoundError:
        # Deleted just now, and so forgotten by its list, which may have another one.
        return choose(db, loaded, request, max_refits, now)


def hold_model(db: Transaction, loaded: LoadedModels, key: str) -> ModelHead:
    """Find a model by its id, name or version; keep it from being deleted meanwhile.

    One that had to be parsed first, or was deleted just now, is looked up again.
    """
    while True:
        # A version first, so that no model takes its place by being called so.
        head = models.find_head(db, key) or find_version(db, key)
        head = head or models.named(db, key)
        if head is None:
            raise NotFoundError("model")
        if not loaded.load(db, head.id) and models.lock(db, head.id, is_shared=True):
            return head


def find_version(db: Transaction, key: str) -> ModelHead | None:
    """Find a model by `name@version` or `name@champion`; names may have an @."""
    name, _, version = key.rpartition("@")
    if version == CHAMPION:
        return models.find_champion(db, name)
    is_one = version.isascii() and version.isdigit() and len(version) < 10
    return models.find_version(db, name, int(version)) if is_one else None


def store_prices(
    db: Transaction, head: ModelHead, moved: Catalogue, now: datetime
) -> StoredPriceList:
    """Store a price list; sessions with the same prices share one."""
    document = write_prices(moved)
    digest = sha256(document.encode()).hexdigest()
    key = price_lists.make_id()
    made = StoredPriceList(key, head.id, digest, document, now)
    found = price_lists.find_same(db, head.id, digest)
    return found or price_lists.insert_once(db, made)
