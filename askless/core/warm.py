"""Compile, or load from the cache, every kernel before a request needs it."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.codes.binning import bin_values
from askless.core.model.ensemble import Ensemble
from askless.core.panels.gates import LEAST_ROWS, fit_tables
from askless.core.panels.ladders import fit_ladder
from askless.core.panels.tables import CountedRows
from askless.core.pipeline.online.learning import Learning, LearntRows
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train
from askless.core.session import machine
from askless.core.session.policies import list_serving_policies
from askless.core.session.state import Answer
from askless.core.simulation.curves import evaluate
from askless.core.table.check import CheckedTable
from askless.core.table.dataset import ClassLabel, Dataset
from askless.core.table.spec import TableSpec
from askless.core.training.algorithms import make_ensemble
from askless.core.training.boosting import boost, initial_weights
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round
from askless.core.work import run_to_end

PARAMS = (
    BoostParams(rounds=3, learner="stump"),
    BoostParams(rounds=3, learner="tree", leaves=3, search="ucb", search_size=2),
)

# Rows and classes so many that the parallel kernels run, too; the product that is
# fitted to these rows has two factors.
LARGE = 2600, 70


def warm_up(*, panels_first: bool = False, many_rows: bool = True) -> None:
    """Train on a few rows of two and of three classes, and play their sessions.

    The real path, so that each kernel is compiled for the types it is used with. A
    second call in the same process finds compiled what the first one has done, and
    does the rest.

    Parameters
    ----------
    panels_first : bool
        The order. Two processes may share the work: one trains, or begins with panels,
        the other begins with tables, which a training needs late. Each then loads what
        the other has compiled.
    many_rows : bool
        Whether to compile also what only trainings on many rows need.
    """
    large = [warm_many_rows] if many_rows else []
    steps = (
        [*large, warm_panels, warm_tables, warm_boosting]
        if panels_first
        else [warm_tables, warm_boosting, warm_learning, warm_panels, *large]
    )
    for step in [*steps, warm_panel_sessions, warm_learning]:
        run_once(step)


@cache
def run_once(step: Callable[[], None]) -> None:
    """Run a step that no earlier call in this process has run."""
    step()


def warm_boosting() -> None:
    """Compile what rounds of boosting need, and sessions of what they make."""
    for n_classes, params in product((2, 3), PARAMS):
        rows = make_rows(12, n_classes)
        play_policies(make_ensemble(rows, params, boost_rows(rows, params)), rows)


def warm_learning() -> None:
    """Compile what models need that go on learning."""
    rows, params = make_rows(256, 3), BoostParams("online", rounds=1)
    spec = TrainingSpec(TableSpec("y"), boost=params, folds=0)
    model = run_to_end(train(CheckedTable(rows, None, ()), spec))
    Learning(model).learn(LearntRows(rows.values, rows.targets, rows.weights))


def warm_panels() -> None:
    """Compile what fitting panels needs."""
    for n_classes in (2, 3):
        run_to_end(fit_ladder(make_rows(12, n_classes)))


def warm_tables() -> None:
    """Compile the search for gates, and tables in parts."""
    for n_classes in (2, 3):
        rows = make_rows(2 * LEAST_ROWS, n_classes)
        fit_tables(CountedRows(rows, np.ones(3, np.bool_)), 0)


def warm_panel_sessions() -> None:
    """Compile what sessions by panels need."""
    for n_classes in (2, 3):
        rows, params = make_rows(12, n_classes), PARAMS[0]
        ensemble = make_ensemble(rows, params, boost_rows(rows, params))
        play_policies(replace(ensemble, panels=run_to_end(fit_ladder(rows))), rows)


def warm_many_rows() -> None:
    """Compile what sums over many rows need, on all cores."""
    params = BoostParams(rounds=1, learner="product", factors=2)
    boost_rows(make_rows(*LARGE), params)


def boost_rows(rows: Dataset, params: BoostParams) -> list[Round]:
    """Return the rounds of boosting on some rows."""
    shards = [(bin_values(rows), initial_weights(rows))]
    return list(boost(shards, rows.catalogue, params))


def play_policies(ensemble: Ensemble, rows: Dataset) -> None:
    """Play sessions of an ensemble: of many rows at once, and of one case."""
    for policy in list_serving_policies(ensemble):
        evaluate(ensemble, rows, [1_000_000, None], policy)
        state = machine.start(ensemble, 10_000_000, policy=policy)
        machine.next_question(ensemble, state)
        state = machine.observe(ensemble, state, [Answer(0, "refused")])
        machine.forecast(ensemble, state)


def make_rows(n_samples: int, n_classes: int) -> Dataset:
    """Return rows of random values, some of them missing."""
    values = np.random.default_rng(0).random((n_samples, 3))
    values[:2] = np.nan
    return Dataset(
        catalogue=Catalogue(tuple(Feature(f"x{idx}") for idx in range(3))),
        classes=tuple(ClassLabel(str(idx), str(idx)) for idx in range(n_classes)),
        values=values,
        targets=np.arange(n_samples) % n_classes,
        weights=np.full(n_samples, 1 / n_samples),
    )
