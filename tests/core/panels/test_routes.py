"""Routes: kept where rows that had no say in them gain, and only there."""

from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.catalogue.prices import total_cost
from askless.core.model.ladder.panels import Panel, PanelLadder
from askless.core.model.ladder.routes import MAIN
from askless.core.panels import routes as routing
from askless.core.panels.ladders import fit_ladder
from askless.core.panels.predictors.blending import FittedPanels
from askless.core.panels.roots import make_split
from askless.core.panels.routes import (
    Makers,
    add_route,
    choose_budget_range,
    choose_by_budget,
    compute_fold_gains,
    free_root,
)
from askless.core.panels.rows import PanelRows
from askless.core.table.dataset import Dataset
from askless.core.work import end_of
from tests.panels import shorten
from tests.routes import indicator, teller
from tests.small import MICROS

RUNGS = [MICROS, 2 * MICROS, 3 * MICROS]
EMPTY = Panel((), 0.7, frozenset())


def blind(rows: PanelRows) -> FittedPanels:
    """Main panels that say nothing of any row."""
    held_out = rows.hold_out(5, rows.n_rows)
    panels = (teller((0, 1, 2)), EMPTY)
    return FittedPanels(panels, np.zeros((2, rows.n_rows, 1)), held_out, rows.columns)


def part_of(rows: PanelRows, *panels: Panel) -> FittedPanels:
    """What a part is made of, as far as routes look at it."""
    return blind(rows)._replace(panels=panels)


def all_telling(rows: PanelRows, root, budgets) -> FittedPanels:
    """Panels of a part: the feature that is its class, then the root alone."""
    # The first look is at one budget.
    assert budgets in ([2 * MICROS], [MICROS, 2 * MICROS])
    assert rows.dataset.catalogue.features[0].cost == 0
    same = (rows.dataset.values == rows.targets[:, None]).all(axis=0)
    own = 1 + int(np.argmax(same[1:]))
    return part_of(rows, teller((*root, own), own), teller(tuple(root)))


def nothing_telling(rows: PanelRows, root, budgets) -> FittedPanels:
    del budgets
    return part_of(rows, teller(tuple(root)))


def route(dataset: Dataset, fit_part=all_telling, rungs=RUNGS) -> PanelLadder:
    rows = PanelRows(dataset, 0)
    blended = blind(rows)
    ladder = PanelLadder(blended.panels, rows.starts, spaces=(blended.space,))
    makers = Makers(lambda dataset, _: dataset, fit_part, rungs)
    return end_of(add_route(rows, ladder, blended, makers))


def test_route_is_kept_from_the_budget_on_that_pays_the_root_and_what_it_names():
    ladder = route(indicator())

    kept = ladder.route
    assert (kept.split.feature_idxs, kept.least_budget, kept.up_to) == (
        (0,),
        2 * MICROS,
        None,
    )
    assert kept.parts.tolist() == [MAIN, MAIN, 0, 0, 1, 1]
    assert [one.feature_idxs for one in ladder.panels[2:]] == [
        (0, 1),
        (0,),
        (0, 2),
        (0,),
    ]


def test_route_whose_panels_tell_no_more_is_not_kept():
    assert route(indicator(), nothing_telling).route is None


def test_root_that_a_third_of_the_largest_budget_does_not_pay_is_none():
    assert route(indicator(), rungs=RUNGS[:2]).route is None


def test_route_is_not_kept_where_a_fold_names_another_root(monkeypatch):
    rows = PanelRows(indicator(), 0)
    roots = iter([make_split(rows, (0,)), make_split(rows, (1,))])
    monkeypatch.setattr(routing, "find_root", lambda *_: next(roots))

    assert route(indicator()).route is None


def test_route_that_is_sure_in_one_fold_alone_is_not_kept(monkeypatch):
    sure, rest = np.ones((3, 4)) + np.arange(4), -np.ones((3, 40))
    gains = iter([sure, sure, rest, np.zeros((3, 40))])
    monkeypatch.setattr(routing, "compute_fold_gains", lambda *_: next(gains))

    assert route(indicator()).route is None
    assert next(gains, None) is None


@pytest.mark.parametrize("n_looks", [1, 2])
def test_root_is_refused_where_the_first_fold_shows_no_lead(n_looks, monkeypatch):
    sure, none = np.ones((3, 4)) + np.arange(4), np.zeros((3, 4))
    gains = iter([*[sure] * (n_looks - 1), none])
    monkeypatch.setattr(routing, "compute_fold_gains", lambda *_: next(gains))
    fitted = []

    def fit_part(rows, root, budgets):
        fitted.append(len(budgets))
        return nothing_telling(rows, root, budgets)

    assert route(indicator(), fit_part).route is None
    # Two parts at the first look, at one budget, and two at all budgets.
    assert fitted == [1, 1, 2, 2][: 2 * n_looks]


def test_row_without_a_part_gains_nothing():
    dataset = indicator()
    dataset.values[:3, 0] = np.nan
    rows = PanelRows(dataset, 0)
    split = make_split(rows, (0,))
    children = {
        part: part_of(rows, teller((0, 1 + part), 1 + part), teller((0,)))
        for part in (0, 1)
    }

    gains = compute_fold_gains(
        rows, np.arange(4), split, children, blind(rows), [0, *RUNGS]
    )

    assert gains.shape == (4, 4)
    assert (gains[2:, 3] > 0.5).all()
    assert not gains[:, :3].any()
    assert not gains[:2].any()


def test_fold_without_rows_of_a_part_gains_by_the_others():
    rows = PanelRows(indicator(), 0)
    children = {
        part: part_of(rows, teller((0, 1 + part), 1 + part), teller((0,)))
        for part in (0, 1)
    }

    gains = compute_fold_gains(
        rows, np.array([0, 2]), make_split(rows, (0,)), children, blind(rows), RUNGS
    )

    assert (gains[1:] > 0.5).all()


def gaining(*means: float) -> np.ndarray:
    """Gains of nine rows per rung, of a standard error of 1."""
    errors = np.array([-3.0, 0.0, 3.0] * 3) * np.sqrt(1.5)
    return np.array([mean + errors for mean in means])


@pytest.mark.parametrize(
    ("means", "limits"),
    [
        ((0.0, 0.0, 0.0), None),
        ((1.5, 1.5, 1.5), None),
        ((0.0, 1.5, 2.5), (20, None)),
        ((2.5, 0.0, 1.5), (10, 19)),
        ((2.5, 0.0, 3.5), (30, None)),
        ((-5.0, 2.5, -5.0), (20, 29)),
    ],
)
def test_route_is_in_force_where_it_leads_by_a_standard_error(means, limits):
    assert choose_budget_range(gaining(*means), [10, 20, 30]) == limits


def test_preferred_panel_of_a_budget_is_the_first_that_it_pays():
    catalogue = indicator().catalogue
    panels = [teller((0, 1, 2)), teller((0, 1))]

    chosen = choose_by_budget(catalogue, panels, RUNGS)

    assert chosen == [None, 1, 0]


def test_who_has_paid_the_root_has_paid_its_fee_or_its_bundle():
    features = (
        Feature("a", cost=2, group="fee"),
        Feature("b", cost=3, group="fee"),
        Feature("c", cost=0, group="bundle"),
        Feature("d", cost=0, group="bundle"),
        Feature("e", cost=5, group="other"),
    )
    groups = (Group("fee", fee=7), Group("bundle", price=11), Group("other", fee=13))
    catalogue = Catalogue(features, groups)

    assert total_cost(free_root(catalogue, (0,))) == 3 + 11 + 5 + 13
    assert total_cost(free_root(catalogue, (2, 3))) == 2 + 3 + 7 + 5 + 13
    assert free_root(catalogue, (2, 3)).groups[1].is_bundle


@pytest.mark.slow
def test_fitted_ladder_asks_the_root_and_then_what_it_names():
    plain = indicator(210, 3)
    targets = np.where(plain.values[:, 0] == 0, 0, plain.targets)

    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        fitting = fit_ladder(replace(plain, targets=targets), 3, RUNGS)
        ladder = end_of(fitting)

    kept = ladder.route
    assert kept.split.feature_idxs == (0,)
    assert ladder.stopping.errors.size == (kept.parts == MAIN).sum()
    sets = [
        [ladder.panels[place].feature_idxs for place in np.flatnonzero(kept.parts == p)]
        for p in range(3)
    ]
    # Of the first part all rows are of one class.
    assert sets[0] == [(0,)]
    assert (0, 2) in sets[1]
    assert (0, 3) in sets[2]
