"""Errors under budgets of a model that learns: of rows before they are learnt."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from askless.core.model.figures import wilson_interval
from askless.core.model.learning_state import RECENT_ROWS
from askless.core.pipeline.online.budget_errors import (
    FIRST_ROWS,
    STEP,
    add_played_row,
    split_at_played,
)
from askless.core.pipeline.online.learning import Learning, LearntRows
from askless.core.simulation.curves import simulate_rows
from askless.core.table.dataset import Dataset
from askless.core.training.params import BoostParams
from tests.baselines import mixed
from tests.small import finish, train

PARAMS = BoostParams("online", rounds=8, half_life=300)
N_ROWS = 24


def trained(folds=2, n_classes=2):
    dataset = mixed(3, n_classes, n_samples=90, share_missing=0.1)
    return finish(train(dataset, PARAMS, folds=folds, target="y"))


def drifted(n_classes=2) -> Dataset:
    """Rows whose classes go the other way from the middle on."""
    dataset = mixed(4, n_classes, n_samples=N_ROWS, share_missing=0.1)
    dataset.targets[N_ROWS // 2 :] = n_classes - 1 - dataset.targets[N_ROWS // 2 :]
    return dataset


def learn(model, rows):
    learning = Learning(model)
    learning.learn(rows)
    return learning.finish()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_error_under_a_budget_is_that_of_sessions_of_rows_not_yet_learnt(n_classes):
    """Against sessions of each row by the model as it was before that row."""
    model, dataset = trained(n_classes=n_classes), drifted(n_classes)
    weights = np.where(np.arange(N_ROWS) % 2, 0.5, 2.0)
    rows = LearntRows(dataset.values, dataset.targets, weights)
    budgets, now, wrong = model.curve.budgets, model, []
    for row in range(N_ROWS):
        part = dataset.take(slice(row, row + 1))
        ends = simulate_rows(now.ensemble, part, budgets, streams=[row])
        wrong.append(ends.wrong_labels[0])
        now, _ = learn(now, rows.take(slice(row, row + 1)))

    learnt, report = learn(model, rows)

    shares = weights @ np.array(wrong, float) / weights.sum()
    n_effective = weights.sum() ** 2 / (weights @ weights)
    fades = 0.5 ** (np.arange(N_ROWS - 1, -1, -1) / RECENT_ROWS) * weights
    recent = fades @ np.array(wrong, float) / fades.sum()
    assert [under.budget for under in report.under_budgets] == list(budgets)
    for place, under in enumerate(report.under_budgets):
        assert under.error.value == pytest.approx(shares[place])
        assert under.error.interval == pytest.approx(
            wilson_interval(shares[place], n_effective)
        )
        assert under.recent.value == pytest.approx(recent[place])
    told = [facts["error"] for facts in learnt.card["learnt"]["budgets"]]
    assert told == pytest.approx(shares.tolist())
    assert learnt.card["learnt"]["budgets"][-1]["budget"] is None


def test_figures_of_a_call_are_of_its_rows_and_those_of_the_card_of_all():
    dataset, model = drifted(), trained()
    rows = LearntRows(dataset.values, dataset.targets, np.ones(N_ROWS))
    before, first = learn(model, rows.take(slice(0, 10)))

    after, second = learn(before, rows.take(slice(10, N_ROWS)))
    _, idle = learn(after, rows.take(slice(0, 0)))

    pairs = zip(first.under_budgets, second.under_budgets, strict=True)
    sums = [10 * old.error.value + 14 * new.error.value for old, new in pairs]
    told = [facts["error"] for facts in after.card["learnt"]["budgets"]]
    assert np.array(told) * N_ROWS == pytest.approx(sums)
    assert [under.error for under in idle.under_budgets] == [None] * len(sums)
    assert [under.recent for under in idle.under_budgets] == [
        under.recent for under in second.under_budgets
    ]


def test_model_without_a_curve_has_no_error_under_budgets():
    dataset = drifted()
    rows = LearntRows(dataset.values, dataset.targets, np.ones(N_ROWS))

    learnt, report = learn(trained(folds=0), rows)

    assert report.under_budgets == ()
    assert report.error is not None
    assert learnt.card["learnt"]["budgets"] == []


def test_rows_between_those_that_are_played_tell_nothing():
    dataset, model = drifted(), trained()
    learning = replace(model.learning, n_learnt=FIRST_ROWS + 1)
    rows = LearntRows(dataset.values, dataset.targets, np.ones(N_ROWS))

    learnt, report = learn(replace(model, learning=learning), rows.take(slice(0, 3)))

    assert {under.error for under in report.under_budgets} == {None}
    assert learnt.card["learnt"]["budgets"] == []


def list_played(stops):
    """The numbers of the rows played, and for how many rows each counts."""
    played = []
    for start, stop in pairwise(stops):
        spans = [*split_at_played(start, stop - start)]
        rows = np.concatenate([np.arange(stop - start)[span] for span, _ in spans])
        assert rows.tolist() == list(range(stop - start))
        played += [(start + span.start, n) for span, n in spans if n]
    return played


@pytest.mark.parametrize("cuts", [(), (1_001,), (1_010,), (997, 998, 1_015, 1_039)])
def test_rows_are_played_whatever_the_calls_and_count_for_those_between(cuts):
    played = list_played([990, *cuts, 1_040])

    every, later = list(range(990, FIRST_ROWS)), range(FIRST_ROWS, 1_040, STEP)
    assert played == [(n, 1) for n in every] + [(n, STEP) for n in later]


def test_row_that_stands_for_several_fades_and_weighs_as_they():
    record = np.zeros((2, 2, 3))
    add_played_row(record, np.array([1.0, 0.0]), 0.5, 1)

    add_played_row(record, np.array([0.0, 1.0]), 0.5, STEP)

    fade = 0.5 ** (STEP / RECENT_ROWS)
    since, late = record.transpose(1, 0, 2)
    assert since.tolist() == [[5.5, 25.25, 0.5], [5.5, 25.25, 5.0]]
    assert late[0] == pytest.approx([5 + 0.5 * fade, 25 + 0.25 * fade**2, 0.5 * fade])
    assert late[1, 2] == pytest.approx(5.0)
