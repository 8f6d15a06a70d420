"""Search the next stump of online boosting, and make room for it."""

import math
from dataclasses import dataclass, replace

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, FloatArray
from askless.core.catalogue.catalogue import Catalogue
from askless.core.catalogue.prices import Paid
from askless.core.training.buying import Buyer
from askless.core.training.online.online_start import LEAST_ROWS
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Memory

# The rule that weighs edges against prices.
RULE = "adaboost_bt_smoothed"
# A stump is added once its edge is above so many standard errors (of features that are
# not read yet above more: `StumpSearch.compute_required_errors`), ...
NEED = 2.0
# ... and is ahead of the next by one of them, or so many rows came since the last one.
PATIENCE_ROWS = 20
# A look that finds no stump is repeated after `MORE_ROWS` rows, or after an eighth of
# the rows since the last stump.
MORE_ROWS, MORE_SHARE = 4, 8
# So many times fewer looks once all places are in use.
FULL = 4
# The histogram keeps this share when a stump is added, since that changes the weights
# of the rows in it: it counts as one of so many fewer rows.
KEPT = 0.75
# The sum of squared derivatives that an alpha begins with.
FIRST_SLOPE = 0.3
# A new stump replaces the weakest once its alpha would be so many times as large.
STRONGER = 1.5
MOST_EDGE = 0.9


@dataclass
class StumpSearch:
    """Looks for stumps; `buyer` has bought the features that were `read` last."""

    catalogue: Catalogue
    params: BoostParams
    is_category: BoolArray
    buyer: Buyer | None = None
    read: frozenset[int] = frozenset()

    def look(self, state: kernels.OnlineState) -> None:
        """Add the best stump, if there is evidence enough for one."""
        counts = state.counts
        is_full = counts[kernels.N_LEARNERS] == state.thresholds.size
        times = FULL if is_full else 1
        if self.add_stump(state):
            counts[kernels.N_SINCE], counts[kernels.N_LOOK] = 0, LEAST_ROWS * times
            return
        n_since = counts[kernels.N_SINCE]
        n_more = max(MORE_ROWS * times, n_since // MORE_SHARE)
        counts[kernels.N_LOOK] = n_since + n_more

    def add_stump(self, state: kernels.OnlineState) -> bool:
        """Add the best stump; return False where the evidence is too weak."""
        n_features, n_outputs = state.n_codes.size, state.sums.shape[2]
        stumps = kernels.OnlineStumps(
            np.empty(n_features),
            np.zeros(n_features, np.int64),
            np.zeros((n_features, n_outputs)),
        )
        kernels.choose_online_stumps(state, self.is_category, stumps)
        edges = stumps.edges
        # Rows without a feature's value have no part in the error of its edge.
        weight = max(state.facts[kernels.WEIGHT], kernels.TINY)
        errors = np.sqrt(state.squares) / weight
        sure = np.clip(edges - errors, 0.0, MOST_EDGE)
        score = self.make_buyer(state).make_scorer()
        scores = score(np.arange(n_features), sure, np.ones(n_features), ())
        is_shown = edges > self.compute_required_errors(n_features) * errors
        if not is_shown.any():
            return False
        best = int(np.where(is_shown, scores, -np.inf).argmax())
        is_other = np.arange(n_features) != best
        others = edges.max(initial=0.0, where=is_other)
        error = errors[best]
        is_ahead = edges[best] - others > error
        is_late = state.counts[kernels.N_SINCE] >= PATIENCE_ROWS
        if not (is_ahead or is_late):
            return False
        alpha = math.atanh(sure[best])
        place = free_learner_place(state, alpha)
        if place is None:
            return False
        state.stumps[place] = best, self.is_category[best]
        state.thresholds[place] = state.cuts[best, stumps.codes[best]]
        state.votes[place] = np.where(stumps.gains[best] >= 0.0, 1, -1)
        state.alphas[:, place] = alpha
        state.slopes[:, place] = FIRST_SLOPE
        state.sums[:] *= KEPT
        state.squares[:] *= KEPT
        state.facts[kernels.WEIGHT] *= KEPT
        return True

    def compute_required_errors(self, n_features: int) -> FloatArray:
        """Return how many standard errors each edge must be above; (n_features,).

        The greatest of n standard normals is about √(2 ln n). So a feature that is not
        read yet must show more than the luckiest of so many without any edge.
        """
        needs = np.full(n_features, NEED)
        is_unread = np.ones(n_features, np.bool_)
        is_unread[list(self.read)] = False
        n_unread = max(int(is_unread.sum()), 1)
        needs[is_unread] = max(NEED, math.sqrt(2.0 * math.log(n_unread)))
        return needs

    def make_buyer(self, state: kernels.OnlineState) -> Buyer:
        """Return a buyer that has bought the features of all learners."""
        n_learners = int(state.counts[kernels.N_LEARNERS])
        read = frozenset(state.stumps[:n_learners, kernels.READS_FEATURE].tolist())
        if self.buyer is None or read != self.read:
            params = replace(self.params, algorithm=RULE)
            self.buyer, self.read = Buyer(self.catalogue, params, Paid(read)), read
        self.buyer.memory = Memory()
        return self.buyer


def average_alphas(state: kernels.OnlineState) -> FloatArray:
    """Return the alphas, mixed over the speeds; (n_learners,)."""
    shares = np.exp(state.losses.min() - state.losses)
    mixed: FloatArray = (shares / shares.sum()) @ state.alphas
    return mixed


def free_learner_place(state: kernels.OnlineState, alpha: float) -> int | None:
    """Make room for a new stump, last in line; return None if it is too weak."""
    most = state.thresholds.size
    n_learners = int(state.counts[kernels.N_LEARNERS])
    if n_learners < most:
        state.counts[kernels.N_LEARNERS] += 1
        return n_learners
    alphas = np.abs(average_alphas(state))
    weakest = int(alphas.argmin())
    if alpha < STRONGER * alphas[weakest]:
        return None
    for array in (state.stumps, state.thresholds, state.votes):
        array[weakest:-1] = array[weakest + 1 :].copy()
    for array in (state.alphas, state.slopes):
        array[:, weakest:-1] = array[:, weakest + 1 :].copy()
    return most - 1
