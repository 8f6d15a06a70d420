"""Sessions whose panels depend on what a root says; walks are in `test_simulate`."""

import math
from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Group
from askless.core.model.ensemble import Ensemble
from askless.core.model.ladder.panels import Panel, PanelLadder
from askless.core.model.ladder.routes import MAIN, Route, Split
from askless.core.pipeline.certificates import list_level_budgets
from askless.core.session import machine
from askless.core.session.state import State
from askless.core.simulation.simulate import walk
from tests.panels import make_stopping
from tests.routes import teller
from tests.sessions import NEVER, answer_from_row, observe, small_ensemble

COSTS = [10, 20, 30, 40]
BUNDLE = Group("both", price=10)
EMPTY = Panel((), 0.7, frozenset())


def routed(split: Split, least: int = 30, up_to: int | None = None, **fields):
    """Feature 1 decides part 0, feature 2 part 1; the main panels ask feature 3."""
    root = split.feature_idxs
    main = [teller((3,)), EMPTY]
    children = [teller((*root, 1 + part), 1 + part) for part in (0, 1)]
    panels = (*main, *(one for its in children for one in (its, teller(root))))
    route = Route(split, np.array([MAIN, MAIN, 0, 0, 1, 1]), least, up_to)
    ladder = PanelLadder(panels, np.zeros(1), None, route)
    ensemble = small_ensemble(fields.pop("costs", COSTS), policy="panels", **fields)
    return replace(ensemble, panels=ladder)


def by_cut(**fields) -> Ensemble:
    return routed(Split((0,), "cuts", np.array([0.5])), **fields)


def begin(ensemble: Ensemble, budget: int | None, **options) -> State:
    return machine.start(ensemble, budget, stop=NEVER, **options)


def asked(ensemble: Ensemble, budget: int | None, row, **options) -> list[int]:
    return answer_from_row(ensemble, begin(ensemble, budget, **options), row)[1]


@pytest.mark.parametrize(("root", "named"), [(0.0, 1), (1.0, 2)])
def test_root_is_asked_first_and_then_what_it_names(root, named):
    ensemble, row = by_cut(), [root, 1.0, 1.0, 0.0]

    state, order = answer_from_row(ensemble, begin(ensemble, 60), row)

    assert order == [0, named]
    forecast = machine.forecast(ensemble, state)
    assert forecast.probabilities[1] > 0.9
    assert forecast.known_share == 1.0


@pytest.mark.parametrize(("budget", "order"), [(29, []), (40, [0, 1]), (45, [3])])
def test_other_budgets_ask_the_main_panels(budget, order):
    ensemble = by_cut(least=30, up_to=44)

    assert asked(ensemble, budget, [0.0] * 4) == order


@pytest.mark.parametrize(("up_to", "first"), [(None, 0), (99, 3)])
def test_unlimited_budget_is_beyond_every_end(up_to, first):
    assert asked(by_cut(up_to=up_to), None, [0.0] * 4)[0] == first


@pytest.mark.parametrize("outcome", ["refused", "unavailable", "unknown", "ordered"])
def test_without_the_root_the_main_panels_are_asked(outcome):
    ensemble = by_cut()
    state = begin(ensemble, 60)

    state = observe(ensemble, state, 0, outcome)

    assert state.next_feature_idx == 3


def test_code_that_training_did_not_see_is_asked_the_main_panels():
    ensemble = routed(Split((0,), "codes", np.array([0.0, 1.0])))

    assert asked(ensemble, 60, [2.0, 1.0, 1.0, 1.0]) == [0, 3]
    assert asked(ensemble, 60, [1.0, 1.0, 1.0, 1.0]) == [0, 2]


def test_part_without_panels_is_asked_the_main_ones():
    ensemble = by_cut()
    kept = ensemble.panels
    route = replace(kept.route, parts=kept.route.parts[:4])
    ladder = replace(kept, panels=kept.panels[:4], route=route)

    order = asked(replace(ensemble, panels=ladder), 60, [1.0, 1.0, 1.0, 1.0])

    assert order == [0, 3]


def test_known_root_is_not_asked():
    assert asked(by_cut(), 60, [1.0] * 4, known={0: 0.0}) == [1]


def test_root_that_what_remains_does_not_pay_is_not_asked():
    ensemble = by_cut(least=0)

    assert asked(ensemble, 9, [0.0] * 4) == []
    assert asked(ensemble, 10, [0.0] * 4) == [0]


def test_bundle_is_asked_whole_and_its_largest_column_names_the_part():
    ensemble = routed(
        Split((0, 3), "largest", np.empty(0)),
        costs=[0, 20, 30, 0],
        members={0: BUNDLE, 3: BUNDLE},
    )

    state, order = answer_from_row(ensemble, begin(ensemble, 60), [0.1, 0.0, 1.0, 0.9])

    assert order == [0, 3, 2]
    assert state.spent == 40
    assert asked(ensemble, 60, [0.9, 0.0, 1.0, math.nan])[-1] != 1


def test_question_for_the_root_names_what_may_follow():
    ensemble = by_cut()

    question = machine.next_question(ensemble, begin(ensemble, 60))

    assert question.feature_idx == 0
    assert question.alternatives == ((1, 20), (2, 30))
    # It and the feature that it names share what they gain.
    assert question.open_share == 0.5


def test_question_after_the_root_brings_all_that_is_left():
    ensemble = by_cut()
    state = observe(ensemble, begin(ensemble, 60), 0, "value", 1.0)

    question = machine.next_question(ensemble, state)

    assert (question.feature_idx, question.open_share) == (2, 1.0)
    assert question.alternatives == ()


def test_adaptive_sessions_know_the_main_panels_alone():
    ensemble = by_cut()
    stopping = make_stopping(2)
    ladder = replace(ensemble.panels, stopping=stopping)
    ensemble = replace(ensemble, panels=ladder)

    state = begin(ensemble, 60, policy="adaptive")

    assert state.next_feature_idx in (3, None)


def test_walk_parts_rows_by_what_the_root_says():
    ensemble = by_cut()
    rows = np.array([[0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [math.nan] * 4])

    walks = walk(ensemble, rows, [60], needs_ranks=True)

    assert walks.ranks.tolist() == [[1, 2, 0, 0], [1, 0, 2, 0], [1, 0, 0, 2]]
    assert walks.spent[:, 0].tolist() == [30, 40, 0]
    assert walks.marks[:, 0].tolist() == [2, 4, 1]


def test_budgets_that_part_cases_otherwise_are_levels_of_their_own():
    levels = list_level_budgets(by_cut(least=10), 9)

    assert {10, 30, 40} <= set(levels)
