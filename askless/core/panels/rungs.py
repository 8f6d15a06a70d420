"""Choose the rungs of a ladder: the budgets that get a set of features each."""

from collections.abc import Iterable, Sequence

import numpy as np

from askless.core.catalogue.catalogue import NO_GROUP
from askless.core.catalogue.prices import total_cost
from askless.core.panels.purchases import Shop
from askless.core.panels.search import SetSearch

# Budgets of usual rungs, in usual prices; beyond the last, each is a quarter above the
# one before. Budgets within a twentieth of each other are one. An offer is dear above
# DEAR usual prices.
STEPS = (0.25, 0.5, 1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24)
LAST_STEP, APART, DEAR = 1.25, 1.05, 4


def choose_rungs(search: SetSearch) -> list[int]:
    """Return the budgets of rungs: named ones, prices of offers, and usual multiples.

    Named budgets always stay, but for those that pay nothing; what lies within a
    twentieth of one gives way to it. There are no more rungs than without them, unless
    they would leave less than a third of the rungs to others.
    """
    shop, most = search.shop, total_cost(search.shop.catalogue)
    least = min(shop.price(offer) for offer in shop.offers)
    named = sorted({min(budget, most) for budget in search.named if budget >= least})
    # Few offers make few sets to choose among.
    n_most = min(search.effort.max_rungs, len(shop.offers) + 2)
    n_left = max(n_most - len(named), -(-n_most // 3))
    return sorted(named + choose_usual_rungs(search, n_left, named)) or [most]


def choose_usual_rungs(
    search: SetSearch, n_most: int, named: Sequence[int] = ()
) -> list[int]:
    """Return at most `n_most` budgets, ascending, apart from each other and `named`.

    They are prices of offers, multiples of the usual price, and what dear offers need.
    At least a third of them lie beyond the last step, if so many budgets do. Dear
    offers and the price of everything come before mere multiples. Prices of offers
    take up to half of what is left before the last step. Where there are more budgets
    than rungs, evenly spaced ones are kept.
    """
    shop, usual = search.shop, search.usual_price
    most, prices = total_cost(shop.catalogue), list_prices(shop)
    steps = [step * usual for step in STEPS]
    while steps[-1] < most:
        steps.append(steps[-1] * LAST_STEP)
    dears = {price for price in prices if price > DEAR * usual}
    # With a dear offer comes a budget that pays something beside it.
    fuller = {dear + DEAR * usual for dear in dears}
    end = STEPS[-1] * usual
    within = [budget for budget in (*steps, *dears, *fuller) if budget <= end]
    within = [min(budget, most) for budget in within if budget >= min(prices)]
    necessary = [min(budget, most) for budget in (*fuller, most) if budget > end]
    needed = space_out(necessary, named)
    beyond = [step for step in steps if end < step < most]
    others = space_out(beyond, (*named, *needed, most))
    near = space_out((*within, *(price for price in prices if price <= end)), named)
    n_beyond = len(needed) + len(others)
    n_beyond = min(n_beyond, max(n_most - len(near), n_most // 3))
    # Necessary budgets (dear offers, the price of everything) go before multiples.
    needed = pick_evenly(needed, n_beyond)
    others = pick_evenly(others, n_beyond - len(needed))
    n_near = n_most - n_beyond
    if len(near) > n_near:
        offers = space_out((price for price in prices if price <= end), named)
        offers = pick_evenly(offers, n_near // 2)
        near = space_out(within, (*named, *offers))
        near = offers + pick_evenly(near, n_near - len(offers))
    return sorted(near + needed + others)


def list_prices(shop: Shop) -> list[int]:
    """Return what offers cost, ascending; of a group with a fee its cheapest member.

    The price of a member has the fee in it.
    """
    by_group: dict[tuple[str, int], int] = {}
    for number, offer in enumerate(shop.offers):
        group, price = int(shop.catalogue.group_idxs[offer[0]]), shop.price(offer)
        has_fee = group != NO_GROUP and shop.catalogue.fees[group] > 0
        key = ("group", group) if has_fee else ("offer", number)
        by_group[key] = min(price, by_group.get(key, price))
    return sorted(set(by_group.values()))


def pick_evenly(budgets: Sequence[int], most: int) -> list[int]:
    """Return at most `most` of some budgets, evenly spaced, the last among them."""
    n_kept = min(len(budgets), most)
    # Counted from the end, so that the last is kept even if only one is.
    places = np.linspace(len(budgets) - 1, 0, n_kept).round().astype(int)
    return [budgets[place] for place in places[::-1]]


def space_out(budgets: Iterable[float], others: Sequence[int] = ()) -> list[int]:
    """Return budgets ascending, each more than `APART` times the one kept before.

    Budgets within that factor of one of the `others` are left out.
    """
    kept: list[int] = []
    for budget in sorted(map(int, budgets)):
        is_apart = not kept or budget > APART * kept[-1]
        if is_apart and all(are_apart(budget, other) for other in others):
            kept.append(budget)
    return kept


def are_apart(budget: int, other: int) -> bool:
    """Return whether neither budget is within the factor `APART` of the other."""
    return max(budget, other) > APART * min(budget, other)
