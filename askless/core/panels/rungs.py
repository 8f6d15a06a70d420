"""Choose the budgets of a ladder, and a set of features for each in order of asking."""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace

import numpy as np

from askless.core.catalogue.catalogue import NO_GROUP
from askless.core.catalogue.prices import total_cost
from askless.core.codes.binning import bin_values
from askless.core.panels.effort import Effort
from askless.core.panels.purchases import Shop
from askless.core.panels.rows import PanelRows
from askless.core.panels.search import SetSearch
from askless.core.panels.sets import choose_sets, propose_sets, select_forward
from askless.core.table.dataset import Dataset
from askless.core.training.boosting import boost, initial_weights
from askless.core.training.params import BoostParams
from askless.core.work import approach_share, convert_steps

# Budgets of usual rungs, in usual prices; beyond the last, each is a quarter above the
# one before. Budgets within a twentieth of each other are one. An offer is dear above
# DEAR usual prices.
STEPS = (0.25, 0.5, 1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24)
LAST_STEP, APART, DEAR = 1.25, 1.05, 4

# Rules whose order of purchases is a candidate.
ORDER_RULES = ("adaboost_bt_smoothed", "adaboost_bt_greedy")


def choose_orders(
    rows: PanelRows, named: Sequence[int], effort: Effort
) -> Generator[float, None, tuple[list[int], list[list[tuple[int, ...]]]]]:
    """Choose a set for each budget; return the budgets, and sets in order of asking.

    Each of the `rows.ladders` has sets of its own. Without any useful feature there are
    no budgets, and one empty set. Yields the share of the whole work that is done, up
    to a half.
    """
    dataset = rows.dataset
    shop = Shop(dataset.catalogue, rows.is_useful)
    search = SetSearch(rows, shop, effort, frozenset(named))
    if not shop.offers:
        return [], [[()]] * len(rows.ladders)
    rungs = choose_rungs(search)
    made = [order_by_rule(dataset, rule, effort.order_rounds) for rule in ORDER_RULES]
    shares = approach_share(0.0, 0.5)
    proposals = yield from convert_steps(
        propose_sets(search, rungs, made), lambda _: next(shares)
    )
    known: dict[frozenset[int], tuple[int, ...]] = {}
    orders = []
    for left_out in rows.ladders:
        chosen = yield from convert_steps(
            choose_sets(replace(search, left_out=left_out), rungs, proposals),
            lambda _: next(shares),
        )
        orders.append(order_features_of_sets(search, chosen, known))
    return rungs, orders


def choose_rungs(search: SetSearch) -> list[int]:
    """Return the budgets of rungs: named ones, usual multiples, and prices of offers.

    Named budgets always stay, but for those that pay nothing; what lies within a
    twentieth of one gives way to it. They take the place of usual rungs, but leave at
    least a third of them. Prices of offers up to the last step come on top, evenly
    spaced, at most a third of the number of rungs that an effort has: their sets are
    small.
    """
    shop, most = search.shop, total_cost(search.shop.catalogue)
    prices = list_offer_prices(shop)
    payable = (budget for budget in search.named if budget >= prices[0])
    named = sorted({min(budget, most) for budget in payable})
    # Few offers make few sets to choose among.
    n_most = min(search.effort.max_rungs, len(shop.offers) + 2)
    n_left = max(n_most - len(named), -(-n_most // 3))
    rungs = named + choose_usual_rungs(search, prices, n_left, named)
    small = [price for price in prices if price <= STEPS[-1] * search.usual_price]
    offers = thin_evenly(drop_close_budgets(small, rungs), n_most // 3)
    return sorted(rungs + offers) or [most]


def choose_usual_rungs(
    search: SetSearch, prices: Sequence[int], n_most: int, named: Sequence[int]
) -> list[int]:
    """Return at most `n_most` budgets, apart from each other and from `named`.

    They are multiples of the usual price, and what dear offers need. At least a third
    of them lie beyond the last step, if so many budgets do. Dear offers and the price
    of everything come before mere multiples. Where there are more budgets than rungs,
    evenly spaced ones are kept.
    """
    usual, most = search.usual_price, total_cost(search.shop.catalogue)
    steps = [step * usual for step in STEPS]
    while steps[-1] < most:
        steps.append(steps[-1] * LAST_STEP)
    dears = {price for price in prices if price > DEAR * usual}
    # With a dear offer comes a budget that pays something beside it.
    fuller = {dear + DEAR * usual for dear in dears}
    end = STEPS[-1] * usual
    within = [budget for budget in (*steps, *dears, *fuller) if budget <= end]
    near = drop_close_budgets(
        (min(budget, most) for budget in within if budget >= prices[0]), named
    )
    necessary = [min(budget, most) for budget in (*fuller, most) if budget > end]
    needed = drop_close_budgets(necessary, named)
    beyond = [step for step in steps if end < step < most]
    others = drop_close_budgets(beyond, (*named, *needed, most))
    n_beyond = len(needed) + len(others)
    n_beyond = min(n_beyond, max(n_most - len(near), n_most // 3))
    # Necessary budgets (dear offers, the price of everything) go before multiples.
    needed = thin_evenly(needed, n_beyond)
    others = thin_evenly(others, n_beyond - len(needed))
    return thin_evenly(near, n_most - n_beyond) + needed + others


def list_offer_prices(shop: Shop) -> list[int]:
    """Return offers' prices, fees included, ascending; one of each group."""
    by_group: dict[tuple[str, int], int] = {}
    for number, offer in enumerate(shop.offers):
        group, price = int(shop.catalogue.group_idxs[offer[0]]), shop.price(offer)
        has_fee = group != NO_GROUP and shop.catalogue.fees[group] > 0
        key = ("group", group) if has_fee else ("offer", number)
        by_group[key] = min(price, by_group.get(key, price))
    return sorted(set(by_group.values()))


def thin_evenly(budgets: Sequence[int], most: int) -> list[int]:
    """Return at most `most` of some budgets, evenly spaced, the last among them."""
    n_kept = min(len(budgets), most)
    # Counted from the end, so that the last is kept even if only one is.
    places = np.linspace(len(budgets) - 1, 0, n_kept).round().astype(int)
    return [budgets[place] for place in places[::-1]]


def drop_close_budgets(
    budgets: Iterable[float], others: Sequence[int] = ()
) -> list[int]:
    """Return budgets ascending, each more than `APART` times the one kept before.

    Budgets within that factor of one of the `others` are left out.
    """
    chosen: list[int] = []
    for budget in sorted(map(int, budgets)):
        is_apart = not chosen or budget > APART * chosen[-1]
        if is_apart and all(
            max(budget, other) > APART * min(budget, other) for other in others
        ):
            chosen.append(budget)
    return chosen


def order_by_rule(dataset: Dataset, rule: str, rounds: int) -> tuple[int, ...]:
    """Return features in the order a rule's rounds read them, then others by cost."""
    params = BoostParams(rule, rounds=rounds)
    shards = [(bin_values(dataset), initial_weights(dataset))]
    order: dict[int, None] = {}
    for added in boost(shards, dataset.catalogue, params):
        order |= dict.fromkeys(added.hypothesis.feature_idxs)
    costs = dataset.catalogue.costs
    return tuple(order | dict.fromkeys(np.argsort(costs, kind="stable").tolist()))


def order_features_of_sets(
    search: SetSearch,
    chosen: Sequence[tuple[int, ...]],
    known: dict[frozenset[int], tuple[int, ...]],
) -> list[tuple[int, ...]]:
    """Return each set in the order of asking, the most gain per price first.

    Each order begins with the features that the set shares with the one before, so
    that sets have beginnings in common. Features that the search does not reach come
    last. A set that comes twice is ordered once, and as it is `known` to be.
    """
    orders: list[tuple[int, ...]] = []
    for members in dict.fromkeys(chosen):
        key, budget = frozenset(members), search.shop.price(members)
        if key not in known:
            before = orders[-1] if orders else ()
            begin = tuple(idx for idx in before if idx in members)
            power = search.effort.powers[0]
            order = select_forward(search, power, budget, members, begin)
            known[key] = (*order, *(idx for idx in members if idx not in order))
        orders.append(known[key])
    return orders
