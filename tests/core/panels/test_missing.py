"""What panels take for information: missing cells only where there are enough."""

import math
from dataclasses import replace

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.codes.binned_table import code_table
from askless.core.estimator.classifier import BudgetedBoostingClassifier
from askless.core.panels.ladders import fit_ladder
from askless.core.pipeline.parts import PartJob, fit_part_ladders
from askless.core.pipeline.progress import Part
from askless.core.pipeline.spec import TrainingSpec
from askless.core.table.gaps import fill_gaps, list_informative_features
from askless.core.table.spec import TableSpec
from askless.core.training.params import BoostParams
from askless.core.work import run_to_end
from tests.panels import shorten
from tests.small import table_of

N_ROWS = 430


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    shorten(monkeypatch)


def table(*n_missing, n_rows=N_ROWS):
    """A number and a category that tell the class, missing in so many rows."""
    random = np.random.default_rng(1)
    targets = np.arange(n_rows) % 2
    numbers = targets + random.normal(size=n_rows)
    columns = numbers, (targets + random.integers(0, 2, n_rows)).astype(np.float64)
    columns[0][random.permutation(n_rows)[: n_missing[0]]] = math.nan
    columns[1][random.permutation(n_rows)[: n_missing[1]]] = math.nan
    features = Feature("age"), Feature("thal", "category", categories=("a", "b", "c"))
    return table_of(columns, targets, Catalogue(features))


def fit(dataset, **wanted):
    return run_to_end(fit_ladder(dataset, 3, effort="fast", **wanted))


def lacking(ladder):
    return frozenset().union(*(panel.may_lack for panel in ladder.panels))


@pytest.mark.slow
def test_one_missing_cell_teaches_panels_nothing():
    dataset = table(1, 1)

    ladder = fit(dataset)

    assert lacking(ladder) == frozenset()
    # That it may be empty is known all the same.
    assert ladder.emptiness is not None
    filled = fit(fill_gaps(dataset, np.zeros(2, np.bool_)))
    assert replace(ladder, emptiness=None) == filled


@pytest.mark.slow
def test_many_missing_cells_are_learned_as_information():
    dataset = table(60, 1)

    ladder = fit(dataset)

    assert lacking(ladder) == {0}
    assert ladder != fit(fill_gaps(dataset, np.zeros(2, np.bool_)))


@pytest.mark.slow
def test_how_many_it_takes_is_a_parameter():
    assert lacking(fit(table(60, 1), least_missing=1)) == {0, 1}


@pytest.mark.slow
def test_parameter_reaches_panels_of_a_training():
    dataset, params = table(60, 1), BoostParams("auto", least_missing=61)

    spec = TrainingSpec(TableSpec("y"), boost=params)
    job = PartJob(Part(0, 1, 0.0, 1.0, 1.0), code_table(dataset), spec, None, {})

    [ladder] = run_to_end(fit_part_ladders(job, dataset))

    # By default 20 are enough.
    assert lacking(ladder) == frozenset()


@pytest.mark.slow
def test_rows_that_are_fitted_to_are_counted_not_all_of_the_table():
    dataset = table(30, 30, n_rows=30_000)

    assert list_informative_features(dataset, 20).all()
    assert lacking(fit(dataset)) == frozenset()


@pytest.mark.parametrize(
    ("wanted", "is_told", "note"),
    [
        ({}, False, "Missing values say nothing in 0 (9 of 430 rows)."),
        ({"least_missing": 9}, True, "Missing values count as information in 0."),
    ],
)
def test_estimator_takes_the_parameter_and_keeps_the_note(wanted, is_told, note):
    dataset = table(9, 0)
    model = BudgetedBoostingClassifier("panels", folds=0, effort="fast", **wanted)

    model.fit(dataset.values, dataset.targets)

    assert (0 in lacking(model.ensemble_.panels)) == is_told
    assert model.warnings_ == (note,)


def test_estimator_of_several_labels_at_once_has_no_panels_and_no_note():
    dataset = table(9, 0)
    labels = np.column_stack((dataset.targets, 1 - dataset.targets))

    model = BudgetedBoostingClassifier("auto", rounds=2, folds=0)

    assert model.fit(dataset.values, labels).warnings_ == ()
