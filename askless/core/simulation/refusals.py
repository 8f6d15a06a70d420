"""Rises of the loss where each feature in turn is refused."""

from dataclasses import replace

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.model.ensemble import Ensemble
from askless.core.simulation.outcomes import TableRows, label_ends
from askless.core.simulation.simulate import simulate
from askless.core.spread import map_in_threads
from askless.core.table.dataset import Dataset

# A class of chance 0 counts as this one: its loss stays finite.
LEAST_CHANCE = 1e-12


def measure_refusals(
    ensemble: Ensemble,
    dataset: Dataset,
    rows: TableRows,
    budget: int | None,
    policy: str | None = None,
) -> FloatArray:
    """Return the mean rise of the log-loss where each feature alone is refused.

    Parameters
    ----------
    dataset : Dataset
        The classes and weights of the rows; its features are those of `ensemble`.
    rows : TableRows
        The values of the rows, and their random streams.
    budget : int, optional
        Of every session, in micro-units; None: unlimited.
    policy : str, optional
        As in `simulate`.

    Returns
    -------
    float64 array, shape (n_features,)
        In nats. Negative where sessions predict better without the feature; 0 where
        none asks for it.

    Notes
    -----
    This is an ablation of single features in play. Sessions go on after a refusal, so
    the rise counts what other features can replace for the money that is left.
    """
    values, streams = rows.values, rows.streams
    whole = simulate(
        ensemble, values, [budget], policy, rows.seed, needs_ranks=True, streams=streams
    )
    losses = measure_losses(dataset, label_ends(ensemble, whole)[1])

    def measure_refusal(idx: int) -> float:
        # All other sessions are as before.
        asked = np.flatnonzero(whole.ranks[:, idx])
        if not asked.size:
            return 0.0
        hidden = values[asked]
        hidden[:, idx] = np.nan
        without = ignore_missing(ensemble, idx)
        own = [streams[row] for row in asked.tolist()]
        ends = simulate(without, hidden, [budget], policy, rows.seed, streams=own)
        part = dataset.take(asked)
        after = measure_losses(part, label_ends(without, ends)[1])
        weights = dataset.weights[asked]
        return float(weights @ (after - losses[asked]) / dataset.weights.sum())

    rises = map_in_threads(measure_refusal, range(values.shape[1]))
    return np.fromiter(rises, np.float64)


def ignore_missing(ensemble: Ensemble, feature_idx: int) -> Ensemble:
    """Return an ensemble that learns nothing from a missing value of a feature.

    A missing cell is then played as a refused answer.
    """
    if ensemble.panels is None:
        return ensemble
    hidden = frozenset({feature_idx})
    panels = tuple(
        replace(panel, may_lack=panel.may_lack - hidden)
        for panel in ensemble.panels.panels
    )
    return replace(ensemble, panels=replace(ensemble.panels, panels=panels))


def measure_losses(dataset: Dataset, chances: FloatArray) -> FloatArray:
    """Return the log-loss of each row; of several labels at once, of all together."""
    chances = np.clip(chances, LEAST_CHANCE, 1.0)
    if not dataset.is_multilabel:
        rows = np.arange(len(chances))
        return np.asarray(-np.log(chances[rows, dataset.targets]))
    others = np.clip(1.0 - chances, LEAST_CHANCE, 1.0)
    losses = np.where(dataset.targets == 1, -np.log(chances), -np.log(others))
    return np.asarray(losses.sum(axis=1))
