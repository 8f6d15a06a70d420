"""Importances of features as scikit-learn's selection reads them."""

from typing import Any

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.catalogue.costs import read_budget
from askless.core.estimator.conventions import hash_rows
from askless.core.estimator.predictions import Served
from askless.core.simulation.outcomes import TableRows
from askless.core.simulation.refusals import measure_refusals
from askless.core.table.dataset import Dataset

# Of a longer table so many rows are drawn: a fit takes hardly longer for it.
MOST_ROWS = 500


def weigh_features(
    served: Served, dataset: Dataset, budget: Any, policy: str | None, seed: int
) -> FloatArray:
    """Return the share of each feature in the rise of the loss by refusals.

    Parameters
    ----------
    dataset : Dataset
        The rows to measure on; at most `MOST_ROWS`, drawn by `seed`.
    budget, policy : as the estimator's
        Several budgets count as unlimited.

    Returns
    -------
    float64 array, shape (n_features,)
        At least 0. They sum to 1, or are all 0 where no refusal raises the loss.
    """
    if dataset.n_samples > MOST_ROWS:
        random = np.random.default_rng(seed)
        rows = random.choice(dataset.n_samples, MOST_ROWS, replace=False)
        dataset = dataset.take(np.sort(rows))
    name = served.choose_policy(policy)
    limit = read_budget(budget) if np.ndim(budget) == 0 else None
    limit = served.choose_budget(limit, name, None)
    played = TableRows(dataset.values, hash_rows(dataset.values), seed)
    rises = measure_refusals(served.ensemble, dataset, played, limit, name)
    gains = np.maximum(rises, 0.0)
    return gains / (gains.sum() or 1.0)
