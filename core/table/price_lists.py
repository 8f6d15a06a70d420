"""Other prices for the features and groups of a catalogue: a price list."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from core.arrays import BoolArray
from core.errors import Refusal, RefusedError
from core.table.catalogue import Catalogue, Group
from core.table.prices import MAX_TOTAL, MICROS_PER_UNIT
from core.table.spec import BUNDLE_RULE

FEATURE_RULE = "must name a feature of the model"
GROUP_RULE = "must name a group of the model"


@dataclass(frozen=True)
class PriceList:
    """What features and groups cost elsewhere, in micro-units.

    `costs` by feature; `groups` are those whose fee, or price as a bundle, is another.
    """

    costs: Mapping[str, int]
    groups: tuple[Group, ...] = ()


def apply_prices(
    catalogue: Catalogue, is_used: BoolArray, prices: PriceList, where: str
) -> Catalogue:
    """Return a catalogue at the prices of a list; the unit of its costs stays.

    A feature that no hypothesis reads, and a group, keep what they cost where the list
    leaves them out.

    Parameters
    ----------
    is_used : bool array, shape (n_features,)
        The features that the list must name, members of bundles aside.
    where : str
        Begins the fields of refusals.

    Raises
    ------
    RefusedError
        A feature that is read has no cost; a name that the catalogue lacks, or that
        stands twice; a cost for a member of a bundle; a fee for a bundle, or a price
        for another group; amounts whose sum exceeds `MAX_TOTAL`.
    """
    refusals = [
        *check_costs(catalogue, is_used, prices, where),
        *check_groups(catalogue, prices, where),
    ]
    if refusals:
        raise RefusedError(refusals)
    groups = {group.name: group for group in prices.groups}
    made = replace(
        catalogue,
        features=tuple(
            replace(one, cost=prices.costs.get(one.name, one.cost))
            for one in catalogue.features
        ),
        groups=tuple(
            replace(one, fee=named.fee, price=named.price)
            for one in catalogue.groups
            for named in [groups.get(one.name, one)]
        ),
    )
    if sum(amounts_of(made)) > MAX_TOTAL:
        rule = f"must add up to at most {MAX_TOTAL // MICROS_PER_UNIT} units"
        raise RefusedError([Refusal(where, rule)])
    return made


def check_costs(
    catalogue: Catalogue, is_used: BoolArray, prices: PriceList, where: str
) -> Iterator[Refusal]:
    """Refuse unknown features, and features that are read and have no cost."""
    for name, cost in prices.costs.items():
        idx = catalogue.feature_idxs.get(name)
        if idx is None:
            yield Refusal(f"{where}.costs.{name}", FEATURE_RULE)
        elif cost > 0 and catalogue.is_bundled[idx]:
            yield Refusal(f"{where}.costs.{name}", BUNDLE_RULE)
    for idx in np.flatnonzero(is_used & ~catalogue.is_bundled).tolist():
        name = catalogue.features[idx].name
        if name not in prices.costs:
            rule = "is required: the model reads this feature"
            yield Refusal(f"{where}.costs.{name}", rule)


def check_groups(
    catalogue: Catalogue, prices: PriceList, where: str
) -> Iterator[Refusal]:
    """Refuse unknown groups, and a fee where there is a price, or the other way."""
    own = {group.name: group for group in catalogue.groups}
    seen = set[str]()
    for position, group in enumerate(prices.groups):
        place = f"{where}.groups[{position}]"
        if group.name not in own:
            yield Refusal(f"{place}.name", GROUP_RULE)
        elif group.name in seen:
            yield Refusal(f"{place}.name", "must be unique among groups")
        elif group.is_bundle != own[group.name].is_bundle:
            noun = "price" if own[group.name].is_bundle else "fee"
            kind = "a bundle" if own[group.name].is_bundle else "no bundle"
            yield Refusal(place, f"must have a {noun}: the group is {kind}")
        seen.add(group.name)


def is_in_proportion(one: Catalogue, other: Catalogue) -> bool:
    """Whether all amounts of a catalogue are those of another times one number.

    Then every rule makes the same choices at both: what a budget buys at one, the
    budget times that number buys at the other. The number is positive: to have all for
    nothing is another matter.
    """
    ones, others = amounts_of(one), amounts_of(other)
    total, other_total = sum(ones), sum(others)
    if (total > 0) != (other_total > 0):
        return False
    return all(
        amount * other_total == other_amount * total
        for amount, other_amount in zip(ones, others, strict=True)
    )


def amounts_of(catalogue: Catalogue) -> list[int]:
    """Return all costs, fees and prices of bundles; exact, however large."""
    return [*catalogue.costs.tolist(), *catalogue.fees.tolist()]
