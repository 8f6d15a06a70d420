"""Small ladders of panels, made up or fitted."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from core import kernels
from core.model.blends import Blend, LogisticRidge, Trees
from core.model.columns import NUMBER_CODE, Columns
from core.model.ensemble import Ensemble
from core.model.panels import Panel, PanelLadder
from core.model.routes import MAIN, Route, Split
from core.model.stopping import Stopping, StoppingRule
from core.panels import blending, search, sets, trees
from core.panels.effort import EFFORTS
from core.panels.rows import PanelRows
from core.panels.trees import make_growth
from tests.small import random_dataset


def random_rows(seed: int = 0, n_classes: int = 2, n_samples: int = 24) -> PanelRows:
    """Six features of few values: categories, missing cells, a fee and a bundle."""
    dataset = random_dataset(seed, n_classes, n_samples, n_values=4)
    return PanelRows(dataset, seed)


def shorten(patch: pytest.MonkeyPatch, rounds: int = 2) -> None:
    """Let trees be of few rounds and kernels of few waves: all of them take minutes."""

    def make_few(rows: PanelRows, wanted: int, *options: float) -> kernels.Growth:
        return make_growth(rows, min(rounds, wanted), *options)

    patch.setattr(blending, "make_growth", make_few)
    patch.setattr(sets, "make_growth", make_few)
    patch.setattr(search, "make_growth", make_few)
    patch.setattr(trees, "LEAF_ROUNDS", rounds)
    patch.setattr(search, "N_KERNEL_ROWS", 60)
    for name, effort in EFFORTS.items():
        short = effort._replace(
            order_rounds=2 * rounds,
            full=effort.full._replace(n_waves=30),
            light=effort.light._replace(n_waves=30),
        )
        patch.setitem(EFFORTS, name, short)


def make_blend(
    feature_idxs: Sequence[int], n_outputs: int, random: np.random.Generator
) -> Blend:
    """A logistic regression of any coefficients, beside trees without a node."""
    n_columns = len(feature_idxs)
    columns = Columns(
        np.array(feature_idxs),
        np.full(n_columns, NUMBER_CODE),
        np.full(n_columns, -5.0),
        np.full(n_columns, 5.0),
        random.normal(size=n_columns),
        np.ones(n_columns),
    )
    nothing = np.zeros(0)
    trees = kernels.ServedTrees(
        np.zeros((0, kernels.N_NODE), np.int64),
        nothing,
        np.array([-1]),
        np.array([0]),
        np.array([0.25]),
        nothing,
    )
    coefficients = random.normal(size=(n_columns, n_outputs))
    ridge = LogisticRidge(coefficients, random.normal(size=n_outputs))
    return Blend(
        columns, Trees(np.zeros(n_outputs), trees), (ridge,), np.array([0.5, 1.0])
    )


def make_ladder(
    ensemble: Ensemble, orders: Sequence[Sequence[int]], seed: int = 0
) -> PanelLadder:
    """The beginnings of some orders of features, the longest preferred."""
    random = np.random.default_rng(seed)
    sets = {
        frozenset(order[:size]): tuple(order[:size])
        for order in orders
        for size in range(len(order) + 1)
    }
    panels = [
        Panel(
            feature_idxs=order,
            loss=0.7 - 0.01 * len(order),
            may_lack=frozenset(idx for idx in order if random.random() < 0.3),
            blend=make_blend(order, ensemble.n_outputs, random) if order else None,
        )
        for order in sets.values()
    ]
    panels.sort(key=lambda panel: panel.loss)
    return PanelLadder(tuple(panels), random.normal(size=ensemble.n_outputs))


def make_route(ensemble: Ensemble, root: int, seed: int = 0) -> PanelLadder:
    """A ladder whose cases are parted by a feature, under some budgets or all.

    A part may have no panels of its own.
    """
    ladder, random = ensemble.panels, np.random.default_rng(seed)
    feature = ensemble.catalogue.features[root]
    split = Split((root,), "cuts", np.array([0.0, 1.0]))
    if feature.type == "category":
        split = Split((root,), "codes", np.array([0.0, 1.0]))
    idxs = [idx for idx in range(len(ensemble.catalogue.features)) if idx != root]
    panels, parts = list(ladder.panels), [MAIN] * len(ladder.panels)
    for part in range(random.integers(0, 2), split.n_parts):
        order = [root, *random.permutation(idxs)[: random.integers(0, 3)].tolist()]
        made = make_ladder(ensemble, [order], seed + part).panels
        its_panels = [one for one in made if one.feature_idxs]
        panels += its_panels
        parts += [part] * len(its_panels)
    least, room = random.integers(0, 60, 2).tolist()
    up_to = least + room if random.random() < 0.5 else None
    route = Route(split, np.array(parts), least, up_to)
    return replace(ladder, panels=tuple(panels), route=route)


def make_stopping(n_panels: int, n_rules: int = 2, seed: int = 0) -> Stopping:
    """Rules of any targets and thresholds; later ones spend more."""
    random = np.random.default_rng(seed)
    rules = tuple(
        StoppingRule(
            rate=float(random.choice([0.0, 1e-9, 1e-7, 1e-2])),
            spend=1e6 * number,
            error=0.4 / (1 + number),
            targets=np.array([random.integers(0, one + 1) for one in range(n_panels)]),
            thresholds=random.choice([-1.0, 0.1, 0.2, 0.3, 0.4], n_panels),
            prices=random.integers(0, 10, n_panels),
            left=random.random(n_panels),
        )
        for number in range(n_rules)
    )
    return Stopping(np.sort(random.random(n_panels)), rules)


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
    ladder = make_ladder(ensemble, cut, draw(st.integers(0, 99)))
    return replace(ensemble, panels=ladder, policy="panels")


@st.composite
def with_routes(draw, ensembles) -> Ensemble:
    """An ensemble whose panels are parted by one of its features."""
    ensemble = draw(with_panels(ensembles))
    root = draw(st.integers(0, len(ensemble.catalogue.features) - 1))
    return replace(
        ensemble, panels=make_route(ensemble, root, draw(st.integers(0, 99)))
    )
