"""Make candidate sets of features for each budget, and choose among them."""

from collections.abc import Generator, Iterable, Sequence
from functools import partial
from itertools import product
from operator import call
from typing import NamedTuple

import numpy as np

from askless.core import kernels
from askless.core.arrays import FloatArray
from askless.core.catalogue.prices import Paid, add_paid
from askless.core.model.ladder.blends import to_chances
from askless.core.panels.predictors.trees import fit_trees, make_growth_settings
from askless.core.panels.search import SetSearch
from askless.core.spread import map_in_threads

# Gains are divided by the price to this power.
FEWER_POWER = 0.6

# Share of a set's price left after each drop, and the trees grown to decide on it.
LEFT_SHARE, N_BAGS = 0.88, 2

# Features bought last whose splits show interactions, and the cost of a split.
N_LAST, SPLIT_COST = 12, 4.0
GAIN_L2 = 3.0

# A set must lose less by this much to be exchanged.
LEAST_GAIN = 1e-4

# Most offers of which pairs are looked at, and most pairs that are tried.
MOST_OFFERS, MOST_PAIRS = 100, 6


def select_forward(
    search: SetSearch,
    power: float,
    budget: int,
    among: Iterable[int] | None = None,
    begin: Sequence[int] = (),
) -> tuple[int, ...]:
    """Select features forward: buy the offer of most gain per price until none fits.

    Returns the features in the order of buying. The gain of a feature is that of a
    stump on the residuals of trees on the set so far. The stump is fitted to all rows,
    or within halves: by the predicted chance, or by one of the features bought last,
    where interactions show. The gain is divided by the price to the `power`; features
    in `begin` are bought beforehand, and only those in `among` may be added. What was
    selected is remembered.
    """
    key = (power, budget, None if among is None else frozenset(among), tuple(begin))
    if key not in search.selected:
        search.selected[key] = extend_forward(search, power, budget, among, begin)
    return search.selected[key]


def extend_forward(
    search: SetSearch,
    power: float,
    budget: int,
    among: Iterable[int] | None,
    begin: Sequence[int],
) -> tuple[int, ...]:
    """Buy offers until none fits; see `select_forward`."""
    shop = search.shop
    allowed = set(shop.offer_of if among is None else among)
    bought: dict[int, None] = dict.fromkeys(begin)
    paid, left = (add_paid(shop.catalogue, Paid(), bought), budget - shop.price(bought))
    costs = np.maximum(shop.catalogue.costs.astype(float), search.least_price)
    while True:
        gains = compute_stump_gains(search, tuple(bought))
        offers = [
            (shop.price(offer, paid), offer)
            for offer in shop.list_starters(paid, gains, costs)
            if allowed.issuperset(offer)
        ]
        offers = [(amount, offer) for amount, offer in offers if amount <= left]
        if not offers:
            return tuple(bought)
        worth = [
            gains[list(offer)].sum() / search.weigh_price(amount) ** power
            for amount, offer in offers
        ]
        # In large sets several at once, a twelfth of the set: each look takes time.
        n_offers = max(1, int(0.08 * len(bought) + 0.5))
        for place in np.argsort(-np.array(worth), kind="stable")[:n_offers]:
            _, offer = offers[place]
            # An offer bought just now may have paid the fee, or some of the features.
            amount = shop.price([idx for idx in offer if idx not in bought], paid)
            if amount <= left:
                left -= amount
                paid = add_paid(shop.catalogue, paid, offer)
                bought |= dict.fromkeys(offer)


def compute_stump_gains(search: SetSearch, bought: Sequence[int]) -> FloatArray:
    """Return the gain of a stump on each feature over trees on the features bought.

    Shape (n_features,); see `select_forward`.
    """
    rows, judges = search.rows, search.held_out
    chances = to_chances(search.tree_scores(bought))
    first = 1 if rows.n_outputs == 1 else 0
    predicted, weights = chances[:, first:], judges.weights[:, None]
    truth = judges.targets[:, None] == np.arange(first, chances.shape[1])
    gradients = (truth - predicted) * weights
    slopes = np.maximum(predicted * (1.0 - predicted), 1e-3) * weights
    halves = [np.zeros(judges.row_idxs.size, np.int64)]
    if bought:
        labels = chances.argmax(axis=1) if rows.n_outputs > 1 else predicted[:, 0]
        halves.append((labels > np.median(labels)).astype(np.int64))
        for idx in bought[-N_LAST:]:
            codes = search.judged.codes[idx]
            # If most rows have the greatest code, these rows form one half.
            middle = min(np.median(codes), codes.max() - 1.0)
            halves.append((codes > middle).astype(np.int64))
    gains = np.zeros(rows.coarse.n_codes.size)
    derivatives = kernels.Derivatives(
        np.ascontiguousarray(gradients.T), np.ascontiguousarray(slopes.T)
    )
    kernels.write_stump_gains(
        search.judged, derivatives, np.array(halves), GAIN_L2, SPLIT_COST, gains
    )
    return gains


def eliminate_backward(search: SetSearch, least_budget: int) -> tuple[int, ...]:
    """Eliminate features backward: drop the offers of least gain per price, in turns.

    It goes from all features down to a set below the least budget. Returns all
    features, those that stay longest first.
    """
    rows, shop = search.rows, search.shop
    left, dropped = list(shop.offers), list[tuple[int, ...]]()
    growth = make_growth_settings(rows, 50, 5, 0.2, 0.7, 0.5)
    while len(left) > 1 and shop.price(join_offers(left)) >= least_budget:
        gains = np.sum(
            [
                fit_trees(
                    rows, join_offers(left), growth._replace(seed=growth.seed + bag)
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
        next_price = LEFT_SHARE * shop.price(join_offers(left))
        left = [left[place] for place in np.argsort(-np.array(worth), kind="stable")]
        dropped.append(left.pop())
        # Several per look, until the price has fallen by the share: looks take time.
        while len(left) > 1 and shop.price(join_offers(left)) > next_price:
            dropped.append(left.pop())
    return join_offers([*left, *reversed(dropped)])


def join_offers(offers: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """Return the features of some offers as one tuple."""
    return tuple(idx for offer in offers for idx in offer)


class Proposals(NamedTuple):
    """The candidates that the sets of budgets are chosen from."""

    #: by budget, each list in the same order of makers
    pool: list[list[tuple[int, ...]]]
    #: offers that the largest budget pays
    offers: list[tuple[int, ...]]
    #: pairs of offers that tell more together
    pairs: list[tuple[int, ...]]
    #: all features in the order in which sets are filled up
    order: tuple[int, ...]


def propose_sets(
    search: SetSearch, budgets: Sequence[int], orders: Sequence[Sequence[int]]
) -> Generator[None, None, Proposals]:
    """Make and judge all that sets are chosen from; yields now and then."""
    pool = yield from make_candidate_sets(search, budgets, orders)
    offers = [
        offer for offer in search.shop.offers if search.shop.price(offer) <= budgets[-1]
    ]
    sets = (feature_idxs for made in pool for feature_idxs in made)
    for _ in map_in_threads(search.loss, dict.fromkeys((*offers, *sets))):
        yield
    is_any_thorough = any(search.is_thorough(budget) for budget in budgets)
    pairs = find_pairs(search, offers) if is_any_thorough else []
    # The first forward selection for the largest budget, in its order of buying.
    return Proposals(pool, offers, pairs, pool[-1][len(orders)])


def make_candidate_sets(
    search: SetSearch, budgets: Sequence[int], orders: Sequence[Sequence[int]]
) -> Generator[None, None, list[list[tuple[int, ...]]]]:
    """Return candidate sets by budget, each list in the same order of makers.

    Makers are the given orders, then `select_forward` by each power, for the largest
    budget and for each small or named one, then `eliminate_backward`. Yields after each
    maker.
    """
    shop, most = search.shop, max(budgets)
    small = [
        budget for budget in budgets if budget < most and search.is_thorough(budget)
    ]
    powers = search.effort.powers
    ways = list(product(powers, (most, *small)))
    makers = [partial(select_forward, search, power, budget) for power, budget in ways]
    makers.append(partial(eliminate_backward, search, min(budgets)))
    candidates = []
    for order in map_in_threads(call, makers):
        candidates.append(order)
        yield
    bought, least = candidates[: len(ways)], candidates[len(ways) :]
    for_budget = dict(zip(ways, bought, strict=True))
    for_most = [for_budget[power, most] for power in powers]
    by_budget = []
    for budget in budgets:
        for_this = [
            for_budget.get((power, budget), order)
            for power, order in zip(powers, for_most, strict=True)
        ]
        every = (*orders, *for_most, *for_this, *least)
        by_budget.append([shop.fill_budget(order, budget) for order in every])
    return by_budget


def choose_sets(
    search: SetSearch, budgets: Sequence[int], proposals: Proposals
) -> Generator[None, None, list[tuple[int, ...]]]:
    """Choose a set for each budget by the loss on held-out rows.

    The excess loss of each maker over the best is averaged over neighbouring budgets,
    so that no lucky set wins. A single affordable offer that is better is taken
    instead, and then swaps are tried where the budget is small or named. If the set of
    the budget before is better by more than a standard error, it is kept. Yields now
    and then, so that a caller can stop.
    """
    pool, offers, pairs, order = proposals
    losses = np.array(
        [[search.loss(feature_idxs) for feature_idxs in made] for made in pool]
    )
    excess = losses - losses.min(axis=1, keepdims=True)
    swaps = []
    for place, budget in enumerate(budgets):
        neighbours = range(max(0, place - 1), min(len(budgets), place + 2))
        shares = np.array([1.0 if other == place else 0.5 for other in neighbours])
        maker = int((shares @ excess[neighbours.start : neighbours.stop]).argmin())
        best = choose_single_offer(search, offers, budget, pool[place][maker])
        swaps.append(partial(improve_set, search, pairs, best, budget, order))
    chosen: list[tuple[int, ...]] = []
    for best_set in map_in_threads(call, swaps):
        yield
        if chosen and search.is_better(chosen[-1], best_set):
            best_set = chosen[-1]
        chosen.append(best_set)
    return chosen


def choose_single_offer(
    search: SetSearch,
    offers: Iterable[tuple[int, ...]],
    budget: int,
    best: tuple[int, ...],
) -> tuple[int, ...]:
    """Return the single affordable offer of least loss if it is below `best`'s."""
    affordable = [offer for offer in offers if search.shop.price(offer) <= budget]
    single = min(affordable, key=search.loss, default=best)
    return single if search.loss(single) < search.loss(best) - LEAST_GAIN else best


def improve_set(
    search: SetSearch,
    pairs: Sequence[tuple[int, ...]],
    begin: tuple[int, ...],
    budget: int,
    order: Sequence[int],
) -> tuple[int, ...]:
    """Return a better set for a small or named budget if one is there, else `begin`.

    A set that begins with a pair of offers must be better by more than a standard
    error. On large sets this takes long and brought nothing.
    """
    if not search.is_thorough(budget):
        return begin
    best, power = begin, search.effort.powers[0]
    for pair in pairs:
        if search.shop.price(pair) <= budget:
            trial = select_forward(search, power, budget, begin=pair)
            best = trial if search.is_better(trial, best) else best
    return swap_offers(search, best, budget, order)


def find_pairs(
    search: SetSearch, offers: Sequence[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """Return the features of pairs of offers that tell more together than each alone.

    An exclusive or is one: forward selection begins with neither feature. Candidates
    are those whose stumps gain most within the halves of the other's rows. Of these
    the losses of both and of the pair decide, by more than two standard errors.
    """
    if len(offers) > MOST_OFFERS:
        return []
    alone = compute_stump_gains(search, ())
    rises = dict[frozenset[tuple[int, ...]], float]()
    for offer in offers:
        gains = compute_stump_gains(search, offer) - alone
        for other in offers:
            if other != offer:
                pair, rise = frozenset((offer, other)), float(gains[list(other)].sum())
                rises[pair] = max(rises.get(pair, 0.0), rise)
    nothing = search.row_losses(())
    pairs = []
    for pair in sorted(rises, key=lambda pair: -rises[pair])[:MOST_PAIRS]:
        features = join_offers(sorted(pair))
        apart = np.sum([nothing - search.row_losses(offer) for offer in pair], axis=0)
        surplus = nothing - search.row_losses(features) - apart
        if surplus.mean() > 2.0 * surplus.std() / np.sqrt(surplus.size):
            pairs.append(features)
    return pairs


def swap_offers(
    search: SetSearch, begin: tuple[int, ...], budget: int, order: Sequence[int]
) -> tuple[int, ...]:
    """Swap offers of a set while that lowers the loss; return the set.

    Each swap drops one offer, or none, and fills the budget in the given `order`.
    """
    shop, best, most = search.shop, begin, search.effort.max_swaps
    n_tried, is_better = 0, True
    while is_better and n_tried < most:
        is_better = False
        offers = list(dict.fromkeys(shop.offer_of[idx] for idx in best))
        for dropped in (None, *reversed(offers)):
            remaining = [idx for idx in best if shop.offer_of[idx] != dropped]
            others = [idx for idx in order if shop.offer_of[idx] != dropped]
            trial = shop.fill_budget((*remaining, *others), budget)
            if set(trial) == set(best) or n_tried == most:
                continue
            if not search.can_judge(trial):
                continue
            n_tried += 1
            if search.loss(trial) < search.loss(best) - LEAST_GAIN:
                best, is_better = trial, True
                break
    return best
