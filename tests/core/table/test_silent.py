"""Cells that nobody answered: marked, kept through all that a table goes through, and
never taken for information."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from askless.core.panels.ladders import fit_ladder
from askless.core.pipeline.check import check_training
from askless.core.pipeline.preparing import prepare_columns, prepare_table
from askless.core.pipeline.spec import TrainingSpec
from askless.core.selection.search import select_subset
from askless.core.simulation.simulate import class_probabilities, simulate
from askless.core.table.gaps import (
    fill_gaps,
    fill_silent_cells,
    list_informative_features,
    note_gaps,
)
from askless.core.table.silent import SILENT, mark_silent, mask_of_silent
from askless.core.table.spec import TableSpec
from askless.core.training.algorithms import make_ensemble
from askless.core.training.params import BoostParams
from askless.core.work import run_to_end
from tests.baselines import grown
from tests.small import MICROS, table_of

NAN = math.nan
S = SILENT[0]


def test_marked_cells_are_missing_and_known_apart():
    values = np.array([1.0, NAN, NAN])

    marked = mark_silent(values, np.array([True, True, False]))

    assert np.isnan(marked).tolist() == [False, True, True]
    assert mask_of_silent(marked).tolist() == [False, True, False]
    assert not mask_of_silent(values).any()


def test_marks_outlast_what_tables_go_through():
    dataset = table_of([[1, S, NAN, 4], [S, S, 3, 4]])
    is_marked = mask_of_silent(dataset.values)

    copied = pickle.loads(pickle.dumps(dataset))
    taken = dataset.take(np.array([1, 0]))

    assert is_marked.tolist() == [[0, 1], [1, 1], [0, 0], [0, 0]]
    assert mask_of_silent(copied.values).tolist() == is_marked.tolist()
    assert mask_of_silent(taken.values).tolist() == is_marked[[1, 0]].tolist()
    assert mask_of_silent(np.column_stack([*dataset.values.T])).sum() == 3


def test_only_cells_that_are_missing_in_the_world_are_a_gap():
    targets = np.arange(80) % 2
    column = np.where(targets == 1, NAN, np.arange(80))
    silent = mark_silent(column, np.isnan(column))
    half = np.where(np.arange(80) < 43, silent, column)

    found = [
        list_informative_features(table_of([one], targets), 20).tolist()
        for one in (column, silent, half)
    ]

    assert found == [[True], [False], [False]]
    assert "count as information" in note_gaps(table_of([column], targets), 20)
    assert note_gaps(table_of([silent], targets), 20) == ""


def test_marked_cells_are_filled_also_where_others_are_information():
    dataset = table_of([[3, 3, S, NAN], [1, 1, 1, 1]])

    filled = fill_gaps(dataset, np.array([True, True]))
    told = fill_gaps(dataset, np.array([False, True]))

    assert filled.values[:3, 0].tolist() == [3, 3, 3]
    assert np.isnan(filled.values[3, 0])
    assert told.values[:, 0].tolist() == [3, 3, 3, 3]
    assert fill_silent_cells(filled) is filled


def test_marked_cells_are_drawn_from_the_others_by_weight():
    column = np.array([1.0, 2.0, 5.0, *[S] * 3000])
    weights = np.array([0.0, 0.3, 0.1, *[0.0002] * 3000])
    dataset = table_of([column, [S] * 3003], weights=weights)

    filled, again = fill_silent_cells(dataset).values, fill_silent_cells(dataset).values

    drawn = filled[3:, 0]
    assert set(drawn.tolist()) == {2.0, 5.0}
    assert (drawn == 2.0).mean() == pytest.approx(0.75, abs=0.03)
    assert np.isnan(filled[:, 1]).all()
    assert filled.tobytes() == again.tobytes()


def test_columns_are_marked_where_the_table_says_so():
    columns = {
        "a": np.array([1.0, NAN, NAN, 4.0] * 3),
        "b": np.array(["x", None, "y", None] * 3, np.object_),
        "y": np.array(["0", "1"] * 6, np.object_),
    }
    is_silent = {"a": np.array([True, True, False, True] * 3)}
    spec = TrainingSpec(TableSpec("y"), boost=BoostParams("panels"), folds=0)

    def find(name):
        return is_silent.get(name, np.zeros(12, np.bool_))

    whole = prepare_table(check_training(columns, spec, silent=find), spec)
    apart = prepare_columns(columns, 12, spec, silent=find)

    for prepared in (whole, apart):
        marked = mask_of_silent(prepared.table.sample.values)
        assert marked[:4].tolist() == [[0, 0], [1, 0], [0, 0], [0, 0]]


def silenced(dataset, is_gone, gap):
    values = dataset.values.copy()
    values[is_gone, 1] = gap
    return replace(dataset, values=values)


def ended_early(n_rows=400, seed=3):
    """A weak sign, a strong one, and the rows of which the strong one is not asked.

    Whoever asks sees most of the healthy, and ends their cases before it is asked. So
    that it was not asked tells the class, and that it can't be had tells nothing.
    """
    random = np.random.default_rng(seed)
    targets = random.integers(0, 2, n_rows)
    signs = [targets * gain + random.normal(size=n_rows) for gain in (0.5, 1.5)]
    is_gone = random.random(n_rows) < np.where(targets == 0, 0.85, 0.15)
    return table_of(signs, targets), is_gone


def of_no_use(n_rows, seed=3):
    """A table with a good sign, and one that is noise where it was asked."""
    dataset, is_gone = ended_early(n_rows, seed)
    good, noise = np.random.default_rng(seed).normal(size=(2, n_rows))
    values = np.column_stack([dataset.targets + good, noise])
    return replace(dataset, values=values), is_gone


def test_trees_do_not_grow_by_what_was_not_asked():
    test = of_no_use(400, 9)[0]

    def error(gap):
        wrong = []
        for seed in (3, 5):
            tree = grown(silenced(*of_no_use(250, seed), gap), "decision_tree")
            chances = class_probabilities(tree, simulate(tree, test.values, [None]))[
                :, 0
            ]
            wrong.append(chances.argmax(axis=-1) != test.targets)
        return np.mean(wrong)

    assert error(S) < error(NAN) - 0.02


def test_selection_does_not_take_what_was_not_asked_for_a_value():
    noise, is_gone = of_no_use(120)
    gone, silent = (silenced(noise, is_gone, gap) for gap in (NAN, S))

    assert 1 in run_to_end(select_subset(gone)).feature_idxs
    assert 1 not in run_to_end(select_subset(silent)).feature_idxs


@pytest.mark.slow
def test_panels_learn_nothing_of_what_was_not_asked():
    dataset, is_gone = ended_early()
    # Of these the strong sign can't be had, whatever their class.
    test = silenced(ended_early(seed=4)[0], slice(None), NAN)

    def chances(training):
        ladder = run_to_end(fit_ladder(training, effort="fast"))
        ensemble = make_ensemble(training, BoostParams("panels"), ())
        ensemble = replace(ensemble, panels=ladder)
        return class_probabilities(
            ensemble, simulate(ensemble, test.values, [9 * MICROS])
        )

    def loss(training):
        told = chances(training)[:, 0][np.arange(400), test.targets]
        return -np.log(told).mean()

    full, silent, missing = (
        loss(one)
        for one in (
            dataset,
            silenced(dataset, is_gone, S),
            silenced(dataset, is_gone, NAN),
        )
    )

    assert silent < full + 0.05
    assert missing > full + 0.2
