"""Find the providers of what a model may ask for, and their prices.

An offer is what one call buys: a bundle, or a feature. Several providers of an offer
are alternatives: the cheapest comes first, and the next one only where those before
came back empty, failed or cool down.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

import numpy as np

from askless.app.documents.buying.providers import Provider
from askless.app.documents.shape import read_shape
from askless.app.records import StoredProvider
from askless.app.store.buying import providers
from askless.app.store.database.transactions import Transaction
from askless.core.arrays import BoolArray
from askless.core.catalogue.catalogue import NO_GROUP, Catalogue
from askless.core.catalogue.prices import Paid, price_feature
from askless.core.errors import Refusal

offer_name, billing_of = Catalogue.offer_name, Catalogue.billing_of
UNPAID = Paid()


@dataclass(frozen=True, slots=True)
class Filler:
    """A provider with its document."""

    stored: StoredProvider
    provider: Provider

    @property
    def name(self) -> str:
        return self.stored.name

    def is_cooling(self, now: datetime) -> bool:
        until = self.stored.cools_until
        return until is not None and until > now


# By id and time of change: a document is read once.
@lru_cache(maxsize=1_000)
def parse(key: str, changed: datetime, document: str) -> Provider:
    del key, changed
    return read_shape(Provider, json.loads(document), "provider")


def open_filler(stored: StoredProvider) -> Filler:
    text = json.dumps(stored.document)
    return Filler(stored, parse(stored.id, stored.updated_at, text))


def list_fillers(
    listed: Iterable[Filler], catalogue: Catalogue, paid: Paid = UNPAID
) -> dict[str, list[Filler]]:
    """Return the providers of each offer of a catalogue, cheapest first."""
    fillers: dict[str, list[Filler]] = {}
    offers = list_offers(catalogue)
    for filler in listed:
        if filler.provider.fills in offers:
            fillers.setdefault(filler.provider.fills, []).append(filler)
    for name, alternatives in fillers.items():
        own = price_feature(catalogue, paid, offers[name][0])
        alternatives.sort(key=lambda filler: (price_filler(filler, own), filler.name))
    return fillers


def price_filler(filler: Filler, own: int) -> int:
    """Return the price of a provider; `own` is the catalogue's, with a fee due."""
    price = filler.provider.price
    return own if price is None else price


def open_fillers(db: Transaction) -> dict[str, Filler]:
    """Return the providers of a tenant by name."""
    return {stored.name: open_filler(stored) for stored in providers.list_all(db)}


def list_offers(catalogue: Catalogue) -> dict[str, tuple[int, ...]]:
    """Return the features of each offer, by the offer's name."""
    return {offer_name(catalogue, offer[0]): offer for offer in catalogue.offers}


def price_offer(catalogue: Catalogue, feature_idxs: Sequence[int]) -> int:
    """Return the catalogue's price of an offer, without the fee of an open group."""
    first = feature_idxs[0]
    if catalogue.is_bundled[first]:
        return int(catalogue.fees[int(catalogue.group_idxs[first])])
    return catalogue.features[first].cost


def charge_as(
    catalogue: Catalogue,
    own: Catalogue,
    fillers: Iterable[Filler],
    fee_payers: Mapping[int, int],
) -> Catalogue:
    """Return a catalogue at the prices and billing of one provider for each offer.

    `own` is the model's: the catalogue may have those of another provider already.
    `fee_payers` has the feature whose charge paid the fee of a group.
    """
    offers, features = list_offers(catalogue), list(catalogue.features)
    groups = [
        group if group.is_bundle else own_group
        for group, own_group in zip(catalogue.groups, own.groups, strict=True)
    ]
    for filler in fillers:
        first = offers[filler.provider.fills][0]
        price = price_filler(filler, price_offer(own, [first]))
        billing = filler.provider.billing or billing_of(own, first)
        group_idx = int(catalogue.group_idxs[first])
        if group_idx != NO_GROUP and catalogue.is_bundled[first]:
            group = groups[group_idx]
            groups[group_idx] = replace(group, price=price, billing=billing)
        else:
            # A provider with a price of its own charges no fee of the group.
            is_alone = filler.provider.price is not None
            features[first] = replace(
                features[first],
                cost=price,
                billing=billing,
                group=None if is_alone else own.features[first].group,
            )
    for group_idx, payer in fee_payers.items():
        # Outside the group its charge doesn't show that the fee is paid.
        if features[payer].group is None:
            groups[group_idx] = replace(groups[group_idx], fee=0)
    return replace(catalogue, features=tuple(features), groups=tuple(groups))


def check_filled(
    catalogue: Catalogue,
    is_used: BoolArray,
    known: Iterable[str],
    fillers: dict[str, list[Filler]],
) -> list[Refusal]:
    """Refuse features that cost something and that nobody can answer, by name."""
    given = set(known)
    refusals = []
    for idx in np.flatnonzero(is_used).tolist():
        name, offer = catalogue.features[idx].name, offer_name(catalogue, idx)
        costs = price_offer(catalogue, [idx]) > 0
        if name in given or not costs:
            continue
        if offer not in fillers:
            rule = "is required: no provider fills it"
            refusals.append(Refusal(f"known.{name}", rule))
        elif not any(name in filler.provider.read for filler in fillers[offer]):
            rule = f"is required: no provider of {offer} reads it"
            refusals.append(Refusal(f"known.{name}", rule))
    return refusals


def list_used(is_used: BoolArray, catalogue: Catalogue) -> set[str]:
    """Return the offers that have a feature that the model reads."""
    idxs = np.flatnonzero(is_used).tolist()
    return {offer_name(catalogue, idx) for idx in idxs}
