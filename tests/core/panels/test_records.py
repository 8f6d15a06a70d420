"""Ladders as values: which panel predicts, what is the same, and what is pickled."""

import pickle
from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from askless.core.model.ladder.blends import KernelRidge
from askless.core.model.ladder.panels import Panel, PanelLadder
from askless.core.panels.effort import FULL
from tests.panels import make_ladder, make_panel, random_rows
from tests.sessions import small_ensemble


def ladder_of(*orders, rises=0.1) -> PanelLadder:
    """Panels of these features, the first preferred; each rises by so much."""
    panels = tuple(
        Panel(order, 0.1 * place, frozenset(), rises=(rises,) * len(order))
        for place, order in enumerate(orders)
    )
    return PanelLadder(panels, np.zeros(1))


def full_panel(rows, feature_idxs) -> Panel:
    return make_panel(rows, feature_idxs, FULL, rows.hold_out(2, 1)).panel


def flags(size: int, *idxs: int) -> np.ndarray:
    found = np.zeros(size, np.bool_)
    found[list(idxs)] = True
    return found


def test_panel_of_least_loss_predicts_where_several_are_known_whole():
    ladder = ladder_of((0,), (1, 2), (), rises=0.1)

    assert ladder.best_panel(flags(3, 0, 1, 2)) == 0


def test_answers_just_as_a_panel_has_them_are_its_own_though_a_part_loses_less():
    ladder = ladder_of((0,), (0, 1), (), rises=0.1)

    assert ladder.best_panel(flags(2, 0, 1)) == 1


def test_part_of_panels_is_answered_by_the_smallest_that_has_it():
    ladder = ladder_of((0, 1, 2, 3, 4), (0, 1, 2, 3), (0, 1, 2), (), rises=0.01)

    assert ladder.best_panel(flags(5, 0, 1)) == 2


def test_worthless_answer_does_not_throw_a_case_onto_a_far_larger_panel():
    ladder = ladder_of((0, 1, 2, 3, 4, 5), (0, 1), (), rises=0.05)

    assert ladder.best_panel(flags(6, 0, 1, 5)) == 1


def test_answer_that_is_worth_more_than_what_is_hidden_costs_goes_to_the_larger_panel():
    ladder = ladder_of((0, 1, 2), (0,), (), rises=0.05)

    assert ladder.best_panel(flags(3, 0, 1)) == 0


def test_panel_without_a_feature_loses_no_less_than_its_beginning_that_has_the_rest():
    ladder = ladder_of((0, 1, 2), (0, 1), (0,), (), rises=0.01)

    losses = [ladder.expect_losses(flags(3, *one))[0] for one in ((0, 1, 2), (0, 1))]

    assert losses == [0.0, pytest.approx(0.1)]


def test_several_hidden_features_lose_more_than_their_rises_together():
    ladder = ladder_of((), (0, 1, 2), rises=0.01)
    ladder = replace(ladder, panels=ladder.panels[1:])

    told = [float(ladder.expect_losses(flags(3, *one))[0]) for one in ((0, 1), (0,))]

    assert told == pytest.approx([0.1 + 0.01, 0.1 + 0.02 * 1.15])


def test_ladder_reads_up_to_the_last_feature_of_a_panel():
    assert ladder_of((4, 1), ()).n_read == 5
    assert ladder_of(()).n_read == 0


def test_ladder_without_features_predicts_by_the_class_shares():
    assert ladder_of(()).best_panel(flags(3)) == 0


def test_ladders_are_the_same_where_their_arrays_are():
    ensemble = small_ensemble([1, 1])

    one, same, other = (make_ladder(ensemble, [(0, 1)], seed) for seed in (0, 0, 1))

    assert one == same
    assert one != other


def test_values_of_other_kinds_or_lengths_are_not_the_same():
    ladder = ladder_of((0,), ())

    assert ladder.panels[0] != "panel"
    assert ladder != replace(ladder, panels=ladder.panels[:1])


def test_pickled_ridge_draws_its_waves_again():
    ridge = KernelRidge(
        "laplace", 2.0, 5, np.ones(2), np.ones((6, 1)), np.zeros(1), 1.0
    )
    columns = np.random.default_rng(0).normal(size=(4, 2))
    told = ridge.logits(columns)

    again = pickle.loads(pickle.dumps(ridge))

    assert "waves" not in vars(again)
    np.testing.assert_array_equal(again.logits(columns), told)


def test_trees_mapped_read_only_are_taken_as_copies():
    rows = random_rows()
    panel = full_panel(rows, (0, 4))
    trees = panel.blend.trees
    for array in trees.served:
        array.setflags(write=False)

    # As pickled: joblib maps large arrays of other processes so.
    taken = copy(trees)

    assert all(array.flags.writeable for array in taken.served)
    assert taken == trees


def test_prepared_ladder_has_drawn_its_waves():
    rows = random_rows()
    panel = full_panel(rows, (0, 4))
    ladder = PanelLadder((panel, *ladder_of(()).panels), rows.starts)
    kernel, logistic = panel.blend.ridges

    ladder.prepare()

    assert "waves" in vars(kernel)
    assert "waves" not in vars(logistic)
    assert {"members", "rises", "floors", "ranks"} <= set(vars(ladder))
