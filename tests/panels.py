"""Small ladders of panels, made up or fitted."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from askless.core import kernels
from askless.core.catalogue.prices import MICROS_PER_UNIT as UNIT
from askless.core.kernels import MISSING_CODE, NUMBER_CODE
from askless.core.model.ensemble import Ensemble
from askless.core.model.ladder.asking import AskingTerms, Worth
from askless.core.model.ladder.blends import Blend, KernelRidge, LogisticRidge, Trees
from askless.core.model.ladder.columns import ALONE, Columns
from askless.core.model.ladder.panels import Panel, PanelLadder
from askless.core.model.ladder.splits import NOWHERE, Split
from askless.core.model.ladder.stopping import Stopping, StoppingRule
from askless.core.model.ladder.tables import PartTable, PartTables, TableMember
from askless.core.panels import search, sets
from askless.core.panels.effort import EFFORTS, Recipe
from askless.core.panels.predictors import blending, trees
from askless.core.panels.predictors.blending import BlendedPanel, make_panels
from askless.core.panels.predictors.trees import make_growth_settings
from askless.core.panels.rows import HeldOut, PanelRows
from tests.sessions import small_ensemble
from tests.small import random_dataset

# By how much the loss rises without a feature that a panel must have.
NEVER_HIDDEN = 1e3


def random_rows(seed: int = 0, n_classes: int = 2, n_samples: int = 24) -> PanelRows:
    """Six features of few values: categories, missing cells, a fee and a bundle."""
    dataset = random_dataset(seed, n_classes, n_samples, n_values=4)
    return PanelRows(dataset, seed)


def make_panel(
    rows: PanelRows, feature_idxs: Sequence[int], recipe: Recipe, held_out: HeldOut
) -> BlendedPanel:
    """The blend of a set in the ladder of all rows."""
    space = rows.select_with_covariance(feature_idxs)
    return make_panels(rows, {None: space}, feature_idxs, recipe, held_out)[None]


def shorten(patch: pytest.MonkeyPatch, rounds: int = 2) -> None:
    """Let trees, waves and sets that are tried be few: all of them take minutes."""

    def make_few(
        rows: PanelRows, wanted: int, *options: float, **named: float
    ) -> kernels.Growth:
        return make_growth_settings(rows, min(rounds, wanted), *options, **named)

    patch.setattr(blending, "make_growth_settings", make_few)
    patch.setattr(sets, "make_growth_settings", make_few)
    patch.setattr(search, "make_growth_settings", make_few)
    patch.setattr(trees, "LEAF_ROUNDS", rounds)
    patch.setattr(search, "N_KERNEL_ROWS", 60)
    for name, effort in EFFORTS.items():
        full, light = (
            one._replace(n_waves=30, n_wide_waves=min(one.n_wide_waves, 30))
            for one in (effort.full, effort.light)
        )
        short = effort._replace(order_rounds=2 * rounds, full=full, light=light)
        short = short._replace(max_rungs=min(effort.max_rungs, 5), max_swaps=2)
        patch.setitem(EFFORTS, name, short)


def make_space(
    feature_idxs: Sequence[int], lacking: Collection[int], random: np.random.Generator
) -> Columns:
    """A column of each number, one that says whether it lacks, and their covariance.

    The last column is in no covariance.
    """
    read = [*feature_idxs, *sorted(lacking)]
    n_columns, n_numbers = len(read), len(feature_idxs)
    codes = [NUMBER_CODE] * n_numbers + [MISSING_CODE] * (n_columns - n_numbers)
    places = np.arange(n_columns)
    places[-1:] = ALONE
    n_covaried = max(n_columns - 1, 0)
    draws = random.normal(size=(n_covaried, n_covaried + 2))
    draws /= np.sqrt((draws**2).sum(axis=1, keepdims=True))
    return Columns(
        np.array(read, np.int64),
        np.array(codes, np.int64),
        np.full(n_columns, -5.0),
        np.full(n_columns, 5.0),
        random.normal(size=n_columns),
        np.ones(n_columns),
        places,
        (0.95 * draws @ draws.T + 0.05 * np.eye(n_covaried)).round(4),
    )


def make_hiding_blend(
    columns: Columns, n_outputs: int, random: np.random.Generator
) -> Blend:
    """A logistic and a kernel ridge of any coefficients, beside a tree of two nodes."""
    n_columns, read = columns.codes.size, columns.feature_idxs
    nodes = np.zeros((2, kernels.N_NODE), np.int64)
    nodes[:, kernels.READS] = random.choice(read, 2)
    nodes[0, [kernels.BELOW, kernels.ABOVE]] = -1, 1
    nodes[1, [kernels.BELOW, kernels.ABOVE]] = -2, -3
    trees = kernels.ServedTrees(
        nodes,
        np.array([0.5, 1.5]),
        np.array([0]),
        np.array([n_outputs - 1]),
        random.normal(size=3),
        np.array([0.25, 0.6]),
    )
    logistic = LogisticRidge(
        random.normal(size=(n_columns, n_outputs)), random.normal(size=n_outputs)
    )
    kernel = KernelRidge(
        kind="laplace",
        width=3.0,
        seed=5,
        stretches=np.ones(n_columns),
        coefficients=random.normal(size=(8, n_outputs)),
        offsets=random.normal(size=n_outputs),
        slope=1.5,
    )
    return Blend(
        columns,
        Trees(np.zeros(n_outputs), trees),
        (logistic, kernel),
        np.array([0.5, 1.0, 0.5]),
    )


def make_ladder(
    ensemble: Ensemble,
    orders: Sequence[Sequence[int]],
    seed: int = 0,
    can_hide: bool = False,
) -> PanelLadder:
    """The beginnings of some orders of features, the longest preferred.

    Unless `can_hide`, a panel predicts nothing without one of its features.
    """
    random = np.random.default_rng(seed)
    sets = {
        frozenset(order[:size]): tuple(order[:size])
        for order in orders
        for size in range(len(order) + 1)
    }
    read = list(dict.fromkeys(idx for order in orders for idx in order))
    lacking = frozenset(idx for idx in read if random.random() < 0.3)
    space = make_space(read, lacking, random)

    def make(order: tuple[int, ...]) -> Panel:
        # Losses and rises that add up to the same in any order.
        loss, blend, rises = 0.75 - len(order) / 64, None, (NEVER_HIDDEN,) * len(order)
        if can_hide:
            rises = tuple((random.integers(0, 9, len(order)) / 256).tolist())
        if order:
            blend = make_hiding_blend(space.take(order), ensemble.n_outputs, random)
        return Panel(order, loss, lacking & frozenset(order), blend, rises)

    panels = sorted(map(make, sets.values()), key=lambda panel: panel.loss)
    starts = random.normal(size=ensemble.n_outputs)
    return PanelLadder(tuple(panels), starts, spaces=(space,))


def make_stopping(n_panels: int, n_rules: int = 2, seed: int = 0) -> Stopping:
    """Rules of any targets and thresholds; later ones spend more."""
    random = np.random.default_rng(seed)
    rules = tuple(
        StoppingRule(
            rate=float(random.choice([0.0, 1e-9, 1e-7, 1e-2])),
            spend=1e6 * number,
            error=0.4 / (1 + number),
            targets=np.array(
                [random.integers(0, number + 1) for number in range(n_panels)]
            ),
            thresholds=random.choice([-1.0, 0.1, 0.2, 0.3, 0.4], n_panels),
            prices=random.integers(0, 10, n_panels),
        )
        for number in range(n_rules)
    )
    return Stopping(np.sort(random.random(n_panels)), rules)


def make_aimed() -> Ensemble:
    """Two features; one rule asks nothing, the other both."""
    ensemble = small_ensemble([2 * UNIT, 3 * UNIT], policy="adaptive")
    ladder = make_ladder(ensemble, [(0, 1)])
    panels = tuple(replace(panel, may_lack=frozenset()) for panel in ladder.panels)
    idle, busy = make_stopping(len(panels)).rules
    fields = {"rate": 1e-9, "thresholds": np.array([0.0, -1.0, -1.0])}
    idle = replace(idle, **fields, targets=np.arange(3), spend=0.0, error=0.4)
    busy = replace(busy, **fields, targets=np.zeros(3, int), spend=5e6, error=0.1)
    prices = np.array([0, 3 * UNIT, 5 * UNIT])
    rules = replace(idle, prices=prices), replace(busy, prices=prices)
    stopping = replace(make_stopping(len(panels)), rules=rules)
    made = replace(ladder, panels=panels, stopping=stopping)
    return replace(ensemble, panels=made, algorithm="panels")


def make_tables(ensemble: Ensemble, gate: int, seed: int) -> PartTables:
    """Tables of any chances, of the whole and of two parts of a feature's values."""
    features, random = ensemble.catalogue.features, np.random.default_rng(seed)
    cuts = tuple(
        np.arange(float(random.integers(0, 3))) + 0.25 * (feature.type == "number")
        for feature in features
    )
    is_category = np.array(
        [feature.type == "category" for feature in features], np.bool_
    )
    has_missing = random.random(len(features)) < 0.5
    n_cells = sum(points.size + 1 for points in cuts) + int(has_missing.sum())
    n_classes = len(ensemble.classes)

    def draw_part() -> PartTable:
        shares = random.dirichlet(np.ones(n_classes))
        chances = random.uniform(0.05, 1.0, (n_cells, n_classes))
        return PartTable(
            float(random.integers(40, 99)),
            np.maximum(np.log(shares), -9.0).round(4),
            np.log(chances).round(4),
        )

    split = Split((gate,), "cuts", np.array([0.5]))
    if is_category[gate]:
        split = Split((gate,), "codes", np.array([0.0, 1.0]))
    children = (NOWHERE, 1) if random.random() < 0.3 else (1, 2)
    root = replace(draw_part(), gate=split, children=children)
    parts = (root, *(draw_part() for child in children if child > 0))
    return PartTables(cuts, is_category, has_missing, parts)


@st.composite
def with_worth(draw, ensembles) -> Ensemble:
    """An ensemble that asks each case its own questions, by any tables."""
    ensemble = draw(with_panels(ensembles))
    idxs = range(len(ensemble.catalogue.features))
    tables = make_tables(
        ensemble, draw(st.sampled_from(idxs)), draw(st.integers(0, 99))
    )
    first = draw(st.none() | st.sampled_from(idxs))
    terms = (
        AskingTerms(0, draw(st.sampled_from((0.0, 0.5, 1.0)))),
        AskingTerms(3, 1.0, first),
    )
    panels = tuple(
        panel
        if panel.blend is None
        else replace(
            panel,
            blend=replace(
                panel.blend,
                tables=TableMember(tables, panel.feature_idxs),
                tables_weight=0.5,
            ),
        )
        for panel in ensemble.panels.panels
    )
    ladder = replace(
        ensemble.panels, panels=panels, tables=tables, worth=Worth(terms, tuple(idxs))
    )
    return replace(ensemble, panels=ladder, policy="worth")


@st.composite
def with_rules(draw, ensembles) -> Ensemble:
    """An ensemble whose panels have rules for going on."""
    ensemble = draw(ensembles)
    ladder = ensemble.panels
    stopping = make_stopping(
        len(ladder.panels), draw(st.integers(1, 3)), draw(st.integers(0, 99))
    )
    ladder = replace(ladder, stopping=stopping)
    return replace(ensemble, panels=ladder, policy="adaptive")


@st.composite
def with_panels(draw, ensembles) -> Ensemble:
    """An ensemble that has panels of any of its features."""
    ensemble = draw(ensembles)
    idxs = list(range(len(ensemble.catalogue.features)))
    orders = draw(st.lists(st.permutations(idxs), min_size=1, max_size=2))
    cut = [order[: draw(st.integers(0, len(order)))] for order in orders]
    ladder = make_ladder(ensemble, cut, draw(st.integers(0, 99)), draw(st.booleans()))
    return replace(ensemble, panels=ladder, policy="panels")
