"""How good sets of features are: their losses on held-out rows, each found once."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.arrays import FloatArray, IntArray
from core.model.panels import to_chances
from core.panels.chances import fit_link, losses_and_pulls, to_logits
from core.panels.purchases import Shop
from core.panels.ridges import WIDTHS, find_median, measure_squares, wanted_votes
from core.panels.rows import PanelRows
from core.panels.trees import held_out_scores, make_growth

SEARCH_FOLDS = 4
SEARCH_ROUNDS = 60

# Rows that score the kernels of a set.
N_KERNEL_ROWS = 500
QUICK_HOLD = 0.3


@dataclass(eq=False)
class SetSearch:
    """Scores sets of features on held-out rows, each once."""

    rows: PanelRows
    shop: Shop
    scores: dict[frozenset[int], FloatArray] = field(default_factory=dict)
    losses: dict[frozenset[int], FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folds = self.rows.folds(SEARCH_FOLDS)
        self.growth = make_growth(self.rows, SEARCH_ROUNDS)
        n_rows = self.rows.n_rows
        few = np.linspace(0, n_rows - 1, min(n_rows, N_KERNEL_ROWS))
        self.few = few.round().astype(np.int64)
        # A kernel leaves out rows one by one, not those that belong together.
        has_groups = self.rows.dataset.row_groups is not None
        self.has_kernel = not has_groups and not self.rows.has_rare
        costs = [self.shop.price(offer) for offer in self.shop.offers]
        positive = [cost for cost in costs if cost > 0] or [1]
        self.usual_price = float(np.median(positive))
        #: what a price counts as at least
        self.least_price = 0.02 * self.usual_price

    def tree_scores(self, feature_idxs: Iterable[int]) -> FloatArray:
        """Log odds of held-out rows by trees on a set; (n_rows, n_outputs)."""
        key = frozenset(feature_idxs)
        if key not in self.scores:
            if key:
                found = held_out_scores(self.rows, sorted(key), self.growth, self.folds)
            else:
                found = np.tile(self.rows.starts, (self.rows.n_rows, 1))
            self.scores[key] = found
        return self.scores[key]

    def loss(self, feature_idxs: Iterable[int]) -> float:
        """Mean log-loss of a set on the rows that judge."""
        return float(self.row_losses(feature_idxs).mean())

    def is_better(self, one: Iterable[int], other: Iterable[int]) -> bool:
        """Return whether a set loses less than another by over a standard error."""
        gains = self.row_losses(other) - self.row_losses(one)
        return float(gains.mean()) > float(gains.std()) / math.sqrt(gains.size)

    def row_losses(self, feature_idxs: Iterable[int]) -> FloatArray:
        """Log-loss of each row that judges, by trees and a kernel; (n_rows,).

        Weighted, in shares of the mean weight; without the kernel where a class is
        rare or rows belong together.
        """
        key = frozenset(feature_idxs)
        if key not in self.losses:
            rows, logits = self.rows, self.tree_scores(key)
            targets, weights = rows.targets, rows.weights
            if key and self.has_kernel:
                few = self.few
                targets, weights = targets[few], weights[few]
                kernel = kernel_logits(rows, sorted(key), few)
                both = (to_chances(logits[few]) + to_chances(kernel)) / 2
                logits = to_logits(both)
            losses, _ = losses_and_pulls(logits, targets)
            self.losses[key] = losses * weights / weights.mean()
        return self.losses[key]

    def weigh_price(self, amount: int) -> float:
        """Return a price as gains are divided by it."""
        return max(float(amount), self.least_price)


def kernel_logits(
    rows: PanelRows, feature_idxs: Sequence[int], few: IntArray
) -> FloatArray:
    """Log odds of some rows by a Laplace kernel ridge, each without the row itself."""
    columns = rows.lay_columns(tuple(feature_idxs)).lay(rows.dataset.values[few])
    width = WIDTHS["laplace"] * find_median(columns)
    kernel = np.exp(-np.sqrt(measure_squares(columns)) / width)
    targets, weights = rows.targets[few], rows.weights[few]
    wanted = wanted_votes(rows)[few]
    means = weights @ wanted / weights.sum()
    inverse = np.linalg.inv(kernel + QUICK_HOLD * np.diag(1.0 / weights))
    votes = wanted - inverse @ (wanted - means) / np.diag(inverse)[:, None]
    slope, offsets = fit_link(votes, targets, weights)
    logits: FloatArray = slope * votes + offsets
    return logits
