"""Budgets for which sets of features are chosen."""

from collections.abc import Iterable, Sequence

import numpy as np

from askless.core.catalogue.prices import total_cost
from askless.core.panels.search import SetSearch

# Budgets of the rungs, in usual prices; beyond the last, each is a quarter above the
# one before. Budgets less than a tenth apart are merged. An offer is dear above DEAR
# usual prices.
STEPS = (0.25, 0.5, 1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24)
LAST_STEP, APART, DEAR = 1.25, 1.1, 4


def choose_rungs(search: SetSearch) -> list[int]:
    """Return the budgets of rungs: multiples of the usual price, and dear offers.

    At least a third of the rungs lie beyond the last step, if so many budgets do; dear
    offers and the price of everything come before mere multiples. Where there are more
    budgets than rungs, evenly spaced ones are kept.
    """
    shop, usual = search.shop, search.usual_price
    most = total_cost(shop.catalogue)
    prices = [shop.price(offer) for offer in shop.offers]
    steps = [step * usual for step in STEPS]
    while steps[-1] < most:
        steps.append(steps[-1] * LAST_STEP)
    dears = {price for price in prices if price > DEAR * usual}
    fuller = {dear + DEAR * usual for dear in dears}
    end = STEPS[-1] * usual
    # With a dear offer comes a budget that pays something beside it.
    within = [one for one in (*steps, *dears, *fuller) if one <= end]
    near = space_out(min(one, most) for one in within if one >= min(prices))
    needed = space_out(min(one, most) for one in (*fuller, most) if one > end)
    others = [
        int(one)
        for one in steps
        if end < one < most / APART
        and all(max(one, other) > APART * min(one, other) for other in needed)
    ]
    # Few offers make few sets to choose among.
    n_most = min(search.effort.max_rungs, len(shop.offers) + 2)
    n_beyond = len(needed) + len(others)
    n_beyond = min(n_beyond, max(n_most - len(near), n_most // 3))
    # Necessary budgets (dear offers, the price of everything) go before multiples.
    needed = pick_evenly(needed, n_beyond)
    others = pick_evenly(others, n_beyond - len(needed))
    return pick_evenly(near, n_most - n_beyond) + sorted(needed + others) or [most]


def pick_evenly(budgets: Sequence[int], most: int) -> list[int]:
    """Return at most `most` of some budgets, evenly spaced, the last among them."""
    n_kept = min(len(budgets), most)
    # Counted from the end, so that the last is kept even if only one is.
    places = np.linspace(len(budgets) - 1, 0, n_kept).round().astype(int)
    return [budgets[place] for place in places[::-1]]


def space_out(budgets: Iterable[float]) -> list[int]:
    """Return budgets ascending, each more than `APART` times the one kept before."""
    kept: list[int] = []
    for one in sorted(map(int, budgets)):
        if not kept or one > APART * kept[-1]:
            kept.append(one)
    return kept
