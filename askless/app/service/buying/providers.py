"""Put, show, list and delete providers, and list the calls to them."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from askless.app.documents.buying import calls as call_bodies
from askless.app.documents.buying import provider_bodies as bodies
from askless.app.documents.buying.providers import (
    Provider,
    write_provider,
)
from askless.app.records import CallState, StoredProvider
from askless.app.service.buying.offers import list_offers
from askless.app.service.loaded import LoadedModels
from askless.app.settings.hosts import is_listed
from askless.app.settings.secrets import SecretError, read_secret
from askless.app.store import models
from askless.app.store.buying import calls, providers
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.catalogue import Catalogue
from askless.core.errors import Refusal, RefusedError

# Newest models that a provider is compared with.
MOST_MODELS = 20
NO_DAY = (0, 0)


class CallRules(NamedTuple):
    """The folder of secrets, and the hosts that providers may call."""

    secrets: Path | None
    hosts: Sequence[str]


class CallFilter(NamedTuple):
    """A filter of calls; None: any."""

    provider: str | None = None
    session_id: str | None = None
    state: CallState | None = None


class PutProvider(NamedTuple):
    """A provider after it was put, and whether there was none before."""

    provider: StoredProvider
    is_new: bool


def put(
    db: Transaction, rules: CallRules, name: str, provider: Provider, now: datetime
) -> PutProvider:
    """Create or replace a provider; raise RefusedError for what can't be called.

    It cools down as before. Its cached answers are deleted if the document changes.
    """
    refusals = [*check_calls(rules, provider)]
    if refusals:
        raise RefusedError(refusals)
    document = write_provider(provider)
    new = StoredProvider(providers.make_id(), name, document, now, now)
    if providers.insert_new(db, new):
        return PutProvider(new, True)
    old = providers.get_locked(db, name)
    providers.change(db, old.id, document=document, updated_at=now)
    if old.document != document:
        providers.forget_answers(db, name)
    return PutProvider(providers.get(db, name), False)


def check_calls(rules: CallRules, provider: Provider) -> Iterator[Refusal]:
    """Yield refusals of a host that is not listed, and of secrets that are absent."""
    if not is_listed(provider.host, rules.hosts):
        rule = "must be of a host that ASKLESS_PROVIDER_HOSTS names"
        yield Refusal("request.url", rule, repr(provider.host))
    for name in provider.request.secrets:
        try:
            read_secret(rules.secrets, name)
        except SecretError as error:
            why = "; ASKLESS_SECRETS is not set" if rules.secrets is None else ""
            yield Refusal("request", f"must name secrets; {error}{why}")


def get(db: Transaction, name: str, now: datetime) -> bodies.ProviderBody:
    provider = providers.get(db, name)
    return describe(provider, providers.find_day(db, name, day_of(now)) or NO_DAY)


def page(
    db: Transaction, limit: int, after: str | None, now: datetime
) -> bodies.ProviderPage:
    listed = providers.page(db, limit, after)
    days = providers.map_days(db, day_of(now))
    return bodies.ProviderPage(
        items=[
            describe(provider, days.get(provider.name, NO_DAY))
            for provider in listed.items
        ],
        next=listed.next,
    )


def describe(
    provider: StoredProvider, day: tuple[int, int], **more: Any
) -> bodies.ProviderBody:
    """Return the body of a provider; `day` is what is held of it and was spent."""
    held, spent = day
    more |= provider.document
    return bodies.ProviderBody.of(provider, held=held, spent=spent, **more)


def describe_put(
    db: Transaction, loaded: LoadedModels, provider: StoredProvider, now: datetime
) -> bodies.ProviderBody:
    """Return the body of a provider that was put just now, with its warnings."""
    day = providers.find_day(db, provider.name, day_of(now)) or NO_DAY
    return describe(provider, day, warnings=warn(db, loaded, provider.document))


def delete(db: Transaction, name: str) -> None:
    """Delete a provider; what its calls cost stays."""
    providers.get_locked(db, name)
    providers.delete(db, name)


def day_of(now: datetime) -> str:
    """Return the day of UTC whose ceiling counts a call."""
    return f"{now:%Y-%m-%d}"


def warn(db: Transaction, loaded: LoadedModels, document: dict[str, Any]) -> list[str]:
    """Return the offers and features of a provider that no newest model has."""
    fills, read = document["fills"], document["read"]
    known = set[str]()
    for catalogue in list_catalogues(db, loaded):
        idxs = list_offers(catalogue).get(fills, ())
        known |= {catalogue.features[idx].name for idx in idxs}
    if not known:
        return [f"fills: no model has a bundle or feature {fills!r} yet"]
    return [
        f"read.{name}: no model has {name!r} in {fills!r} yet"
        for name in read
        if name not in known
    ]


def list_catalogues(db: Transaction, loaded: LoadedModels) -> Iterator[Catalogue]:
    """Yield the catalogues of champions, and of the newest model of each name."""
    names = set[str]()
    for head in models.page(db, MOST_MODELS, None).items:
        if head.name not in names or head.is_champion:
            names.add(head.name)
            yield loaded.get(db, head.id).ensemble.catalogue


def get_call(db: Transaction, call_id: str) -> call_bodies.CallBody:
    return call_bodies.CallBody.of(calls.get(db, call_id))


def page_of_calls(
    db: Transaction, limit: int, after: str | None, filters: CallFilter
) -> call_bodies.CallPage:
    listed = calls.page(db, limit, after, **filters._asdict())
    return call_bodies.CallPage.model_validate(listed)
