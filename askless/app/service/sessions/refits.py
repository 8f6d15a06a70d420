"""Refits: models trained anew at the prices of a list, in the background.

A model and a price list get one training, however many sessions name the list. Until it
is done, sessions use the model itself at the new prices.
"""

from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from askless.app.documents.prices import reprice_spec
from askless.app.errors import NotFoundError
from askless.app.records import ModelHead, Refit, StoredJob
from askless.app.store import datasets, jobs, price_lists
from askless.app.store.database.transactions import Transaction
from askless.app.store.price_lists import StoredPriceList
from askless.core.parameters import parameters
from askless.core.table.catalogue import Catalogue
from askless.core.table.price_lists import is_in_proportion
from askless.core.training.params import BoostParams

AMOUNTS = [one.name for one in parameters(BoostParams).values() if one.is_amount]


class RefitOrder(NamedTuple):
    """A model, its catalogue at its own and at a list's prices, and the most refits."""

    head: ModelHead
    own: Catalogue
    repriced: Catalogue
    most: int


class RefitStanding(NamedTuple):
    """The state of the training at a session's prices."""

    refit: Refit
    training_id: str | None


def ensure(
    db: Transaction, prices: StoredPriceList, order: RefitOrder, now: datetime
) -> StoredPriceList:
    """Begin the training of a price list, or store the reason why it gets none.

    Returns the list as it is stored now. An excuse is written as long as there is no
    training, and each call tries again.
    """
    if prices.training_id is not None:
        return prices
    origin = find_origin(db, order.head)
    if order.own == order.repriced or (
        origin is not None and makes_same_choices(origin, order.own, order.repriced)
    ):
        return price_lists.excuse(db, prices, "unneeded")
    if origin is None or origin.dataset_id is None:
        return price_lists.excuse(db, prices, "unavailable")
    locked = price_lists.get_locked(db, prices.id)
    # Another session has begun it meanwhile.
    if locked.training_id is not None:
        return locked
    try:
        # Others that begin a training at a list of this model wait here.
        datasets.get_locked(db, origin.dataset_id)
    except NotFoundError:
        return price_lists.excuse(db, prices, "unavailable")
    if price_lists.count_refitted(db, order.head.id) >= order.most:
        return price_lists.excuse(db, prices, "limited")
    return begin(db, prices, order, origin, now)


def find_origin(db: Transaction, head: ModelHead) -> StoredJob | None:
    """Return the training that made a model; None for a refit, which has no refits."""
    if head.training_id is None or head.refit_of is not None:
        return None
    return jobs.find(db, head.training_id)


def makes_same_choices(origin: StoredJob, own: Catalogue, repriced: Catalogue) -> bool:
    """Return whether a training makes the same choices at other prices.

    It does if all prices changed in proportion, and the spec has no fixed amounts.
    """
    spec = origin.spec
    params = spec.get("params") or {}
    is_fixed = spec.get("error_costs") or any(params.get(one) for one in AMOUNTS)
    return not is_fixed and is_in_proportion(own, repriced)


def begin(
    db: Transaction,
    prices: StoredPriceList,
    order: RefitOrder,
    origin: StoredJob,
    now: datetime,
) -> StoredPriceList:
    """Put the training of a locked list into the queue."""
    job = StoredJob(
        id=jobs.TRAININGS.make_id(),
        name=origin.name,
        dataset_id=origin.dataset_id,
        spec=reprice_spec(origin.spec, order.repriced),
        warnings=origin.warnings,
        created_at=now,
        refit_of=order.head.id,
    )
    jobs.enqueue(db, job, now)
    price_lists.change(db, prices.id, training_id=job.id, excuse=None)
    return replace(prices, training_id=job.id, excuse=None)


def find_refit(db: Transaction, prices: StoredPriceList) -> str | None:
    """Return the id of the model trained at a list's prices, or None."""
    if prices.training_id is None:
        return None
    return jobs.TRAININGS.get(db, prices.training_id).model_id


def stand(db: Transaction, model_id: str, price_list_id: str) -> RefitStanding:
    """Return the state of the training at the prices of a session."""
    prices = price_lists.get(db, price_list_id)
    # The session uses the refit itself, not the model that the list belongs to.
    if model_id != prices.model_id:
        return RefitStanding("used", prices.training_id)
    if prices.training_id is None:
        return RefitStanding(prices.excuse or "unavailable", None)
    state = jobs.TRAININGS.get(db, prices.training_id).state
    refit: Refit = "ready" if state == "succeeded" else "running"
    if state in ("failed", "cancelled"):
        refit = "failed"
    return RefitStanding(refit, prices.training_id)
