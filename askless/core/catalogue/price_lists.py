"""Apply a price list: other prices for the features and groups of a catalogue."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from askless.core.arrays import BoolArray
from askless.core.catalogue.catalogue import Billing, Catalogue, Group
from askless.core.catalogue.costs import BUNDLE_BILLING_RULE, BUNDLE_RULE
from askless.core.catalogue.prices import MAX_TOTAL, MICROS_PER_UNIT
from askless.core.errors import Refusal, RefusedError, find_nearest, list_some

GROUP_RULE = "must name a group of the model"
# More features than so many are counted, and not listed.
MOST_LISTED = 30


@dataclass(frozen=True)
class PriceList:
    """Prices that replace those of a catalogue, in micro-units.

    `costs` by feature; `groups` are those with another fee, or another price as a
    bundle. `billings` by feature and `group_billings` by group replace the billing of
    what they name. That of a group holds for its members that are not named themselves.
    Features of `alone` leave their group: their cost is all that they are charged.
    """

    costs: Mapping[str, int]
    groups: tuple[Group, ...] = ()
    billings: Mapping[str, Billing] = field(default_factory=dict)
    group_billings: Mapping[str, Billing] = field(default_factory=dict)
    alone: Collection[str] = ()


def unknown_feature_rule(catalogue: Catalogue, name: str) -> str:
    """Return the rule that a wrong name of a feature breaks.

    It has the feature whose name or label is spelt most alike, and all features.
    """
    names = {
        feature.label or feature.name: feature.name for feature in catalogue.features
    }
    names |= {known: known for known in catalogue.feature_idxs}
    nearest = find_nearest(name, names)
    hint = "" if nearest is None else f"; the nearest is {names[nearest]!r}"
    listed = list_some([*catalogue.feature_idxs], MOST_LISTED)
    return f"must name a feature of the model{hint}; it has {listed}"


def apply_prices(
    catalogue: Catalogue, is_used: BoolArray, prices: PriceList, where: str
) -> Catalogue:
    """Return a catalogue at the prices of a list; the unit of its costs stays.

    Groups, and features that no hypothesis reads, keep their price where the list
    leaves them out, and their billing too.

    Parameters
    ----------
    is_used : bool array, shape (n_features,)
        The features that the list must name, members of bundles aside.
    where : str
        Begins the fields of refusals.

    Raises
    ------
    RefusedError
        A feature that is read has no cost; the catalogue lacks a name; a name occurs
        twice; a member of a bundle has a cost or a billing; a bundle has a fee, or
        another group a price; the sum of all amounts exceeds `MAX_TOTAL`.
    """
    refusals = [
        *check_costs(catalogue, is_used, prices, where),
        *check_groups(catalogue, prices, where),
        *check_billings(catalogue, prices, where),
    ]
    if refusals:
        raise RefusedError(refusals)
    groups = {group.name: group for group in prices.groups}
    repriced = replace(
        catalogue,
        features=tuple(
            replace(
                feature,
                cost=prices.costs.get(feature.name, feature.cost),
                billing=prices.billings.get(
                    feature.name,
                    prices.group_billings.get(feature.group or "", feature.billing),
                ),
                group=None if feature.name in prices.alone else feature.group,
            )
            for feature in catalogue.features
        ),
        groups=tuple(
            replace(
                group,
                fee=named.fee,
                price=named.price,
                billing=prices.group_billings.get(group.name, group.billing),
            )
            for group in catalogue.groups
            for named in [groups.get(group.name, group)]
        ),
    )
    # Summed as Python integers, which do not overflow.
    if sum([*repriced.costs.tolist(), *repriced.fees.tolist()]) > MAX_TOTAL:
        rule = f"must add up to at most {MAX_TOTAL // MICROS_PER_UNIT} units"
        raise RefusedError([Refusal(where, rule)])
    return repriced


def check_costs(
    catalogue: Catalogue, is_used: BoolArray, prices: PriceList, where: str
) -> Iterator[Refusal]:
    """Refuse unknown features, and features that are read and have no cost."""
    for name, cost in prices.costs.items():
        idx = catalogue.feature_idxs.get(name)
        if idx is None:
            rule = unknown_feature_rule(catalogue, name)
            yield Refusal(f"{where}.costs.{name}", rule)
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
    """Refuse unknown and repeated groups, a bundle's fee and another group's price."""
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


def check_billings(
    catalogue: Catalogue, prices: PriceList, where: str
) -> Iterator[Refusal]:
    """Refuse a billing of an unknown feature, or of a member of a bundle."""
    for name in prices.billings:
        idx = catalogue.feature_idxs.get(name)
        if idx is None:
            rule = unknown_feature_rule(catalogue, name)
            yield Refusal(f"{where}.billing.{name}", rule)
        elif catalogue.is_bundled[idx]:
            yield Refusal(f"{where}.billing.{name}", BUNDLE_BILLING_RULE)
