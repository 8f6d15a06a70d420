"""Online boosting: rows are learnt one by one, in a state of fixed size.

The weights are those of AdaBoost.OL (Beygelzimer, Kale and Luo 2015, Algorithm 2): a
row weighs 1/(1 + exp(y s)), s its score. We deviate in three ways. Weak learners are
added one at a time, from one histogram of those weights under the whole score; in the
paper each has its own from the start. In our trials all then chose among the same few
features. Alphas move by AdaGrad (Duchi et al. 2011), not by a step of 4/sqrt(t). And
the whole score predicts, not a draw among its beginnings.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core import kernels
from core.arrays import CodeArray, FloatArray, IntArray
from core.model.hypotheses import Stump
from core.table.binning import Binned, bin_values
from core.table.catalogue import Catalogue
from core.table.dataset import Dataset
from core.table.prices import Paid
from core.training.boosting import initial_weights
from core.training.buying import Buyer
from core.training.params import BoostParams
from core.training.rounds import Round

# The rule that weighs edges against prices.
RULE = "adaboost_bt_smoothed"
# A stump is added once its edge is above so many standard errors, ...
NEED = 2.0
# ... and is ahead of the next by one of them, or so many rows came since the last one.
PATIENCE_ROWS = 20
# The first look for a stump comes so many rows after the last stump. A look that finds
# none is repeated after `MORE_ROWS` rows, or after an eighth of the rows so far.
LEAST_ROWS, MORE_ROWS, MORE_SHARE = 8, 4, 8
# The histogram keeps this share when a stump is added, since that changes the weights
# of the rows in it.
KEPT = 0.75
# The step of an alpha, and the sum of squared derivatives that it begins with.
RATE, FIRST_SLOPE = 0.1, 0.3
# A new stump replaces the weakest once its alpha would be so many times as large.
STRONGER = 1.5
MOST_EDGE = 0.9


@dataclass
class OnlineBooster:
    """Weak learners of a stream, and what is needed to go on learning.

    `heads` has the cuts by which rows are coded; `half_life` is the number of rows
    after which a row counts half.
    """

    catalogue: Catalogue
    heads: Binned
    params: BoostParams
    state: kernels.OnlineState

    @classmethod
    def start(
        cls, catalogue: Catalogue, heads: Binned, n_outputs: int, params: BoostParams
    ) -> "OnlineBooster":
        """Return a booster that has learnt nothing."""
        n_features, most = heads.n_codes.size, params.rounds
        n_codes = int(heads.n_codes.max(initial=1))
        facts = np.array([0.0, 0.0, 1.0])
        state = kernels.OnlineState(
            np.zeros((n_features, n_codes, n_outputs)),
            facts,
            np.zeros((most, 3), np.int64),
            np.zeros((most, n_outputs), np.int8),
            np.zeros(most),
            np.zeros(most),
            np.array([0, 0, 0, LEAST_ROWS]),
        )
        return cls(catalogue, heads, params, state)

    def learn(self, codes: CodeArray, signed: FloatArray, order: IntArray) -> None:
        """Learn rows in an order.

        Parameters
        ----------
        codes : uint8 array, shape (n_features, n_samples)
            By the cuts of `heads`.
        signed : float64 array, shape (n_samples, n_outputs)
            As `initial_weights` returns them, times the number of rows.
        order : int64 array
            Positions of the rows to learn.
        """
        growth = 2.0 ** (1.0 / self.params.half_life)
        rows = kernels.OnlineRows(codes, self.heads.n_codes, signed)
        position, counts = 0, self.state.counts
        while position < order.size:
            span = position, order.size
            position = kernels.learn_rows(rows, order, span, (growth, RATE), self.state)
            if counts[kernels.N_SINCE] == counts[kernels.N_LOOK]:
                self.look_for_stump()

    def look_for_stump(self) -> None:
        """Add the best stump, if there is evidence enough for one."""
        counts = self.state.counts
        if self.add_stump():
            counts[kernels.N_SINCE], counts[kernels.N_LOOK] = 0, LEAST_ROWS
            return
        n_since = counts[kernels.N_SINCE]
        counts[kernels.N_LOOK] = n_since + max(MORE_ROWS, n_since // MORE_SHARE)

    def add_stump(self) -> bool:
        """Add the best stump; return False where the evidence is too weak."""
        state = self.state
        n_features, n_outputs = self.heads.n_codes.size, state.sums.shape[2]
        found = kernels.OnlineStumps(
            np.empty(n_features),
            np.zeros(n_features, np.int64),
            np.zeros((n_features, n_outputs)),
        )
        kernels.find_online_stumps(
            state, self.heads.n_codes, self.heads.is_category, found
        )
        edges = found.edges
        weight, squares = state.facts[kernels.WEIGHT], state.facts[kernels.SQUARES]
        error = math.sqrt(squares) / max(weight, kernels.TINY)
        sure = np.clip(edges - error, 0.0, MOST_EDGE)
        everything = np.arange(n_features)
        score = self.make_buyer().make_scorer()
        scores = score(everything, sure, np.ones(n_features), ())
        best = int(scores.argmax())
        others = np.delete(edges, best).max(initial=0.0)
        is_ahead = edges[best] - others > error
        is_late = state.counts[kernels.N_SINCE] >= PATIENCE_ROWS
        if edges[best] <= NEED * error or not (is_ahead or is_late):
            return False
        alpha = math.atanh(sure[best])
        place = self.make_place(alpha)
        if place is None:
            return False
        is_category = self.heads.is_category[best]
        state.stumps[place] = best, found.codes[best], is_category
        state.votes[place] = np.where(found.gains[best] >= 0.0, 1, -1)
        state.alphas[place] = alpha
        state.slopes[place] = FIRST_SLOPE
        state.sums[:] *= KEPT
        state.facts[[kernels.WEIGHT, kernels.SQUARES]] *= KEPT
        return True

    def make_place(self, alpha: float) -> int | None:
        """Make room for a new stump, last in line; return None if it is too weak."""
        state, most = self.state, self.params.rounds
        n_learners = int(state.counts[kernels.N_LEARNERS])
        if n_learners < most:
            state.counts[kernels.N_LEARNERS] += 1
            return n_learners
        weakest = int(np.abs(state.alphas).argmin())
        if alpha < STRONGER * abs(state.alphas[weakest]):
            return None
        for array in (state.stumps, state.votes, state.alphas, state.slopes):
            array[weakest:-1] = array[weakest + 1 :].copy()
        return most - 1

    def make_buyer(self) -> Buyer:
        """Return a buyer that has bought the features of all learners."""
        n_learners = int(self.state.counts[kernels.N_LEARNERS])
        read = self.state.stumps[:n_learners, kernels.READS_FEATURE].tolist()
        params = replace(self.params, algorithm=RULE)
        return Buyer(self.catalogue, params, Paid(frozenset(read)))

    def stumps(self) -> list[tuple[Stump, float]]:
        """Return the weak learners with their alphas, all positive, in order."""
        found = []
        state = self.state
        for place in range(int(state.counts[kernels.N_LEARNERS])):
            feature, code, is_category = state.stumps[place].tolist()
            alpha = float(state.alphas[place])
            if alpha == 0.0:
                continue
            votes = (state.votes[place] * (1 if alpha > 0.0 else -1)).tolist()
            cut = float(self.heads.cuts[feature][code])
            stump = Stump(feature, cut, tuple(votes), bool(is_category))
            found.append((stump, abs(alpha)))
        return found


def grow_online(
    dataset: Dataset,
    params: BoostParams,
    done: Sequence[Round] = (),
    is_strict: bool = True,
) -> Iterator[Round]:
    """Learn the rows of a table once, in an order drawn by `params.seed`.

    Yields the weak learners, at most `params.rounds`, after all rows are learnt; an
    edge is tanh(alpha). `done` and `is_strict`, which doesn't matter here, are as in
    `core.training.algorithms.grow_ensemble`. The dataset is not multi-label.
    """
    del is_strict
    binned = bin_values(dataset)
    signed = initial_weights(dataset, params.label_weights) * dataset.n_samples
    booster = OnlineBooster.start(
        dataset.catalogue, binned.without_rows(), signed.shape[1], params
    )
    order = np.random.default_rng(params.seed).permutation(dataset.n_samples)
    booster.learn(binned.codes, signed, order)
    buyer = Buyer(dataset.catalogue, replace(params, algorithm=RULE))
    for number, (stump, alpha) in enumerate(booster.stumps(), 1):
        buyer.buy_features(stump)
        if number > len(done):
            edge = math.tanh(alpha)
            yield Round(number, stump, edge, alpha, 1.0, buyer.spent)
