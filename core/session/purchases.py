"""How often sessions ask for each feature, under each of some budgets."""

from collections.abc import Sequence

import numpy as np

from core.arrays import FloatArray
from core.model.ensemble import Ensemble
from core.session.simulate import walk
from core.table.dataset import Dataset


def find_purchases(
    ensemble: Ensemble,
    dataset: Dataset,
    budgets: Sequence[int | None],
    policy: str | None = None,
    seed: int = 0,
) -> FloatArray:
    """Return the share of rows whose sessions ask for a feature.

    (n_budgets, n_features), weighted by the rows' weights; budgets in micro-units,
    None is unlimited. Features that come back without a value are asked too.
    """
    shares = np.zeros((len(budgets), len(ensemble.catalogue.features)))
    for place, budget in enumerate(budgets):
        walks = walk(ensemble, dataset.values, [budget], policy, seed, needs_ranks=True)
        shares[place] = dataset.weights @ (walks.ranks > 0)
    # Sums of weights are rounded: what every row asks is asked by all.
    rounded: FloatArray = np.clip(shares.round(9), 0.0, 1.0)
    return rounded
