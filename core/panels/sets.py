"""Makes candidate sets of features for each budget, and chooses among them."""

from collections.abc import Generator, Iterable, Sequence
from functools import partial
from itertools import product
from operator import call

import numpy as np

from core import kernels
from core.arrays import FloatArray
from core.model.blends import to_chances
from core.panels.search import SetSearch
from core.panels.spread import spread
from core.panels.trees import fit_trees, make_growth
from core.table.prices import Paid, pay

# Gains are divided by the price to this power.
FEWER_POWER = 0.6

# Share of a set's price left after each drop, and the trees grown to decide on it.
LEFT_SHARE, N_BAGS = 0.88, 2

# Features bought last whose splits show interactions, and the cost of a split.
N_LAST, SPLIT_COST = 12, 4.0
GAIN_L2 = 3.0


def forward(
    search: SetSearch,
    power: float,
    budget: int,
    among: Iterable[int] | None = None,
    begin: Sequence[int] = (),
) -> tuple[int, ...]:
    """Buy the offer of most gain per price, again and again; return the order.

    The gain of a feature is that of a stump on the residuals of trees on the set so
    far. The stump is fitted to all rows, or within halves: by the predicted chance, or
    by one of the features bought last, where interactions show.
    """
    shop = search.shop
    allowed = set(shop.offer_of if among is None else among)
    bought: dict[int, None] = dict.fromkeys(begin)
    paid, left = pay(shop.catalogue, Paid(), bought), budget - shop.price(bought)
    costs = np.maximum(shop.catalogue.costs.astype(float), search.least_price)
    while True:
        gains = find_gains(search, tuple(bought))
        offers = [
            (shop.price(offer, paid), offer)
            for offer in shop.starters(paid, gains, costs)
            if allowed.issuperset(offer)
        ]
        offers = [(amount, offer) for amount, offer in offers if amount <= left]
        if not offers:
            return tuple(bought)
        worth = [
            gains[list(offer)].sum() / search.weigh_price(amount) ** power
            for amount, offer in offers
        ]
        several = max(1, int(0.08 * len(bought) + 0.5))
        for place in np.argsort(-np.array(worth), kind="stable")[:several]:
            _, offer = offers[place]
            amount = shop.price([idx for idx in offer if idx not in bought], paid)
            if amount <= left:
                left -= amount
                paid = pay(shop.catalogue, paid, offer)
                bought |= dict.fromkeys(offer)


def find_gains(search: SetSearch, bought: Sequence[int]) -> FloatArray:
    """Return the gain of a stump on each feature over trees on those bought."""
    rows, judges = search.rows, search.held_out
    chances = to_chances(search.tree_scores(bought))
    first = 1 if rows.n_outputs == 1 else 0
    told, weights = chances[:, first:], judges.weights[:, None]
    wanted = judges.targets[:, None] == np.arange(first, chances.shape[1])
    gradients = (wanted - told) * weights
    slopes = np.maximum(told * (1.0 - told), 1e-3) * weights
    halves = [np.zeros(judges.row_idxs.size, np.int64)]
    if bought:
        lead = chances.argmax(axis=1) if rows.n_outputs > 1 else told[:, 0]
        halves.append((lead > np.median(lead)).astype(np.int64))
        for idx in bought[-N_LAST:]:
            codes = search.judged.codes[idx]
            halves.append((codes > np.median(codes)).astype(np.int64))
    gains = np.zeros(rows.coarse.n_codes.size)
    pulls = kernels.Pulls(
        np.ascontiguousarray(gradients.T), np.ascontiguousarray(slopes.T)
    )
    kernels.find_stump_gains(
        search.judged, pulls, np.array(halves), GAIN_L2, SPLIT_COST, gains
    )
    return gains


def drop_least(search: SetSearch, least_budget: int) -> tuple[int, ...]:
    """Drop the offers of least gain per price, again and again; return the order.

    It goes from all features down to a set below the least budget. The order begins
    with the features that stay longest.
    """
    rows, shop = search.rows, search.shop
    left, dropped = list(shop.offers), list[tuple[int, ...]]()
    growth = make_growth(rows, 100, 5, 0.1, 0.7, 0.5)
    while len(left) > 1 and shop.price(gather_offers(left)) >= least_budget:
        gains = np.sum(
            [
                fit_trees(
                    rows, gather_offers(left), growth._replace(seed=growth.seed + bag)
                ).gains
                for bag in range(N_BAGS)
            ],
            axis=0,
        )
        worth = [
            gains[list(offer)].sum()
            / search.weigh_price(shop.price(offer)) ** FEWER_POWER
            for offer in left
        ]
        wanted = LEFT_SHARE * shop.price(gather_offers(left))
        left = [left[place] for place in np.argsort(-np.array(worth), kind="stable")]
        dropped.append(left.pop())
        while len(left) > 1 and shop.price(gather_offers(left)) > wanted:
            dropped.append(left.pop())
    return gather_offers([*left, *reversed(dropped)])


def gather_offers(offers: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """Return the features of some offers."""
    return tuple(idx for offer in offers for idx in offer)


def find_pool(
    search: SetSearch, budgets: Sequence[int], orders: Sequence[Sequence[int]]
) -> Generator[None, None, list[list[tuple[int, ...]]]]:
    """Return candidate sets by budget and maker, in the same order of makers for each.

    Makers are the given orders, then `forward` by each power, for the largest budget
    and for each small one, then `drop_least`.
    """
    shop, most = search.shop, max(budgets)
    small = [one for one in budgets if one < most and one <= search.small_budget]
    powers = search.effort.powers
    ways = list(product(powers, (most, *small)))
    makers = [partial(forward, search, power, budget) for power, budget in ways]
    if search.effort.has_drops:
        makers.append(partial(drop_least, search, min(budgets)))
    made = []
    for order in spread(call, makers):
        made.append(order)
        yield
    bought, least = made[: len(ways)], made[len(ways) :]
    for_budget = dict(zip(ways, bought, strict=True))
    for_most = [for_budget[power, most] for power in powers]
    by_budget = []
    for budget in budgets:
        its_own = [
            for_budget.get((power, budget), order)
            for power, order in zip(powers, for_most, strict=True)
        ]
        every = (*orders, *for_most, *its_own, *least)
        by_budget.append([shop.fill(order, budget) for order in every])
    return by_budget


def choose_sets(
    search: SetSearch, budgets: Sequence[int], orders: Sequence[Sequence[int]]
) -> Generator[None, None, list[tuple[int, ...]]]:
    """Choose a set for each budget by the loss on held-out rows.

    The excess loss of each maker over the best is averaged over neighbouring budgets,
    so that no lucky set wins. On small sets swaps are tried. If the set of the budget
    before is better by more than a standard error, it is kept.
    """
    pool = yield from find_pool(search, budgets, orders)
    for _ in spread(search.loss, dict.fromkeys(one for made in pool for one in made)):
        yield
    losses = np.array([[search.loss(one) for one in made] for made in pool])
    excess = losses - losses.min(axis=1, keepdims=True)
    swaps = []
    for place, budget in enumerate(budgets):
        near = range(max(0, place - 1), min(len(budgets), place + 2))
        shares = np.array([1.0 if other == place else 0.5 for other in near])
        maker = int((shares @ excess[near.start : near.stop]).argmin())
        one, order = pool[place][maker], pool[-1][len(orders)]
        swaps.append(partial(swap, search, one, budget, order))
    chosen: list[tuple[int, ...]] = []
    for one in spread(call, swaps):
        yield
        if chosen and search.is_better(chosen[-1], one):
            one = chosen[-1]
        chosen.append(one)
    return chosen


def swap(
    search: SetSearch, begin: tuple[int, ...], budget: int, order: Sequence[int]
) -> tuple[int, ...]:
    """Swap offers of a small set while that lowers the loss; return the set."""
    shop, best = search.shop, begin
    most = search.effort.max_swaps if budget <= search.small_budget else 0
    n_tried, is_better = 0, True
    while is_better and n_tried < most:
        is_better = False
        offers = list(dict.fromkeys(shop.offer_of[idx] for idx in best))
        for dropped in (None, *reversed(offers)):
            kept = [idx for idx in best if shop.offer_of[idx] != dropped]
            others = [idx for idx in order if shop.offer_of[idx] != dropped]
            one = shop.fill((*kept, *others), budget)
            if set(one) == set(best) or n_tried == most:
                continue
            n_tried += 1
            if search.loss(one) < search.loss(best) - 1e-4:
                best, is_better = one, True
                break
    return best
