"""A ladder of panels: for every budget the features to buy, and a blend for them."""

import math
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from askless.core.arrays import FloatArray, evenly_spaced
from askless.core.catalogue.catalogue import NO_GROUP
from askless.core.catalogue.prices import total_cost
from askless.core.codes.binning import bin_values
from askless.core.codes.thinning import thin_classes
from askless.core.kernels import count_threads
from askless.core.model.ladder.panels import Panel, PanelLadder
from askless.core.model.ladder.stopping import ErrorCosts
from askless.core.panels.asking import fit_asking_terms
from askless.core.panels.effort import EFFORTS, Effort, Recipe
from askless.core.panels.emptiness import fit_emptiness
from askless.core.panels.gates import fit_held_out_tables
from askless.core.panels.predictors.blending import FittedPanels, cap_rises, make_panel
from askless.core.panels.predictors.solving import load_solver
from askless.core.panels.predictors.trees import choose_leaf_limits
from askless.core.panels.purchases import Shop
from askless.core.panels.rows import HeldOut, PanelRows
from askless.core.panels.search import SEARCH_FOLDS, SetSearch
from askless.core.panels.sets import choose_sets, select_forward
from askless.core.panels.stopping import fit_stopping
from askless.core.panels.tables import CountedRows, HeldOutTables
from askless.core.spread import map_in_threads
from askless.core.table.dataset import Dataset
from askless.core.table.gaps import (
    fill_gaps,
    list_informative_features,
    restore_silent_cells,
)
from askless.core.training.boosting import boost, initial_weights
from askless.core.training.params import BoostParams, EffortName
from askless.core.work import approach_share, convert_steps

# Budgets of usual rungs, in usual prices; beyond the last, each is a quarter above the
# one before. Budgets within a twentieth of each other are one. An offer is dear above
# DEAR usual prices.
STEPS = (0.25, 0.5, 1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24)
LAST_STEP, APART, DEAR = 1.25, 1.05, 4

# Most rows that stopping rules are learned from: every pair of panels is compared on
# them.
MOST_STOPPED = 2000

# Folds for the weights of blends; a table of MANY_ROWS needs fewer.
N_FOLDS, MANY_ROWS, FEWER_FOLDS = 5, 500, 3

# Below FEW_ROWS a blend has trees of several seeds, since one alone is half luck.
FEW_ROWS, N_SEEDS = 300, 3

Recipes = dict[frozenset[int], tuple[tuple[int, ...], Recipe]]

# Rules whose order of purchases is a candidate.
ORDER_RULES = ("adaboost_bt_smoothed", "adaboost_bt_greedy")


def fit_ladder(
    dataset: Dataset,
    seed: int = 0,
    named: Sequence[int] = (),
    error_costs: ErrorCosts | None = None,
    effort: EffortName = "standard",
    least_missing: int = 20,
) -> Generator[float, None, PanelLadder]:
    """Fit a ladder: choose a set of features for each budget and fit its predictors.

    Yields the share of the work done, 0 to 1, and returns the ladder. Meanwhile BLAS
    has one thread in the whole process: sets and blends are spread over the cores
    instead, and the number of cores changes no result.

    Parameters
    ----------
    dataset : Dataset
        With one class per row. Very many rows are represented by a sample.
    seed : int
        For folds, draws of rows and columns, and random features.
    named : sequence of int
        Budgets that get sets of their own beside the usual ones, in micro-units.
    error_costs : tuple of tuples, optional
        As in `Ensemble`.
    effort : {"fast", "standard", "thorough"}
        How many rows, sets and predictors are tried: see `EFFORTS`.
    least_missing : int
        A feature's missing values count as information if at least so many of the
        fitted rows lack it: see `list_informative_features`. Other gaps are filled.
    """
    settings = EFFORTS[effort]
    dataset = thin_classes(dataset, settings.fit_rows)
    is_informative = list_informative_features(dataset, least_missing)
    filled = fill_gaps(dataset, is_informative)
    tabled = CountedRows(restore_silent_cells(filled, dataset), is_informative)
    emptiness = fit_emptiness(dataset)
    dataset = filled
    load_solver()
    with threadpool_limits(limits=1, user_api="blas"):
        few = PanelRows(thin_rows(dataset, settings.search_rows), seed)
        limits = choose_leaf_limits(
            few, few.hold_out(SEARCH_FOLDS, settings.search_judges)
        )
        few = replace(few, limits=limits)
        rungs, orders = yield from choose_orders(few, named, settings)
        rows = PanelRows(dataset, seed, limits)
        held_out = hold_out_rows(rows, settings)
        tables = fit_held_out_tables(tabled, held_out.folds, seed)
        worth = fit_asking_terms(tables, rungs) if rungs else None
        blended = yield from fit_panels(rows, orders, settings, tables)
        judges = blended.held_out.row_idxs
        some = evenly_spaced(judges.size, MOST_STOPPED)
        logits = blended.logits[:, some]
        stopped = PanelRows(dataset.take(judges[some]), seed)
        stopping = fit_stopping(stopped, blended.panels, logits, error_costs)
        yield 1.0
        return PanelLadder(
            blended.panels,
            rows.starts,
            stopping,
            spaces=(blended.space,),
            tables=tables.whole,
            worth=worth,
            emptiness=emptiness,
        )


def choose_orders(
    rows: PanelRows, named: Sequence[int], effort: Effort
) -> Generator[float, None, tuple[list[int], list[tuple[int, ...]]]]:
    """Choose a set for each budget; return the budgets, and sets in order of asking.

    Without any useful feature there are no budgets, and one empty set. Yields the share
    of the whole work that is done, up to a half.
    """
    dataset = rows.dataset
    shop = Shop(dataset.catalogue, rows.is_useful)
    search = SetSearch(rows, shop, effort, frozenset(named))
    if not shop.offers:
        return [], [()]
    rungs = choose_rungs(search)
    made = [order_by_rule(dataset, rule, effort.order_rounds) for rule in ORDER_RULES]
    shares = approach_share(0.0, 0.5)
    chosen = yield from convert_steps(
        choose_sets(search, rungs, made), lambda _: next(shares)
    )
    return rungs, order_features_of_sets(search, chosen)


def ladder_bytes(
    n_samples: int, n_features: int, effort: EffortName = "standard"
) -> int:
    """Estimate the bytes that `fit_ladder` takes at its peak; each thread fits a blend.

    As measured, a blend takes 14 tables of products of waves, and 8 of all columns. Few
    features may have many columns, so the waves are those of a wide table.
    """
    settings = EFFORTS[effort]
    n_samples = min(n_samples, settings.fit_rows)
    n_inputs = 2 * max(settings.full.n_waves, settings.full.n_wide_waves)
    products = 14 * n_inputs * min(n_inputs, n_samples)
    return 8 * count_threads() * (products + 8 * n_samples * n_features)


def fit_panels(
    rows: PanelRows,
    orders: Sequence[tuple[int, ...]],
    effort: Effort,
    tables: HeldOutTables | None = None,
) -> Generator[float, None, FittedPanels]:
    """Fit the blends of sets, and light blends of their beginnings.

    `tables` are those of the same rows, where cells that nobody answered are not
    filled, and of the same folds.
    """
    full = effort.full
    if rows.n_rows < FEW_ROWS:
        full = full._replace(ensembles=N_SEEDS * full.ensembles)
    recipes = {frozenset(order): (order, full) for order in orders}
    for order in orders:
        for size in list_beginning_sizes(len(order), effort.next_size):
            recipes.setdefault(frozenset(order[:size]), (order[:size], effort.light))
    return (yield from fit_blends(rows, orders, recipes, effort, tables))


def fit_blends(
    rows: PanelRows,
    orders: Sequence[tuple[int, ...]],
    recipes: Recipes,
    effort: Effort,
    tables: HeldOutTables | None = None,
) -> Generator[float, None, FittedPanels]:
    """Fit a panel by each recipe, and sort the panels in the order of preference.

    `orders` are the chosen sets, the cheapest first. A dearer set is preferred to a
    cheaper one: it was chosen because it is better, by another measure of many rows. A
    beginning is preferred by its loss, after its set. Yields the share of work done.
    """
    held_out = hold_out_rows(rows, effort)
    read_idxs = dict.fromkeys(idx for order, _ in recipes.values() for idx in order)
    space = rows.select_with_covariance(tuple(read_idxs))

    def fit(key: frozenset[int]) -> tuple[Panel, FloatArray]:
        return make_panel(rows, space, *recipes[key], held_out, tables)

    panels: dict[frozenset[int], Panel] = {}
    logits: dict[frozenset[int], FloatArray] = {}
    for key, made in zip(recipes, map_in_threads(fit, recipes), strict=True):
        panels[key], logits[key] = made
        yield 0.5 + 0.5 * len(panels) / len(recipes)
    ranks: dict[frozenset[int], tuple[float, bool, int]] = {}
    least = math.inf
    for number, order in enumerate(orders):
        least = min(least, panels[frozenset(order)].loss)
        ranks[frozenset(order)] = least, False, -number
        sizes = list_beginning_sizes(len(order), effort.next_size)
        beginnings = {frozenset(order[:size]) for size in sizes}
        for key in panels.keys() & beginnings:
            rank = max(panels[key].loss, least), True, len(key)
            ranks[key] = min(rank, ranks.get(key, rank))
    preferred = sorted(panels, key=lambda key: (ranks[key], len(key)))
    ranked = cap_rises([replace(panels[k], loss=ranks[k][0]) for k in preferred])
    ranked_logits = np.array([logits[key] for key in preferred])
    return FittedPanels(ranked, ranked_logits, held_out, space)


def hold_out_rows(rows: PanelRows, effort: Effort) -> HeldOut:
    """Return the rows that judge blends and tables, by fold."""
    n_folds = FEWER_FOLDS if rows.n_rows >= MANY_ROWS else N_FOLDS
    return rows.hold_out(n_folds, effort.blend_judges)


def list_beginning_sizes(most: int, growth: float) -> list[int]:
    """Return the lengths, from 0 up, of the beginnings of a set that get a blend.

    They grow by the factor `growth`, at least by one feature.
    """
    sizes = [0]
    while sizes[-1] < most:
        sizes.append(max(sizes[-1] + 1, int(sizes[-1] * growth)))
    return sizes[:-1]


def thin_rows(dataset: Dataset, most: int) -> Dataset:
    """Return at most `most` of the rows, evenly spaced."""
    few = evenly_spaced(dataset.n_samples, most)
    return dataset.take(few) if few.size < dataset.n_samples else dataset


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
    search: SetSearch, chosen: Sequence[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """Return each set in the order of asking, the most gain per price first.

    Each order begins with the features that the set shares with the one before, so
    that sets have beginnings in common. Features that the search does not reach come
    last. A set that comes twice is ordered once.
    """
    orders: list[tuple[int, ...]] = []
    for members in dict.fromkeys(chosen):
        budget = search.shop.price(members)
        before = orders[-1] if orders else ()
        begin = tuple(idx for idx in before if idx in members)
        order = select_forward(search, search.effort.powers[0], budget, members, begin)
        orders.append((*order, *(idx for idx in members if idx not in order)))
    return orders


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
