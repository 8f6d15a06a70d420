"""Compute what a feature costs to obtain now, in exact integer micro-units."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from askless.core.arrays import BoolArray, FloatArray
from askless.core.catalogue.catalogue import NO_GROUP, Catalogue

MICROS_PER_UNIT = 1_000_000
MAX_UNITS = 1_000_000_000
# Sums of prices must not overflow 64 bits.
MAX_TOTAL = 2**62
PLAIN_DECIMAL = re.compile(r"(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,2})?", re.ASCII | re.I)
AMOUNT_RULE = (
    f"must be an amount such as 12.50, from 0 to {MAX_UNITS}, with at most 6 decimals"
)


@dataclass(frozen=True, slots=True)
class Paid:
    """Which features were charged, and which groups have had their fee paid."""

    feature_idxs: frozenset[int] = frozenset()
    group_idxs: frozenset[int] = frozenset()

    def mark_groups(self, catalogue: Catalogue) -> BoolArray:
        """Return which groups have had their fee paid; (n_groups,)."""
        is_paid = np.zeros(len(catalogue.groups), np.bool_)
        is_paid[list(self.group_idxs)] = True
        return is_paid


def to_micros(amount: object) -> int:
    """Convert an amount of money from units to micro-units, exactly.

    The amount is a Decimal, int, float or str. A float is read by its shortest decimal
    form, so 2.1 is 2.1; a string is digits with at most one point and a short exponent.
    Raises ValueError for anything that is not a number (booleans included), is
    negative, is not finite, has more than 6 decimals or exceeds `MAX_UNITS`.
    """
    if isinstance(amount, bool) or not isinstance(amount, Decimal | int | float | str):
        raise ValueError(AMOUNT_RULE)
    if isinstance(amount, str) and not PLAIN_DECIMAL.fullmatch(amount):
        raise ValueError(AMOUNT_RULE)
    decimal = Decimal(str(amount))
    if not decimal.is_finite() or not 0 <= decimal <= MAX_UNITS:
        raise ValueError(AMOUNT_RULE)
    _, digits, exponent = decimal.as_tuple()
    assert isinstance(exponent, int), "finite"
    # Digits beyond the sixth decimal must be 0.
    n_excess = -6 - exponent
    if n_excess > 0 and any(digits[-n_excess:]):
        raise ValueError(AMOUNT_RULE)
    return int(decimal.scaleb(6))


def parse_amount(raw: object) -> int:
    """Return a number as micro-units; raise ValueError for text too."""
    if isinstance(raw, str):
        raise ValueError(f"{AMOUNT_RULE}, and a number, not a text")
    return to_micros(raw)


def from_micros(micros: int) -> float:
    """Return an amount in units; exact as a decimal with 6 places up to 10**9 units."""
    return micros / MICROS_PER_UNIT


def add_paid(catalogue: Catalogue, paid: Paid, feature_idxs: Iterable[int]) -> Paid:
    """Return `paid` with features that are charged now, and their groups' fees."""
    idxs = frozenset(feature_idxs)
    if not catalogue.groups:
        return Paid(paid.feature_idxs | idxs)
    groups = {int(catalogue.group_idxs[idx]) for idx in idxs} - {NO_GROUP}
    return Paid(paid.feature_idxs | idxs, paid.group_idxs | groups)


def price_feature(catalogue: Catalogue, paid: Paid, feature_idx: int) -> int:
    """Return the price of a feature now, in micro-units.

    A feature already charged costs nothing. The first member of a group pays the
    fee and its cost, later ones their cost. The first member of a bundle pays the
    bundle's price, the others nothing.
    """
    if feature_idx in paid.feature_idxs:
        return 0
    feature = catalogue.features[feature_idx]
    group_idx = int(catalogue.group_idxs[feature_idx])
    if group_idx == NO_GROUP or group_idx in paid.group_idxs:
        return feature.cost
    return feature.cost + int(catalogue.fees[group_idx])


def buy(
    catalogue: Catalogue, paid: Paid, feature_idxs: Iterable[int]
) -> tuple[int, Paid]:
    """Return the price of features bought in this order, and what is paid then."""
    total, bought, paid_groups = 0, set(paid.feature_idxs), set(paid.group_idxs)
    if not catalogue.groups:
        new = set(feature_idxs) - bought
        total = sum([catalogue.features[feature_idx].cost for feature_idx in new])
        return total, Paid(frozenset(bought | new), paid.group_idxs)
    for feature_idx in feature_idxs:
        is_new = feature_idx not in bought
        if is_new:
            total += catalogue.features[feature_idx].cost
            bought.add(feature_idx)
        group_idx = int(catalogue.group_idxs[feature_idx])
        if group_idx != NO_GROUP and group_idx not in paid_groups:
            total += int(catalogue.fees[group_idx]) if is_new else 0
            paid_groups.add(group_idx)
    return total, Paid(frozenset(bought), frozenset(paid_groups))


def bound_purchases(
    catalogue: Catalogue, paid: Paid, feature_idxs: Sequence[int], limit: int
) -> tuple[int, int]:
    """Return bounds of how many purchases a limit pays, and of what they come to.

    A bundle is one purchase; no feature is listed twice. Their number is bounded
    without fees, and what they come to by the dearest of so many with their fees; in
    micro-units.
    """
    idxs, is_group_paid = np.array(feature_idxs, np.int64), paid.mark_groups(catalogue)
    if catalogue.groups:
        # One feature stands for all of a bundle that is not paid.
        is_due = ~np.append(is_group_paid, True)[catalogue.group_idxs[idxs]]
        is_whole = catalogue.is_bundled[idxs] & is_due
        keys = np.where(is_whole, catalogue.offer_idxs[idxs], -1 - idxs)
        idxs = idxs[np.unique(keys, return_index=True)[1]]
    prices = np.array(catalogue.price_each(is_group_paid))
    prices[list(paid.feature_idxs)] = 0
    prices = prices[idxs]
    without_fees = np.minimum(prices, catalogue.costs[idxs])
    costs = np.where(catalogue.is_bundled[idxs], prices, without_fees)
    n_bought = int((np.cumsum(np.sort(costs)) <= limit).sum())
    # Python adds them: with a fee for each, the sum may exceed 64 bits.
    dearest = sum(np.sort(prices)[prices.size - n_bought :].tolist())
    total, _ = buy(catalogue, paid, feature_idxs)
    return n_bought, min(total, limit, dearest)


def hypothesis_costs(
    catalogue: Catalogue,
    is_group_paid: BoolArray,
    cost_floor: int | None = None,
    already: Sequence[int] = (),
) -> FloatArray:
    """Return the cost c(h) that the rules of training use, for h on each feature.

    The catalogue costs of its features, paid or not (Huang et al. 2015, section 4),
    each once, plus the fees of groups not yet paid; for members of a bundle the
    bundle's price, paid or not. A sum of zero counts as `cost_floor`, or without one
    as the catalogue's smallest positive cost (Huang et al. leave zero costs open:
    they would win every round).

    `is_group_paid` (n_groups,); `cost_floor` in micro-units, positive; `already` are
    features that the hypothesis also reads (trees and products). The costs returned,
    (n_features,), are in micro-units, all zero where every cost of the catalogue is.
    """
    costs = catalogue.costs.astype(np.float64)
    read = list(already)
    base = float(costs[read].sum())
    costs[read] = 0.0
    if catalogue.groups:
        is_due = catalogue.is_bundle | ~is_group_paid
        dues = np.append(np.where(is_due, catalogue.fees, 0), 0)
        groups = np.unique(catalogue.group_idxs[read])
        base += float(dues[groups].sum())
        dues[groups] = 0
        costs += dues[catalogue.group_idxs]
    costs += base
    floor = cost_floor or smallest_cost(catalogue)
    return np.where(costs > 0, costs, float(floor))


def smallest_cost(catalogue: Catalogue) -> int:
    """Return the smallest positive cost, fee or bundle price; 0 where all are zero."""
    amounts = np.concatenate((catalogue.costs, catalogue.fees))
    positive = amounts[amounts > 0]
    return int(positive.min()) if positive.size else 0


def total_cost(catalogue: Catalogue) -> int:
    """Return the price of all features with all fees and bundles, in micro-units."""
    return int(catalogue.costs.sum()) + int(catalogue.fees.sum())
