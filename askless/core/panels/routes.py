"""Decide on held-out rows whether a root feature splits cases into parts."""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue
from askless.core.catalogue.prices import Paid, buy
from askless.core.model.ladder.panels import Panel, PanelLadder
from askless.core.model.ladder.routes import MAIN, Route, Split
from askless.core.panels.predictors.blending import FittedPanels
from askless.core.panels.predictors.chances import losses_and_gradients
from askless.core.panels.purchases import Shop
from askless.core.panels.roots import N_BINS, count_looks, find_root, group_rows_by_part
from askless.core.panels.rows import PanelRows
from askless.core.table.dataset import Dataset

# Folds of rows by which a route is judged.
N_JUDGED = 3

# A route must gain N_ERRORS standard errors at some budget, and one wherever in force.
N_ERRORS = 2.0

# Rows that a root is searched on: at least LEAST_LOOKED, at most MOST_CELLS cells.
LEAST_LOOKED, MOST_CELLS = 1000, 4_000_000

# Least standard error, against division by 0.
LEAST_ERROR = 1e-12

# A root costs at most the largest budget divided by this.
ROOT_PART = 3

FitPart = Callable[[PanelRows, tuple[int, ...], Sequence[int]], FittedPanels]
Children = dict[int, FittedPanels]


class Makers(NamedTuple):
    """The functions and budgets of a ladder that a route needs."""

    #: returns at most that many of the rows, evenly spaced
    thin: Callable[[Dataset, int], Dataset]
    #: fits panels to the rows of a part, its root paid, for budgets beyond it
    fit_part: FitPart
    #: budgets of the ladder, ascending
    rungs: Sequence[int]


def add_route(
    rows: PanelRows, ladder: PanelLadder, blended: FittedPanels, makers: Makers
) -> Generator[None, None, PanelLadder]:
    """Return the ladder with panels for the parts of a root, if a root pays.

    Root and parts are fitted anew without each of some folds. The rows of a fold show
    under which budgets the panels of the parts have a lower loss than the ladder's own,
    which were chosen with these rows and so look better than they are. If a fold finds
    another root, there is no route. Nor is there one if a quick first fit on one fold
    gains nothing, which rules out most roots at little cost. `blended` are the
    ladder's own panels with their held-out log odds. Yields after each fit of a part.
    """
    split = find_root_in_sample(rows, makers)
    if split is None:
        return ladder
    gains: list[FloatArray] = []
    for fold in blended.held_out.folds[:N_JUDGED]:
        others = pick_rows(rows, np.setdiff1d(np.arange(rows.n_rows), fold))
        again = find_root_in_sample(others, makers)
        if again is None or again.feature_idxs != split.feature_idxs:
            return ladder
        # Only the first fold has the quick fit, before its full one.
        for is_look in (False,) if gains else (True, False):
            fitting = fit_children(others, again, makers, is_look=is_look)
            children = yield from fitting
            fold_gains = compute_fold_gains(
                rows, fold, again, children, blended, makers.rungs
            )
            if not gains and compute_leads(fold_gains).max() < N_ERRORS:
                return ladder
        gains.append(fold_gains)
    limits = choose_budget_range(np.hstack(gains), makers.rungs)
    if limits is None:
        return ladder
    children = yield from fit_children(rows, split, makers)
    parts = [part for part, child in children.items() for _ in child.panels]
    # The ladder's own panels are for cases without a part.
    here = np.full(len(ladder.panels), MAIN)
    route = Route(split, np.append(here, parts).astype(np.int64), *limits)
    added = (panel for child in children.values() for panel in child.panels)
    spaces = (child.space for child in children.values())
    return replace(
        ladder,
        panels=(*ladder.panels, *added),
        route=route,
        spaces=(*ladder.spaces, *spaces),
    )


def find_root_in_sample(rows: PanelRows, makers: Makers) -> Split | None:
    """Search for a root on a sample of the rows; return its split, or None.

    The larger the table of bins of each row, the smaller the sample.
    """
    catalogue = rows.dataset.catalogue
    n_cells = N_BINS * count_looks(len(catalogue.features))
    most = max(LEAST_LOOKED, MOST_CELLS // n_cells)
    few = replace(rows, dataset=makers.thin(rows.dataset, most))
    shop = Shop(catalogue, few.is_useful)
    return find_root(few, shop, makers.rungs[-1] // ROOT_PART)


def pick_rows(rows: PanelRows, row_idxs: IntArray) -> PanelRows:
    """Return some of the rows."""
    return replace(rows, dataset=rows.dataset.take(row_idxs))


def fit_children(
    rows: PanelRows, split: Split, makers: Makers, *, is_look: bool = False
) -> Generator[None, None, Children]:
    """Fit panels to the rows of each part that has enough of them; return them by part.

    A quick first fit (`is_look`) is for the middle one of the budgets alone; the
    beginnings of its panel serve smaller ones. Yields after each part.
    """
    catalogue = rows.dataset.catalogue
    price, _ = buy(catalogue, Paid(), split.feature_idxs)
    budgets = [rung - price for rung in makers.rungs if rung > price]
    if is_look:
        budgets = budgets[len(budgets) // 2 :][:1]
    free = free_root(catalogue, split.feature_idxs)
    children: Children = {}
    for part, row_idxs in group_rows_by_part(rows, split).items():
        dataset = replace(rows.dataset.take(row_idxs), catalogue=free)
        part_rows = replace(rows, dataset=dataset)
        children[part] = makers.fit_part(part_rows, split.feature_idxs, budgets)
        yield
    return children


def free_root(catalogue: Catalogue, root: Sequence[int]) -> Catalogue:
    """Return the catalogue of a case that has paid a root, with its fee or bundle."""
    paid = {catalogue.features[idx].group for idx in root}
    features = tuple(
        replace(feature, cost=0) if idx in root else feature
        for idx, feature in enumerate(catalogue.features)
    )
    groups = tuple(
        replace(group, fee=0, price=0 if group.is_bundle else None)
        if group.name in paid
        else group
        for group in catalogue.groups
    )
    return replace(catalogue, features=features, groups=groups)


def compute_fold_gains(
    rows: PanelRows,
    fold: IntArray,
    split: Split,
    children: Children,
    blended: FittedPanels,
    rungs: Sequence[int],
) -> FloatArray:
    """Return the gain in log-loss of a fold's rows by the panels of their parts.

    Gains, (n_rungs, n_rows), are over the ladder's panels for the same budget; 0 for
    rows without a part or where the root is too dear. `fold` holds the positions of
    the rows; `children` are the panels of each part, fitted without these rows.
    """
    catalogue, weights = rows.dataset.catalogue, rows.weights[fold]
    values, targets = rows.dataset.values[fold], rows.targets[fold]
    parts = split.assign_parts(values)
    places = np.searchsorted(blended.held_out.row_idxs, fold)
    gains = np.zeros((len(rungs), fold.size))
    for part, child in children.items():
        panels = child.panels
        here = np.flatnonzero(parts == part)
        if not here.size:
            continue
        main_numbers = choose_by_budget(catalogue, blended.panels, rungs)
        part_numbers = choose_by_budget(catalogue, panels, rungs)
        logits: dict[int, FloatArray] = {}
        pairs = zip(main_numbers, part_numbers, strict=True)
        for rung, (main, number) in enumerate(pairs):
            if main is None or number is None:
                continue
            # Several budgets may buy the same panel.
            if number not in logits:
                logits[number] = panels[number].logits(values[here], rows.starts)
            before, _ = losses_and_gradients(
                blended.logits[main][places[here]], targets[here]
            )
            after, _ = losses_and_gradients(logits[number], targets[here])
            gains[rung, here] = (before - after) * weights[here]
    return gains


def choose_by_budget(
    catalogue: Catalogue, panels: Sequence[Panel], budgets: Sequence[int]
) -> list[int | None]:
    """Return for each budget the preferred panel that it pays, or None."""
    prices = [buy(catalogue, Paid(), panel.feature_idxs)[0] for panel in panels]
    return [
        next((place for place, price in enumerate(prices) if price <= budget), None)
        for budget in budgets
    ]


def compute_leads(gains: FloatArray) -> FloatArray:
    """Return the mean gains in units of their standard errors.

    Shapes (n_rungs, n_rows) -> (n_rungs,).
    """
    errors = gains.std(axis=1) / math.sqrt(gains.shape[1])
    leads: FloatArray = gains.mean(axis=1) / np.maximum(errors, LEAST_ERROR)
    return leads


def choose_budget_range(
    gains: FloatArray, rungs: Sequence[int]
) -> tuple[int, int | None] | None:
    """Return the range of budgets at which a route is worth following, or None.

    `gains` (n_rungs, n_rows) are those of the route. A run is a sequence of rungs whose
    mean gain exceeds one standard error. The run of largest total gain wins, among
    those that exceed `N_ERRORS` standard errors somewhere. Returns its least budget and
    the greatest one before the next rung, None if there is no upper end.
    """
    leads, means = compute_leads(gains), gains.mean(axis=1)
    best, limits = 0.0, None
    # Padded on both sides, so that every run has a begin and an end.
    is_run = np.concatenate(([False], leads > 1.0, [False]))
    begins = np.flatnonzero(~is_run[:-1] & is_run[1:]).tolist()
    ends = np.flatnonzero(is_run[:-1] & ~is_run[1:]).tolist()
    for begin, end in zip(begins, ends, strict=True):
        total = float(means[begin:end].sum())
        if leads[begin:end].max() > N_ERRORS and total > best:
            up_to = rungs[end] - 1 if end < len(rungs) else None
            best, limits = total, (rungs[begin], up_to)
    return limits
