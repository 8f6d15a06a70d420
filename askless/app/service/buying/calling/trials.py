"""One paid call to a provider outside of any session: to try it."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from askless.app.documents.buying.providers import Provider
from askless.app.errors import ConflictError
from askless.app.records import StoredCall
from askless.app.service.buying.calling.reading import (
    MissingError,
    make_message,
    read_body,
    search,
)
from askless.app.service.buying.calling.sending import Message, Reply, Sender
from askless.app.service.buying.calling.settling import note_behaviour
from askless.app.service.buying.calling.verdicts import (
    IN_DOUBT,
    NOT_SENT,
    CallTerms,
    Verdict,
    judge,
)
from askless.app.service.buying.offers import (
    Filler,
    billing_of,
    list_offers,
    open_filler,
)
from askless.app.service.loaded import LoadedModels
from askless.app.store import models
from askless.app.store.buying import calls, providers
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.catalogue.prices import Paid, price_feature
from askless.core.errors import Refusal, RefusedError

# Models that are looked through for what a provider fills, newest first.
SOME_MODELS = 20
list_held = providers.list_held
# Longer than any test takes.
LOST_AFTER = timedelta(minutes=5)
# The longest that a test waits for its turn.
PATIENCE_S = 2.0


@dataclass(frozen=True, slots=True)
class TrialOrder:
    """A call that is reserved, its request, and by what it will be judged."""

    call: StoredCall
    message: Message
    terms: CallTerms
    #: how long it waits for its turn, by the provider's calls a second
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class TriedCall:
    """A call that has ended, with what was read; nothing of that is stored."""

    call: StoredCall
    #: by feature, as the provider wrote it
    values: dict[str, Any]
    #: rules that values broke, by feature
    refusals: dict[str, str]


@dataclass(frozen=True, slots=True)
class TrialPlace:
    """The models, the folder of secrets and the time of a test."""

    loaded: LoadedModels
    secrets: Path | None
    now: datetime


def prepare(
    db: Transaction, place: TrialPlace, name: str, keys: Mapping[str, str]
) -> TrialOrder:
    """Reserve a test call within the ceiling of the day.

    Raises NotFoundError for an unknown provider, RefusedError for a key or secret that
    is missing and for a provider without a price, ConflictError where the provider
    cools down, takes no more calls just now, or its ceiling has no room.
    """
    stored = providers.get_locked(db, name)
    end_lost(db, name, place.now)
    filler = open_filler(stored)
    provider = filler.provider
    if filler.is_cooling(place.now):
        raise ConflictError(
            "conflict", f"{name} cools down until {stored.cools_until}."
        )
    wait_s = take_turn(db, filler, place.now)
    try:
        message = make_message(provider, keys, place.secrets)
    except MissingError as error:
        where = f"keys.{error.placeholder.name}"
        if error.placeholder.kind == "secret":
            where = "request"
        raise RefusedError([Refusal(where, str(error))]) from None
    known = find_catalogue(db, place.loaded, provider)
    price = price_trial(provider, known)
    catalogue = known or make_plain_catalogue(provider)
    call = StoredCall(
        id=calls.make_id(),
        session_id=None,
        provider=name,
        number=1,
        state="reserved",
        features=tuple(provider.read),
        price=price,
        charged=0,
        unit=catalogue.cost_unit,
        idempotency_key="",
        day=f"{place.now:%Y-%m-%d}",
        created_at=place.now,
    )
    call = replace(call, idempotency_key=call.id)
    if not providers.reserve(db, name, call.day, price, provider.ceilings.day):
        raise ConflictError("conflict", f"The ceiling of {name} has no room today.")
    calls.insert(db, call)
    idx = catalogue.feature_idxs[next(iter(provider.read))]
    billing = provider.billing or billing_of(catalogue, idx)
    terms = CallTerms(provider, catalogue, call.features, price, billing)
    return TrialOrder(call, message, terms, wait_s)


def take_turn(db: Transaction, filler: Filler, now: datetime) -> float:
    """Return how long a call to a locked provider waits; raise ConflictError."""
    provider, stored = filler.provider, filler.stored
    turn_at = max(now, stored.next_at or now)
    wait_s = (turn_at - now).total_seconds()
    n_calls = calls.count_on_the_way(db, stored.name)
    if wait_s > PATIENCE_S or n_calls >= provider.at_once:
        rule = f"{stored.name} takes no more calls just now: try again soon."
        raise ConflictError("conflict", rule)
    if provider.per_second is not None:
        next_at = turn_at + timedelta(seconds=1 / provider.per_second)
        providers.change(db, stored.id, next_at=next_at)
    return wait_s


def find_catalogue(
    db: Transaction, loaded: LoadedModels, provider: Provider
) -> Catalogue | None:
    """Return the catalogue of the newest model that has all that a provider reads."""
    names = {*provider.read}
    for head in models.page(db, SOME_MODELS, None).items:
        catalogue = loaded.get(db, head.id).ensemble.catalogue
        if names <= catalogue.feature_idxs.keys():
            return catalogue
    return None


def make_plain_catalogue(provider: Provider) -> Catalogue:
    """Return a catalogue by which features are read as they come."""
    return Catalogue(tuple(Feature(name, "category", cost=0) for name in provider.read))


def price_trial(provider: Provider, catalogue: Catalogue | None) -> int:
    """Return what a provider charges; raise RefusedError where nobody says it."""
    if provider.price is not None:
        return provider.price
    offers = {} if catalogue is None else list_offers(catalogue)
    if catalogue is None or provider.fills not in offers:
        rule = "is required: no model has a price for what it fills"
        raise RefusedError([Refusal("price", rule)])
    return price_feature(catalogue, Paid(), offers[provider.fills][0])


def end_lost(db: Transaction, name: str, now: datetime) -> None:
    """End the tests of a provider whose process died: who was asked is in doubt."""
    for lost in calls.list_lost_tests(db, name, now - LOST_AFTER):
        call = calls.get_locked(db, lost.id)
        if call.state not in calls.ON_THE_WAY:
            continue
        was_sent = call.state == "sent"
        charged = call.price if was_sent else 0
        providers.settle(db, name, call.day, call.price, charged)
        calls.change(
            db,
            call.id,
            state="in_doubt" if was_sent else "released",
            charged=charged,
            reason=IN_DOUBT if was_sent else NOT_SENT,
            ended_at=now,
        )


def finish(
    db: Transaction, order: TrialOrder, verdict: Verdict, now: datetime
) -> StoredCall:
    """Write the end of a test call and what it cost; a second time changes nothing."""
    call = calls.get_locked(db, order.call.id)
    if call.state == "sent":
        charged = verdict.amount
        # The provider is locked before its day, as everywhere.
        note_behaviour(db, call.provider, verdict, now)
        providers.settle(db, call.provider, call.day, call.price, charged)
        calls.change(
            db,
            call.id,
            state=verdict.state,
            charged=charged,
            reason=verdict.reason,
            status=verdict.status,
            latency_ms=verdict.latency_ms,
            attempts=verdict.attempts,
            ended_at=now,
        )
    return calls.get(db, call.id)


def read_raw(order: TrialOrder, reply: Reply) -> dict[str, Any]:
    """Return what stands at each path of an answer, as it was written."""
    try:
        document = read_body(reply.body)
    except ValueError:
        return {}
    read = order.terms.provider.read
    return {name: search(path, document) for name, path in read.items()}


async def call_once(
    order: TrialOrder,
    sender: Sender,
    work: Callable[[Callable[[Transaction], Any]], Any],
    clock: Callable[[], datetime],
) -> TriedCall:
    """Send a prepared call once, and settle it.

    `work` awaits something done in a transaction of its own: the call is marked as sent
    before it leaves. One that was taken for lost meanwhile does not leave.
    """
    await asyncio.sleep(order.wait_s)
    call_id = order.call.id
    if not await work(lambda db: calls.mark_sent(db, call_id, clock())):
        return TriedCall(await work(lambda db: calls.get(db, call_id)), {}, {})
    provider = order.terms.provider
    message = order.message.with_header(
        provider.idempotency_header, order.call.idempotency_key
    )
    reply = await sender.send(message, provider.timeout_s)
    verdict = judge(order.terms, reply, 1)
    call = await work(lambda db: finish(db, order, verdict, clock()))
    refusals = {} if verdict.answer is None else verdict.answer.refusals
    return TriedCall(call, read_raw(order, reply), refusals)
