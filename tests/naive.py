"""Codes and prices again, in plain Python and as literally as the papers put it.

Slow, and free of anything ours. A table is a list of rows, a missing cell is None,
money is a whole number.
"""

from itertools import pairwise
from typing import NamedTuple

MAX_EDGE = 1 - 1e-9
MIN_EDGE = 1e-12


class Shop(NamedTuple):
    """What features cost: `group_of` gives a group or None, `is_bundle` per group.

    Features `per_call` cost their price though they are missing.
    """

    costs: list
    group_of: list
    fees: list
    is_bundle: list
    per_call: frozenset = frozenset()


def column(rows, feature_idx):
    return [row[feature_idx] for row in rows]


def codes(values, is_category):
    """Position of each value among the distinct ones, and the cuts between them."""
    distinct = sorted({value for value in values if value is not None})
    cuts = distinct if is_category else thresholds(values)
    return [None if v is None else distinct.index(v) for v in values], cuts


def thresholds(values):
    """Midpoints between neighbouring distinct values."""
    distinct = sorted({value for value in values if value is not None})
    return [low / 2 + high / 2 for low, high in pairwise(distinct)]


def price(shop, paid, feature_idx):
    """What a feature charges once those in `paid` were charged."""
    if feature_idx in paid:
        return 0
    group = shop.group_of[feature_idx]
    if group is None:
        return shop.costs[feature_idx]
    is_group_paid = any(shop.group_of[other] == group for other in paid)
    if shop.is_bundle[group]:
        return 0 if is_group_paid else shop.fees[group]
    return shop.costs[feature_idx] + (0 if is_group_paid else shop.fees[group])


def obtain(shop, row, feature_idx, known, gone, charged, budget, spent):
    """Buy a feature (its whole bundle) of a row; None where the budget can't.

    The price is checked before anyone sees that the cell is missing; missing cells
    charge nothing unless by call. Returns what is spent and which features were asked.
    """
    cost = price(shop, charged, feature_idx)
    if budget is not None and spent + cost > budget:
        return None
    group = shop.group_of[feature_idx]
    asked = [feature_idx]
    if group is not None and shop.is_bundle[group]:
        asked = [
            idx
            for idx, other in enumerate(shop.group_of)
            if other == group and idx not in known | gone
        ]
    there = [idx for idx in asked if row[idx] is not None]
    known.update(there)
    gone.update(set(asked) - set(there))
    if feature_idx in shop.per_call:
        there = asked
    if there:
        charged.update(there)
        spent += cost
    return spent, asked
