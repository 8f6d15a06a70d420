"""Trains a model of a checked table, of one class per row or of several."""

from dataclasses import asdict, replace

from askless.core.codes.binned_table import code_table
from askless.core.model.model import Model
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train
from askless.core.table.check import CheckedTable
from askless.core.table.dataset import Dataset
from askless.core.training.algorithms import ALGORITHMS, grow_ensemble, make_ensemble
from askless.core.work import end_of


def fit_model(dataset: Dataset, spec: TrainingSpec, warnings: tuple[str, ...]) -> Model:
    """Train as the service does; several labels at once by boosting alone."""
    if not dataset.is_multilabel:
        return end_of(train(CheckedTable(dataset, None, warnings), spec))
    # Panels, folds and choices on held-out rows need one class per row.
    name = spec.boost.algorithm
    params = replace(spec.boost, algorithm=ALGORITHMS[name].rule or name)
    rounds = [*grow_ensemble(code_table(dataset), params, (), is_strict=True)]
    ensemble = make_ensemble(dataset, params, rounds)
    return Model(spec.name, ensemble, spec.table.target, asdict(params))
