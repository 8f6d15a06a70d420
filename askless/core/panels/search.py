"""Losses of sets of features on held-out rows, each computed once."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from askless.core.arrays import FloatArray, IntArray, evenly_spaced
from askless.core.catalogue.prices import total_cost
from askless.core.kernels import CoarseTable
from askless.core.model.ladder.blends import to_chances
from askless.core.panels.effort import Effort
from askless.core.panels.predictors.chances import (
    fit_link,
    is_significantly_less,
    losses_and_gradients,
    to_logits,
)
from askless.core.panels.predictors.ridges import (
    WIDTH,
    compute_median_distance,
    compute_squared_distances,
    signed_targets,
)
from askless.core.panels.predictors.trees import make_growth_settings, score_held_out
from askless.core.panels.purchases import Shop
from askless.core.panels.rows import PanelRows

SEARCH_FOLDS = 4
SEARCH_ROUNDS, SEARCH_RATE = 20, 0.3

# Most rows that score the kernel of a set.
N_KERNEL_ROWS = 200
QUICK_PENALTY = 0.3


@dataclass(eq=False)
class SetSearch:
    """Scores sets of features on held-out rows, and remembers the scores.

    With `left_out` the rows of this fold have no say in which set is better, and only
    sets are judged that are remembered: another search has proposed them.
    """

    rows: PanelRows
    shop: Shop
    effort: Effort
    #: budgets that a user named, in micro-units: searched as thoroughly as small ones
    named: frozenset[int] = frozenset()
    left_out: int | None = None
    scores: dict[frozenset[int], FloatArray] = field(default_factory=dict)
    losses: dict[frozenset[int], FloatArray] = field(default_factory=dict)
    #: forward selections by what they began with
    selected: dict[Hashable, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        held_out = self.rows.hold_out(SEARCH_FOLDS, self.effort.search_judges)
        self.held_out, n_judges = held_out, held_out.row_idxs.size
        self.has_say = held_out.mark_others(self.left_out)
        self.growth = make_growth_settings(self.rows, SEARCH_ROUNDS, rate=SEARCH_RATE)
        #: the held-out rows that score kernels
        self.few = evenly_spaced(n_judges, N_KERNEL_ROWS)
        # A kernel leaves out rows one by one, not those that belong together.
        has_groups = self.rows.dataset.row_groups is not None
        self.has_kernel = not has_groups and not self.rows.has_rare
        costs = [self.shop.price(offer) for offer in self.shop.offers]
        positive = [cost for cost in costs if cost > 0] or [1]
        self.usual_price = float(np.median(positive))
        #: least price that gains are divided by
        self.least_price = 0.02 * self.usual_price
        #: budgets up to this are searched more thoroughly
        self.small_budget = self.effort.small * self.usual_price

    def is_thorough(self, budget: int) -> bool:
        """Return whether a budget is small or named: it gets the most thorough search.

        A named budget above the price of everything is searched as that price.
        """
        most = total_cost(self.shop.catalogue)
        is_named = budget in {min(amount, most) for amount in self.named}
        return is_named or budget <= self.small_budget

    def tree_scores(self, feature_idxs: Iterable[int]) -> FloatArray:
        """Return log odds of held-out rows by trees on a set, (n_judges, n_outputs).

        They are kept in `scores`. Without features they are the priors'.
        """
        key = frozenset(feature_idxs)
        if key not in self.scores:
            rows, held_out = self.rows, self.held_out
            if key:
                scores = score_held_out(rows, sorted(key), self.growth, held_out)
            else:
                scores = np.tile(rows.starts, (held_out.row_idxs.size, 1))
            self.scores[key] = scores
        return self.scores[key]

    @cached_property
    def judged(self) -> CoarseTable:
        """Codes of held-out rows."""
        table, row_idxs = self.rows.coarse, self.held_out.row_idxs
        return table._replace(codes=np.ascontiguousarray(table.codes[:, row_idxs]))

    def loss(self, feature_idxs: Iterable[int]) -> float:
        """Return the mean log-loss of a set on the held-out rows that have a say."""
        return float(self.row_losses(feature_idxs)[self.has_say].mean())

    def can_judge(self, feature_idxs: Iterable[int]) -> bool:
        """Return whether this search may judge a set; without `left_out` it may any."""
        return self.left_out is None or frozenset(feature_idxs) in self.losses

    def is_better(self, feature_idxs: Iterable[int], other: Iterable[int]) -> bool:
        """Return whether a set's log-loss is lower by more than one standard error."""
        return is_significantly_less(
            self.row_losses(feature_idxs)[self.has_say],
            self.row_losses(other)[self.has_say],
        )

    def row_losses(self, feature_idxs: Iterable[int]) -> FloatArray:
        """Return the weighted log-loss of each held-out row on a set; (n_judges,).

        Trees predict. For the rows `few` their probabilities are averaged with those of
        a kernel, unless a class is rare or rows belong together. Weights are relative
        to the mean weight. The losses are kept in `losses`.
        """
        key = frozenset(feature_idxs)
        if key not in self.losses:
            rows, logits = self.rows, self.tree_scores(key)
            targets, weights = self.held_out.targets, self.held_out.weights
            losses, _ = losses_and_gradients(logits, targets)
            if key and self.has_kernel:
                few = self.few
                kernel = kernel_logits(rows, sorted(key), self.held_out.row_idxs[few])
                both = (to_chances(logits[few]) + to_chances(kernel)) / 2
                losses[few], _ = losses_and_gradients(to_logits(both), targets[few])
            self.losses[key] = losses * weights / weights.mean()
        return self.losses[key]

    def weigh_price(self, amount: int) -> float:
        """Return the price that gains are divided by: `amount`, or the least price."""
        return max(float(amount), self.least_price)


def kernel_logits(
    rows: PanelRows, feature_idxs: Sequence[int], few: IntArray
) -> FloatArray:
    """Return leave-one-out log odds of some rows by a Laplace kernel ridge.

    Shape (n_few, n_outputs). The leave-one-out votes follow from a single fit, and are
    calibrated by Platt's link.
    """
    # Loaded where it is needed: most commands fit nothing.
    from scipy.linalg.lapack import strtri

    columns = rows.columns.take(tuple(feature_idxs)).standardise(
        rows.dataset.values[few]
    )
    squares = compute_squared_distances(columns, columns)
    width = np.float32(WIDTH * compute_median_distance(squares[::2, 1::2]))
    penalised = np.exp(-np.sqrt(squares).astype(np.float32) / width)
    targets, weights = rows.targets[few], rows.weights[few]
    targeted = signed_targets(rows)[few]
    means = weights @ targeted / weights.sum()
    # Every (n + 1)-th element is on the diagonal; a row of less weight is fitted less.
    penalised.flat[:: few.size + 1] += QUICK_PENALTY / weights
    # Only the diagonal of the inverse is needed, which a triangular root gives.
    half, _ = strtri(np.linalg.cholesky(penalised), lower=1)
    diagonal = np.einsum("ij,ij->j", half, half)[:, None]
    # The leave-one-out residual of row i is (K^-1 y)_i / (K^-1)_ii.
    votes = targeted - half.T @ (half @ (targeted - means)) / diagonal
    slope, offsets = fit_link(votes, targets, weights)
    logits: FloatArray = slope * votes + offsets
    return logits
