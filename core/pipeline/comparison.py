"""Ways of asking compared on held-out rows, and the best kept for each budget."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import FloatArray, IntArray
from core.model.ensemble import BudgetRange, Ensemble
from core.session.probability import decide
from core.session.simulate import class_probabilities, walk
from core.table.dataset import Dataset

# Budgets are parted into so many ranges, each with the same number of them.
N_RANGES = 3


@dataclass(frozen=True, slots=True)
class Comparison:
    """What each of some policies loses under each of some budgets."""

    #: in micro-units, ascending; None: unlimited
    budgets: tuple[int | None, ...]
    #: by policy and budget: the share of labels that are wrong, or what they cost
    losses: tuple[tuple[str, tuple[float, ...]], ...]
    #: who is kept for which budgets
    ranges: tuple[BudgetRange, ...]


def compare(
    pairs: Sequence[tuple[Ensemble, Dataset]],
    policies: Sequence[str],
    budgets: Sequence[int | None],
    seed: int,
) -> Generator[None, None, Comparison]:
    """Compare policies on the rows that their ensembles never saw.

    The first policy is kept where no other is better by more than a standard error
    over the rows, of which a row group counts as one: a smaller lead is as likely luck.
    Yields after each ensemble.
    """
    parts: dict[str, list[FloatArray]] = {policy: [] for policy in policies}
    for ensemble, rows in pairs:
        for policy in policies:
            walks = walk(ensemble, rows.values, budgets, policy, seed)
            labels = decide(ensemble, class_probabilities(ensemble, walks))
            parts[policy].append(find_losses(ensemble, rows.targets, labels))
            yield
    sizes = np.array([rows.n_samples for _, rows in pairs], np.float64)
    weights = np.concatenate([rows.weights for _, rows in pairs])
    weights *= np.repeat(sizes / sizes.sum(), sizes.astype(np.int64))
    losses = np.array([np.concatenate(parts[policy]) for policy in policies])
    row_groups = number_groups([rows for _, rows in pairs])
    ranges: list[BudgetRange] = []
    for its in np.array_split(np.arange(len(budgets)), min(N_RANGES, len(budgets))):
        mean_losses = losses[:, :, its].mean(axis=2)
        best = policies[best_policy(mean_losses, weights, row_groups)]
        if ranges and ranges[-1].policy == best:
            ranges.pop()
        ranges.append(BudgetRange(budgets[its[-1]], best))
    means = zip(policies, (weights @ losses).tolist(), strict=True)
    told = tuple((policy, tuple(its)) for policy, its in means)
    return Comparison(tuple(budgets), told, tuple(ranges))


def find_losses(ensemble: Ensemble, targets: IntArray, labels: IntArray) -> FloatArray:
    """Return 1 for a wrong label, or what it costs; (n_rows, n_budgets)."""
    costs = 1.0 - np.eye(len(ensemble.classes))
    if ensemble.error_costs is not None:
        costs = np.array(ensemble.error_costs, np.float64)
    return costs[targets[:, None], labels]


def number_groups(parts: Sequence[Dataset]) -> IntArray:
    """Return numbers of the row groups of several parts of a table; (n_rows,)."""
    pairs = [
        np.column_stack((np.full(rows.n_samples, part), rows.row_group_idxs))
        for part, rows in enumerate(parts)
    ]
    return np.unique(np.concatenate(pairs), axis=0, return_inverse=True)[1].reshape(-1)


def best_policy(losses: FloatArray, weights: FloatArray, row_groups: IntArray) -> int:
    """Return who loses least, the first unless another is surely better.

    (n_policies, n_rows), (n_rows,), (n_rows,)
    """
    gains = losses[0] - losses
    means = gains @ weights
    away = weights * (gains - means[:, None])
    sums = np.array([np.bincount(row_groups, one) for one in away])
    spreads = np.sqrt((sums**2).sum(axis=1))
    return int(np.argmax(np.where(means > spreads, means, 0.0)))
