"""A ladder of panels: for every budget the features to buy, and a blend for them."""

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

import numpy as np

from core.arrays import FloatArray
from core.model.panels import Panel, PanelLadder
from core.model.stopping import ErrorCosts
from core.panels.blending import FULL, LIGHT, make_panel
from core.panels.purchases import Shop
from core.panels.rows import PanelRows
from core.panels.search import SetSearch
from core.panels.sets import FORWARD_POWERS, choose_sets, forward
from core.panels.stopping import fit_stopping
from core.table.binning import bin_values
from core.table.dataset import Dataset
from core.table.prices import total_cost
from core.training.boosting import boost, initial_weights
from core.training.params import BoostParams
from core.work import pass_on

# Of what is left to do, by which work of unknown length seems to move on.
STRIDE = 0.02

# Budgets of the rungs, in usual prices; after the last each a quarter more. They are
# apart by a tenth. An offer is dear from so many usual prices on.
STEPS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24)
LAST_STEP, APART, DEAR = 1.25, 1.1, 4
MAX_RUNGS, MAX_BEYOND = 16, 8

# Beginnings of a set are longer by so much, and by one feature at least.
NEXT_SIZE = 1.25

# Rows that sets are chosen by, at most; blends are fitted to all.
MAX_SEARCH_ROWS = 2000

# Rules whose order of purchases is a candidate, and how long they are trained for it.
ORDER_RULES = ("adaboost_bt_smoothed", "adaboost_bt_greedy")
ORDER_ROUNDS = 200


def fit_ladder(
    dataset: Dataset,
    seed: int = 0,
    budgets: Sequence[int] | None = None,
    error_costs: ErrorCosts | None = None,
) -> Generator[float, None, PanelLadder]:
    """Choose a set of features for each of some budgets and fit what predicts from it.

    Yields how much of it is done, 0 to 1.

    Parameters
    ----------
    dataset : Dataset
        Of one class per row.
    seed : int
        Of folds, draws of rows and columns, and random features.
    budgets : sequence of int, optional
        In micro-units; by default a ladder from the usual price up.
    error_costs : tuple of tuples, optional
        As in `Ensemble`.
    """
    few = thin_rows(dataset)
    few_rows, rows = PanelRows(few, seed), PanelRows(dataset, seed)
    search = SetSearch(few_rows, Shop(dataset.catalogue, few_rows.is_useful))
    if not search.shop.offers:
        return (yield from fit_panels(rows, [()], error_costs))
    rungs = sorted(set(budgets or find_budgets(search)))
    made = [find_order(few, rule) for rule in ORDER_RULES]
    shares = approach(0.0, 0.5)
    chosen = yield from pass_on(
        choose_sets(search, rungs, made), lambda _: next(shares)
    )
    orders = yield from pass_on(order_panels(search, chosen), lambda _: next(shares))
    return (yield from fit_panels(rows, orders, error_costs))


def ladder_bytes(n_samples: int) -> int:
    """Memory that `fit_ladder` takes at its peak: the waves of each row, four times."""
    return 4 * 8 * 2 * FULL.n_waves * n_samples


def approach(share: float, end: float) -> Iterator[float]:
    """Yield shares that come nearer to an end, of work of unknown length."""
    while True:
        share += (end - share) * STRIDE
        yield share


def fit_panels(
    rows: PanelRows,
    orders: Sequence[tuple[int, ...]],
    error_costs: ErrorCosts | None = None,
) -> Generator[float, None, PanelLadder]:
    """Fit the blends of sets, the cheapest first, and of their beginnings.

    A dearer set is preferred to a cheaper one: it was chosen because it is better, by
    another measure of many rows. A beginning is preferred by its loss, after the set.
    `error_costs` as in `Ensemble`.
    """
    panels: dict[frozenset[int], Panel] = {}
    logits: dict[frozenset[int], FloatArray] = {}
    for number, order in enumerate(orders):
        key = frozenset(order)
        panels[key], logits[key] = make_panel(rows, order, FULL)
        yield 0.5 + 0.25 * (number + 1) / len(orders)
    ranks: dict[frozenset[int], tuple[float, bool, int]] = {}
    least = math.inf
    for number, order in enumerate(orders):
        least = min(least, panels[frozenset(order)].loss)
        ranks[frozenset(order)] = least, False, -number
        for size in find_sizes(len(order)):
            key = frozenset(order[:size])
            if key not in panels:
                panels[key], logits[key] = make_panel(rows, order[:size], LIGHT)
            rank = max(panels[key].loss, least), True, size
            ranks[key] = min(rank, ranks.get(key, rank))
        yield 0.75 + 0.25 * (number + 1) / len(orders)
    preferred = sorted(panels, key=lambda key: (ranks[key], len(key)))
    ranked = tuple(replace(panels[key], loss=ranks[key][0]) for key in preferred)
    told = np.array([logits[key] for key in preferred])
    stopping = fit_stopping(rows, ranked, told, error_costs)
    return PanelLadder(ranked, rows.starts, stopping)


def find_sizes(most: int) -> list[int]:
    """Return how long the beginnings of a set are that have a blend, from 0 up."""
    sizes = [0]
    while sizes[-1] < most:
        sizes.append(max(sizes[-1] + 1, int(sizes[-1] * NEXT_SIZE)))
    return sizes[:-1]


def thin_rows(dataset: Dataset) -> Dataset:
    """Take some of the rows, evenly spaced, where there are very many."""
    n_few = min(dataset.n_samples, MAX_SEARCH_ROWS)
    few = np.linspace(0, dataset.n_samples - 1, n_few).round().astype(np.int64)
    return dataset.take(few) if n_few < dataset.n_samples else dataset


def find_budgets(search: SetSearch) -> list[int]:
    """Return budgets of rungs: usual prices and more, and what dear offers need.

    Steps that would be too many make room for dear offers beyond them.
    """
    shop, usual = search.shop, search.usual_price
    most = total_cost(shop.catalogue)
    prices = [shop.price(offer) for offer in shop.offers]
    budgets = [step * usual for step in STEPS]
    while budgets[-1] < most:
        budgets.append(budgets[-1] * LAST_STEP)
    dears = {price for price in prices if price > DEAR * usual}
    fuller = {min(dear + DEAR * usual, most) for dear in dears}
    within = (min(int(one), most) for one in (*budgets, *dears, *fuller))
    rungs = space_out([one for one in within if one >= min(prices)])
    rungs = rungs[:MAX_RUNGS] or [most]
    beyond = space_out([one for one in fuller if one > APART * rungs[-1]])
    stride = -(-len(beyond) // MAX_BEYOND) or 1
    beyond = beyond[::-1][::stride][::-1]
    return rungs[: MAX_RUNGS - len(beyond)] + beyond


def space_out(budgets: Sequence[float]) -> list[int]:
    """Return budgets in order that are apart, the smallest of those that are not."""
    kept: list[int] = []
    for one in sorted(map(int, budgets)):
        if not kept or one > APART * kept[-1]:
            kept.append(one)
    return kept


def find_order(dataset: Dataset, rule: str) -> tuple[int, ...]:
    """Return the features that a rule's hypotheses read, then the cheap others."""
    params = BoostParams(rule, rounds=ORDER_ROUNDS)
    shards = [(bin_values(dataset), initial_weights(dataset))]
    read: dict[int, None] = {}
    for added in boost(shards, dataset.catalogue, params):
        read |= dict.fromkeys(added.hypothesis.feature_idxs)
    costs = dataset.catalogue.costs
    return tuple(read | dict.fromkeys(np.argsort(costs, kind="stable").tolist()))


def order_panels(
    search: SetSearch, chosen: Sequence[tuple[int, ...]]
) -> Generator[None, None, list[tuple[int, ...]]]:
    """Return each set in the order of asking: what gains most per price first.

    It begins as the order of the set before, as far as they have features in common:
    so sets have beginnings in common.
    """
    orders: list[tuple[int, ...]] = []
    for one in dict.fromkeys(chosen):
        budget = search.shop.price(one)
        before = orders[-1] if orders else ()
        begin = tuple(idx for idx in before if idx in one)
        order = yield from forward(search, FORWARD_POWERS[0], budget, one, begin)
        orders.append((*order, *(idx for idx in one if idx not in order)))
    return orders
