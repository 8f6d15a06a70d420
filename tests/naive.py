"""The numeric core again, in plain Python and as literally as the papers put it.

Slow, and free of anything ours. A table is a list of rows, a missing cell is None,
a stump is (feature_idx, cut, vote, is_category), money is a whole number.
"""

from bisect import bisect_right
from itertools import accumulate, pairwise
from typing import NamedTuple

MAX_EDGE = 1 - 1e-9
MIN_EDGE = 1e-12


class Shop(NamedTuple):
    """What features cost: `group_of` gives a group or None, `is_bundle` per group."""

    costs: list
    group_of: list
    fees: list
    is_bundle: list


class End(NamedTuple):
    """How a session ends; `alpha` is that of the stumps that voted."""

    vote: float
    alpha: float
    spent: int
    asked: list
    n_draws: int = 0
    is_full: bool = True


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


def cast(value, cut, vote, is_category):
    """Vote of a stump on a value: 0 where it is missing or a category never seen."""
    if value is None or (is_category and value < 0):
        return 0
    is_above = value == cut if is_category else value > cut
    return vote if is_above else -vote


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


def rule_cost(shop, paid, feature_idx, cost_floor=None):
    """c(h) of a stump; a zero counts as the smallest positive amount."""
    group = shop.group_of[feature_idx]
    cost = shop.costs[feature_idx]
    if group is not None and shop.is_bundle[group]:
        cost = shop.fees[group]
    elif group is not None and all(shop.group_of[i] != group for i in paid):
        cost += shop.fees[group]
    positive = [amount for amount in [*shop.costs, *shop.fees] if amount > 0]
    return cost or cost_floor or min(positive, default=0)


def obtain(shop, row, feature_idx, known, gone, charged, budget, spent):
    """Buy a feature (its whole bundle) of a row; None where the budget can't.

    The price is checked before anyone sees that the cell is missing; missing cells
    charge nothing. Returns what is spent and which features were asked.
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
    if there:
        charged.update(there)
        spent += cost
    return spent, asked


def walk_ordered(stumps, alphas, shop, row, budget):
    """One session: hypotheses in order until one can't be paid."""
    known, gone, charged, spent, asked = set(), set(), set(), 0, []
    vote, alpha_known = 0.0, 0.0
    for (idx, cut, sign, is_category), alpha in zip(stumps, alphas, strict=True):
        if idx not in known | gone:
            bought = obtain(shop, row, idx, known, gone, charged, budget, spent)
            if bought is None:
                break
            spent, new = bought
            asked += new
        if idx in known:
            ballot = cast(row[idx], cut, sign, is_category)
            vote += alpha * ballot
            alpha_known += alpha * abs(ballot)
    return End(vote, alpha_known, spent, asked)


def walk_sampled(stumps, alphas, shop, row, budget, uniforms):
    """One session: draws until one can't be paid or every feature used is answered.

    `is_full` tells the latter; None where the uniforms don't reach the end.
    """
    known, gone, charged, spent, asked = set(), set(), set(), 0, []
    votes, n_draws = 0, 0
    sums = list(accumulate(alphas))
    used = {stump[0] for stump in stumps}
    for uniform in uniforms:
        if used <= known | gone:
            break
        drawn = min(bisect_right(sums, uniform * sums[-1]), len(stumps) - 1)
        idx, cut, sign, is_category = stumps[drawn]
        if idx not in known | gone:
            bought = obtain(shop, row, idx, known, gone, charged, budget, spent)
            if bought is None:
                voted = alpha_of(stumps, alphas, row, known)
                return End(votes, voted, spent, asked, n_draws, False)
            spent, new = bought
            asked += new
        if idx in known:
            ballot = cast(row[idx], cut, sign, is_category)
            votes += ballot
            n_draws += abs(ballot)
    if not used <= known | gone:
        return None
    full = sum(
        alpha * cast(row[idx], cut, sign, is_category)
        for (idx, cut, sign, is_category), alpha in zip(stumps, alphas, strict=True)
        if idx in known
    )
    voted = alpha_of(stumps, alphas, row, known)
    return End(full, voted, spent, asked, n_draws, True)


def alpha_of(stumps, alphas, row, known):
    """Alpha that has voted: not that of a category never seen."""
    return sum(
        alpha * abs(cast(row[idx], cut, sign, is_category))
        for (idx, cut, sign, is_category), alpha in zip(stumps, alphas, strict=True)
        if idx in known
    )
