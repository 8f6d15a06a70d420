"""Price lists of sessions: stored once, and changed while a run buys."""

from dataclasses import replace
from datetime import datetime
from hashlib import sha256

from askless.app.documents.prices import write_prices
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions.opened import OpenSession, save
from askless.app.store import price_lists, sessions
from askless.app.store.database.transactions import Transaction
from askless.app.store.price_lists import StoredPriceList
from askless.core.catalogue.catalogue import Catalogue
from askless.core.session.machine import hold


def store_prices(
    db: Transaction, model_id: str, repriced: Catalogue, now: datetime
) -> StoredPriceList:
    """Store a price list; sessions with the same prices share one."""
    document = write_prices(repriced)
    digest = sha256(document.encode()).hexdigest()
    key = price_lists.make_id()
    prices = StoredPriceList(key, model_id, digest, document, now)
    stored = price_lists.find_same(db, model_id, digest)
    return stored or price_lists.insert_new(db, prices)


def reprice(
    db: Transaction,
    loaded: LoadedModels,
    opened: OpenSession,
    charged: Catalogue,
    now: datetime,
) -> OpenSession:
    """Put a locked session under other prices, and make its plan anew.

    What was charged stays as it is.
    """
    session = opened.session
    prices = store_prices(db, session.model_id, charged, now)
    sessions.set_price_list(db, session.id, prices.id)
    model = loaded.get(db, session.model_id, prices.id)
    state = hold(model.ensemble, opened.state, opened.state.held)
    priced = replace(session, price_list_id=prices.id)
    changed = replace(opened, session=priced, model=model, state=state)
    return save(db, changed, now)
