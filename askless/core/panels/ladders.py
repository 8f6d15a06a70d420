"""A ladder of panels: for every budget the features to buy, and a blend for them."""

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from askless.core.arrays import evenly_spaced
from askless.core.codes.thinning import sample_classes
from askless.core.kernels import count_threads
from askless.core.model.ladder.asking import Worth
from askless.core.model.ladder.columns import Columns
from askless.core.model.ladder.panels import PanelLadder
from askless.core.model.ladder.stopping import ErrorCosts
from askless.core.panels.asking import fit_asking_terms
from askless.core.panels.effort import EFFORTS, Effort, Recipe
from askless.core.panels.emptiness import fit_emptiness
from askless.core.panels.gates import fit_held_out_tables
from askless.core.panels.predictors.blending import (
    BlendedPanel,
    FittedPanels,
    cap_rises,
    make_panels,
)
from askless.core.panels.predictors.solving import load_solver
from askless.core.panels.predictors.trees import choose_leaf_limits
from askless.core.panels.rows import HeldOut, PanelRows
from askless.core.panels.rungs import choose_orders
from askless.core.panels.search import SEARCH_FOLDS
from askless.core.panels.stopping import fit_stopping
from askless.core.panels.tables import CountedRows, HeldOutTables
from askless.core.spread import map_in_threads
from askless.core.table.dataset import Dataset
from askless.core.table.gaps import (
    fill_gaps,
    list_informative_features,
    restore_silent_cells,
)
from askless.core.training.params import EffortName

# Most rows that stopping rules are learned from: every pair of panels is compared on
# them.
MOST_STOPPED = 2000

# Folds for the weights of blends; a table of MANY_ROWS needs fewer.
N_FOLDS, MANY_ROWS, FEWER_FOLDS = 5, 500, 3

# Below FEW_ROWS a blend has trees of several seeds, since one alone is half luck.
FEW_ROWS, N_SEEDS = 300, 3


def fit_ladder(
    dataset: Dataset,
    seed: int = 0,
    named: Sequence[int] = (),
    error_costs: ErrorCosts | None = None,
    effort: EffortName = "standard",
    least_missing: int = 20,
) -> Generator[float, None, PanelLadder]:
    """Fit the ladder of a dataset by folds of its own; see `fit_ladders`."""
    rows = PanelRows(dataset, seed)
    fitting = fit_ladders(rows, named, error_costs, effort, least_missing)
    return (yield from fitting)[0]


def fit_ladders(
    rows: PanelRows,
    named: Sequence[int],
    error_costs: ErrorCosts | None,
    effort: EffortName,
    least_missing: int,
) -> Generator[float, None, list[PanelLadder]]:
    """Fit a ladder: choose a set of features for each budget and fit its predictors.

    Yields the share of the work done, 0 to 1, and returns the ladder of all rows, then
    those without a fold, as `rows.ladders` has them. Meanwhile BLAS has one thread in
    the whole process: sets and blends are spread over the cores instead, and the number
    of cores changes no result.

    Parameters
    ----------
    rows : PanelRows
        With one class per row, and the seed of folds, of draws of rows and columns, and
        of random features. Very many rows are represented by a sample.
    named : sequence of int
        Budgets that get sets of their own beside the usual ones, in micro-units.
    error_costs : tuple of tuples, optional
        As in `Ensemble`.
    effort : {"fast", "standard", "thorough"}
        How many rows, sets and predictors are tried: see `EFFORTS`.
    least_missing : int
        A feature's missing values count as information if at least so many of the
        fitted rows lack it: see `list_informative_features`. Other gaps are filled.

    Notes
    -----
    All ladders share what takes time: sets are proposed once, on all rows, and a
    predictor without a fold judges this fold for the ladder of all rows and predicts in
    the ladder without it. Which sets, weights of predictors, questions and stops a
    ladder without a fold has is decided by the other folds alone. Classes of its fold
    have a say only in which sets are proposed, in leaf limits, penalties and rises, and
    through predictors that judge other folds (compare Tsamardinos et al. 2018, where no
    predictor is fitted anew either).
    docs/mathematics.md has what that does to the figures.
    """
    settings = EFFORTS[effort]
    dataset, kept = sample_classes(rows.dataset, settings.fit_rows)
    dealt = None if rows.dealt is None else rows.dealt.take(kept)
    is_informative = list_informative_features(dataset, least_missing)
    filled = fill_gaps(dataset, is_informative)
    tabled = CountedRows(restore_silent_cells(filled, dataset), is_informative)
    emptiness = fit_emptiness(dataset)
    dataset = filled
    load_solver()
    with threadpool_limits(limits=1, user_api="blas"):
        rows = replace(rows, dataset=dataset, dealt=dealt)
        few = rows.thin(settings.search_rows)
        limits = choose_leaf_limits(
            few, few.hold_out(SEARCH_FOLDS, settings.search_judges)
        )
        few = replace(few, limits=limits)
        rungs, orders = yield from choose_orders(few, named, settings)
        rows = replace(rows, limits=limits)
        held_out = hold_out_rows(rows, settings)
        tables = fit_held_out_tables(tabled, held_out.folds, rows.seed)
        worths: list[Worth | None] = [None] * len(rows.ladders)
        if rungs:
            worths[:] = fit_asking_terms(tables, rungs, rows.ladders)
        blended = yield from fit_panels(rows, orders, settings, tables)
        ladders = []
        for left_out, fitted, worth in zip(rows.ladders, blended, worths, strict=True):
            judges = np.flatnonzero(held_out.mark_others(left_out))
            some = judges[evenly_spaced(judges.size, MOST_STOPPED)]
            stopped = PanelRows(dataset.take(held_out.row_idxs[some]), rows.seed)
            logits = fitted.logits[:, some]
            stopping = fit_stopping(stopped, fitted.panels, logits, error_costs)
            ladder = PanelLadder(
                fitted.panels,
                rows.starts,
                stopping,
                spaces=(fitted.space,),
                tables=tables.without(left_out),
                worth=worth,
                emptiness=emptiness,
            )
            ladders.append(ladder)
        yield 1.0
        return ladders


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
    orders: Sequence[Sequence[tuple[int, ...]]],
    effort: Effort,
    tables: HeldOutTables | None = None,
) -> Generator[float, None, list[FittedPanels]]:
    """Fit the blends of each ladder's sets, and light blends of their beginnings.

    `orders` has the sets of each of the `rows.ladders`, the cheapest first. Of a set
    that several ladders have, the first of them says the order and how light its blend
    is, so that the ladder of all rows doesn't depend on others. `tables` are those of
    the same rows, where cells that nobody answered are not filled, and of the same
    folds. Yields the share of work done.
    """
    full = effort.full
    if rows.n_rows < FEW_ROWS:
        full = full._replace(ensembles=N_SEEDS * full.ensembles)
    recipes: dict[frozenset[int], tuple[tuple[int, ...], Recipe]] = {}
    #: by set, the columns of each ladder that has it
    users: dict[frozenset[int], dict[int | None, Columns]] = {}
    spaces = []
    for left_out, sets in zip(rows.ladders, orders, strict=True):
        read_idxs = dict.fromkeys(idx for order in sets for idx in order)
        spaces.append(rows.select_with_covariance(tuple(read_idxs)))
        parts = [part for order in sets for part in list_parts_of(order, effort)]
        pairs = [(order, full) for order in sets]
        for pair in (*pairs, *((part, effort.light) for part in parts)):
            key = frozenset(pair[0])
            recipes.setdefault(key, pair)
            users.setdefault(key, {})[left_out] = spaces[-1]
    held_out = hold_out_rows(rows, effort)

    def fit(key: frozenset[int]) -> dict[int | None, BlendedPanel]:
        return make_panels(rows, users[key], *recipes[key], held_out, tables)

    made: dict[frozenset[int], dict[int | None, BlendedPanel]] = {}
    for key, panels in zip(recipes, map_in_threads(fit, recipes), strict=True):
        made[key] = panels
        yield 0.5 + 0.5 * len(made) / len(recipes)
    ladders = []
    for left_out, sets, space in zip(rows.ladders, orders, spaces, strict=True):
        own = {key: made[key][left_out] for key in made if left_out in users[key]}
        ladders.append(rank_panels(own, sets, effort, space))
    return ladders


def rank_panels(
    blended: Mapping[frozenset[int], BlendedPanel],
    orders: Sequence[tuple[int, ...]],
    effort: Effort,
    space: Columns,
) -> FittedPanels:
    """Sort the panels of a ladder in the order of preference.

    `orders` are the chosen sets, the cheapest first. A dearer set is preferred to a
    cheaper one: it was chosen because it is better, by another measure of many rows. A
    beginning is preferred by its loss, after its set.
    """
    panels = {key: pair.panel for key, pair in blended.items()}
    ranks: dict[frozenset[int], tuple[float, bool, int]] = {}
    least = math.inf
    for number, order in enumerate(orders):
        least = min(least, panels[frozenset(order)].loss)
        ranks[frozenset(order)] = least, False, -number
        for key in {frozenset(part) for part in list_parts_of(order, effort)}:
            rank = max(panels[key].loss, least), True, len(key)
            ranks[key] = min(rank, ranks.get(key, rank))
    preferred = sorted(panels, key=lambda key: (ranks[key], len(key)))
    ranked = cap_rises([replace(panels[k], loss=ranks[k][0]) for k in preferred])
    logits = np.array([blended[key].logits for key in preferred])
    return FittedPanels(ranked, logits, space)


def hold_out_rows(rows: PanelRows, effort: Effort) -> HeldOut:
    """Return the rows that judge blends and tables, by fold."""
    n_folds = FEWER_FOLDS if rows.n_rows >= MANY_ROWS else N_FOLDS
    return rows.hold_out(n_folds, effort.blend_judges)


def list_parts_of(order: tuple[int, ...], effort: Effort) -> list[tuple[int, ...]]:
    """Return the beginnings of a set, from none up, that get a blend of their own.

    They grow by a factor of the effort, at least by one feature.
    """
    sizes = [0]
    while sizes[-1] < len(order):
        sizes.append(max(sizes[-1] + 1, int(sizes[-1] * effort.next_size)))
    return [order[:size] for size in sizes[:-1]]
