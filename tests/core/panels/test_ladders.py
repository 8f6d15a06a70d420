"""Ladders of panels: what each promises, whatever the table."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numba
import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.catalogue.prices import Paid, buy
from askless.core.codes.thinning import thin_classes
from askless.core.model.ladder.blends import to_chances
from askless.core.model.ladder.panels import Panel, PanelLadder
from askless.core.panels import ladders
from askless.core.panels.effort import EFFORTS
from askless.core.panels.ladders import (
    fit_ladder,
    fit_panels,
)
from askless.core.panels.predictors.blending import BlendedPanel
from askless.core.panels.rows import PanelRows
from askless.core.panels.rungs import ORDER_RULES, choose_orders, order_by_rule
from askless.core.table.dataset import Dataset
from askless.core.work import run_to_end
from tests.panels import shorten
from tests.small import make_dataset, pull, random_dataset, table_of


class Fit(NamedTuple):
    """A table, the ladder fitted to it, and what was told on the way."""

    dataset: Dataset
    ladder: PanelLadder
    shares: list[float]


def small(n_classes: int = 2, **fields) -> Dataset:
    """Four features of few values: a fee, a bundle, a category, missing cells."""
    dataset = random_dataset(7, n_classes, 18, 4, n_values=3)
    return replace(dataset, **fields)


def at_costs(*costs: int, seed: int = 0, n_rows: int = 20) -> Dataset:
    """Features of 0 and 1, the last of which tells the class."""
    random = np.random.default_rng(seed)
    values = random.integers(0, 2, (n_rows, len(costs))).astype(float)
    targets = values[:, -1].astype(np.int64)
    targets[:2] = 0, 1
    features = (Feature(f"f{idx}", cost=cost) for idx, cost in enumerate(costs))
    return make_dataset(values, targets, 2, catalogue=Catalogue(tuple(features)))


TABLES = {
    "two classes": small,
    "three classes": lambda: small(3),
    "row groups": lambda: small(row_groups=np.arange(18) // 2),
    "nothing useful": lambda: table_of([[1.0] * 8, [np.nan] * 8]),
    "free": lambda: at_costs(0, 0, 0),
    "one is dear": lambda: at_costs(1, 1, 1000),
    "few rows": lambda: table_of([[0.0, 1.0, 2.0]], [0, 0, 1]),
}


@cache
def fit(name: str, named: tuple[int, ...] = ()) -> Fit:
    dataset = TABLES[name]()
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        shares, ladder = pull(fit_ladder(dataset, 3, named))
    return Fit(dataset, ladder, shares)


@pytest.fixture(params=TABLES)
def fitted(request) -> Iterator[Fit]:
    return fit(request.param)


def price(dataset: Dataset, idxs) -> int:
    return buy(dataset.catalogue, Paid(), idxs)[0]


def test_linear_algebra_is_loaded_before_its_threads_are_limited(monkeypatch):
    done = []

    def limit(**_):
        done.append("limited")
        return nullcontext()

    monkeypatch.setattr(ladders, "load_solver", lambda: done.append("loaded"))
    monkeypatch.setattr(ladders, "threadpool_limits", limit)

    shorten(monkeypatch)
    next(fit_ladder(small()))

    assert done == ["loaded", "limited"]


@pytest.mark.slow
def test_there_is_one_panel_without_features(fitted):
    sizes = [len(panel.feature_idxs) for panel in fitted.ladder.panels]

    assert sizes.count(0) == 1


def test_no_set_has_two_panels(fitted):
    sets = [frozenset(panel.feature_idxs) for panel in fitted.ladder.panels]

    assert len(set(sets)) == len(sets)


def test_every_beginning_of_a_panel_is_a_panel(fitted):
    orders = [panel.feature_idxs for panel in fitted.ladder.panels]

    sets = set(map(frozenset, orders))

    assert {frozenset(order[:-1]) for order in orders} <= sets


def test_panels_are_preferred_by_their_loss(fitted):
    losses = [panel.loss for panel in fitted.ladder.panels]

    assert losses == sorted(losses)


def test_set_of_a_larger_budget_is_preferred_whatever_its_loss(monkeypatch):
    def make(rows, spaces, order, recipe, held_out, tables):
        del recipe, held_out, tables
        loss = {0: 0.7, 1: 0.2, 2: 0.5}[len(order)]
        panel = Panel(tuple(order), loss, frozenset(), rises=(0.0,) * len(order))
        made = BlendedPanel(panel, np.zeros((rows.n_rows, 1)))
        return dict.fromkeys(spaces, made)

    monkeypatch.setattr(ladders, "make_panels", make)
    rows = PanelRows(at_costs(1, 1), 0)

    orders = [[(0,), (1, 0)]]
    [fitted] = run_to_end(fit_panels(rows, orders, EFFORTS["standard"]))

    # The beginning (1,) counts as no better than its panel, nor than the one before.
    assert [(panel.feature_idxs, panel.loss) for panel in fitted.panels] == [
        ((1, 0), 0.2),
        ((0,), 0.2),
        ((1,), 0.2),
        ((), 0.7),
    ]


def test_beginning_of_a_panel_is_not_preferred_to_it(fitted):
    orders = [panel.feature_idxs for panel in fitted.ladder.panels]
    places = {frozenset(order): place for place, order in enumerate(orders)}

    first = orders[0]

    for size in range(len(first)):
        assert places[frozenset(first[:size])] > 0


def test_progress_never_goes_back_nor_beyond_the_whole(fitted):
    shares = [0.0, *fitted.shares]

    assert all(before <= after for before, after in pairwise(shares))
    assert shares[-1] == 1.0


def test_every_panel_tells_chances(fitted):
    values = fitted.dataset.values

    for panel in fitted.ladder.panels:
        chances = to_chances(panel.logits(values, fitted.ladder.starts))
        assert chances.shape == (len(values), len(fitted.dataset.classes))
        np.testing.assert_allclose(chances.sum(axis=1), 1.0)


def test_panels_read_useful_features_alone(fitted):
    is_useful = PanelRows(fitted.dataset, 0).is_useful

    read = {idx for panel in fitted.ladder.panels for idx in panel.feature_idxs}

    assert all(is_useful[idx] for idx in read)


def test_nothing_useful_is_the_class_shares_alone():
    ladder = fit("nothing useful").ladder

    assert [panel.feature_idxs for panel in ladder.panels] == [()]


def test_one_dear_feature_that_tells_the_class_is_bought_beside_cheap_panels():
    dataset, ladder, _ = fit("one is dear")

    assert 2 in ladder.panels[0].feature_idxs
    assert any(0 < price(dataset, panel.feature_idxs) < 1000 for panel in ladder.panels)


@pytest.mark.parametrize(("named", "is_rung"), [([1001], True), ([], False)])
def test_only_a_named_budget_is_a_rung(named, is_rung):
    rows = PanelRows(at_costs(*[10] * 20, 1_000), 0)

    rungs, [orders] = run_to_end(choose_orders(rows, named, EFFORTS["fast"]))

    assert (1001 in rungs) == is_rung
    assert len(orders) <= len(rungs)


def test_panels_of_larger_budgets_named_are_preferred():
    dataset, ladder, _ = fit("one is dear", (1, 1001))

    first, *_ = ladder.panels

    assert price(dataset, first.feature_idxs) > 1


@pytest.mark.parametrize("rule", ORDER_RULES)
def test_order_of_a_rule_is_what_it_reads_and_then_the_cheap_ones(rule):
    dataset = at_costs(30, 20, 25, 10)
    dataset.values[:, :3] = 1.0

    order = order_by_rule(dataset, rule, 4)

    assert order == (3, 1, 2, 0)


@pytest.mark.parametrize("most", [7, 18, 100])
def test_rows_are_thinned_evenly_to_no_more_than_the_limit(most):
    dataset = small()

    few = PanelRows(dataset, 0).thin(most).dataset

    assert few.n_samples == min(most, 18)
    assert few.weights.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(few.values[[0, -1]], dataset.values[[0, -1]])


@pytest.mark.slow
def test_ladder_of_very_many_rows_is_that_of_rows_that_stand_for_all(monkeypatch):
    shorten(monkeypatch)
    few = EFFORTS["fast"]._replace(fit_rows=12)
    monkeypatch.setitem(EFFORTS, "fast", few)

    ladder = run_to_end(fit_ladder(small(), 3, effort="fast"))

    assert ladder == run_to_end(fit_ladder(thin_classes(small(), 12), 3, effort="fast"))


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["fast", "thorough"])
def test_ladder_is_the_same_whatever_the_number_of_threads(effort):
    ladders = []
    most = numba.config.NUMBA_NUM_THREADS
    for n_threads in (1, most):
        numba.set_num_threads(n_threads)
        with pytest.MonkeyPatch.context() as patch:
            shorten(patch)
            ladders.append(run_to_end(fit_ladder(small(), 3, effort=effort)))
        numba.set_num_threads(most)

    assert ladders[0] == ladders[1]


def test_more_effort_tries_more_sets():
    tried = {
        name: (effort.max_rungs, effort.max_swaps) for name, effort in EFFORTS.items()
    }

    assert tried["fast"] < tried["standard"] <= tried["thorough"]
