"""What is measured of a method: error, ranking, log-loss and calibration by budget."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from askless.core.arrays import FloatArray, IntArray

Method = dict[str, Any]

N_BINS, ROWS_OF_BINS = 10, 1000
LEAST_CHANCE = 1e-6


def measure(
    chances: FloatArray,
    targets: IntArray,
    spent: IntArray,
    budgets: Sequence[int],
    votes: IntArray | None = None,
) -> Method:
    """Measure sessions by budget; (n_rows, n_budgets), spend in micro-units.

    `chances` are of the positive class; without `votes` half decides.
    """
    labels = chances > 0.5 if votes is None else votes
    columns = range(len(budgets))
    found = {
        "errors": (labels != targets[:, None]).mean(axis=0),
        "aurocs": [roc_auc_score(targets, chances[:, column]) for column in columns],
        "log_losses": find_losses(chances, targets).mean(axis=0),
        "mean_spends": (spent / np.array(budgets)).mean(axis=0),
        "max_spends": (spent / np.array(budgets)).max(axis=0),
    }
    if targets.size >= ROWS_OF_BINS:
        found["calibrations"] = [
            miss(chances[:, column], targets) for column in columns
        ]
    rounded = {name: np.round(values, 6).tolist() for name, values in found.items()}
    return {**rounded, "violations": int((spent > np.array(budgets)).sum())}


def find_losses(chances: FloatArray, targets: IntArray) -> FloatArray:
    """Log-losses of chances of the positive class; (n_rows, n_columns)."""
    clipped = np.clip(chances, LEAST_CHANCE, 1 - LEAST_CHANCE)
    losses: FloatArray = -np.log(np.where(targets[:, None] == 1, clipped, 1 - clipped))
    return losses


def miss(chances: FloatArray, targets: IntArray) -> float:
    """Calibration error: mean gap of chance and share, in bins of equal mass."""
    order = np.argsort(chances, kind="stable")
    parts = np.array_split(order, N_BINS)
    gaps = [abs(chances[part].mean() - targets[part].mean()) for part in parts]
    return float(np.average(gaps, weights=[part.size for part in parts]))
