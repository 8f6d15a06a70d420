"""Online boosting: rows are learnt one by one, in a state of fixed size.

The weights are those of AdaBoost.OL (Beygelzimer, Kale and Luo 2015, Algorithm 2): a
row weighs 1/(1 + exp(y s)), s its score. We deviate in three ways. Weak learners are
added one at a time, from one histogram of those weights under the whole score; in the
paper each has its own from the start. In our trials all then chose among the same few
features. Alphas move by AdaGrad (Duchi et al. 2011), not by a step of 4/sqrt(t). And
all alphas move by the whole score, which predicts, too; in the paper each moves by the
score of the learners before it, and one beginning of the score is drawn to predict.

Of K classes a weak learner is a stump with a vote for each, and each output has the
logistic weight of its own class, one against all. Jung, Goetz and Tewari (2017) let a
weak learner name one label, by a cost matrix. One stump for all classes reads one
feature; K ensembles of two classes would each buy features of their own.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue
from askless.core.catalogue.prices import hypothesis_costs
from askless.core.codes.binning import bin_values
from askless.core.model.hypotheses import Stump
from askless.core.table.dataset import Dataset, count_outputs
from askless.core.training.boosting import initial_weights
from askless.core.training.buying import Buyer
from askless.core.training.online.online_search import RULE, StumpSearch, average_alphas
from askless.core.training.online.online_start import (
    MARKS,
    compute_first_cuts,
    count_slots,
    make_state,
    set_cuts,
)
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round

# The step of an alpha.
RATE = 0.1
# The histogram keeps half of a row after so many rows at most.
KEPT_ROWS = 1_000
# Alphas are moved at each of these half-lives too, where `half_life` is longer; losses
# with a half-life of so many rows say how much each counts.
SPEEDS, LOSS_ROWS = (100, 1_000), 100
# How often the first rows are learnt.
N_PASSES = 3


@dataclass
class OnlineBooster:
    """Weak learners of a stream, and what is needed to go on learning."""

    catalogue: Catalogue
    params: BoostParams
    state: kernels.OnlineState
    is_category: BoolArray = field(init=False)
    search: StumpSearch = field(init=False)

    def __post_init__(self) -> None:
        """Note which features are categories, and how stumps are looked for."""
        types = [feature.type for feature in self.catalogue.features]
        self.is_category = np.array(types) == "category"
        self.search = StumpSearch(self.catalogue, self.params, self.is_category)

    @classmethod
    def start(
        cls,
        catalogue: Catalogue,
        n_classes: int,
        params: BoostParams,
        cuts: Sequence[FloatArray] | None = None,
    ) -> "OnlineBooster":
        """Return a booster that has learnt nothing.

        Parameters
        ----------
        catalogue : Catalogue
            The features, with the categories that are known.
        n_classes : int
            2 make one output, more make one each.
        params : BoostParams
            `rounds` is the most weak learners; `half_life` the number of rows after
            which a row counts half.
        cuts : sequence of float64 arrays, optional
            Those of a table, as `Binned` has them. By default the first rows give
            them. Either way they follow later rows (`adapt_cuts`).
        """
        n_slots = count_slots(catalogue, cuts)
        n_outputs = count_outputs(n_classes, is_multilabel=False)
        shape = len(SPEEDS) + 1, params.rounds
        state = make_state(catalogue, n_slots, n_outputs, shape)
        booster = cls(catalogue, params, state)
        if cuts is not None:
            set_cuts(state, cuts, booster.is_category)
            state.counts[kernels.HAS_TABLE] = 1
        return booster

    def learn(
        self, values: FloatArray, signed: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Learn rows in their order; return how each was judged before.

        However rows are dealt to calls, the state gets the same bytes. The first
        `MARKS[-1]` rows are kept in the state, and learnt anew at each mark.

        Parameters
        ----------
        values : float64 array, shape (n_samples, n_features)
            As `Dataset` has them. NaN is missing: learners that read it abstain, and
            the row is no information about the feature.
        signed : float64 array, shape (n_samples, n_outputs)
            As `sign_weights` returns them, with weights about 1.

        Returns
        -------
        scores : float64 array, shape (n_samples, n_outputs)
            The votes on each row before it was learnt.
        shares : float64 array, shape (n_samples,)
            The share of the learners' |alpha| that voted on the row.
        """
        n_samples = values.shape[0]
        rows = to_online_rows(values, signed)
        progress = np.zeros(signed.shape), np.zeros(n_samples)
        start = 0
        while start < n_samples:
            stop = n_samples
            n_first, n_rows = self.state.first_values.shape[0], self.n_rows
            if n_first:
                mark = next(later for later in MARKS if later > n_rows)
                stop = min(stop, start + mark - n_rows)
                slots = slice(n_rows, n_rows + stop - start)
                self.state.first_values[slots] = rows.values[start:stop]
                self.state.first_signed[slots] = rows.signed[start:stop]
            self.learn_span(rows, (start, stop), progress)
            if n_first and self.n_rows == mark:
                self.begin_anew(is_last=mark == MARKS[-1])
            start = stop
        return progress

    @property
    def n_rows(self) -> int:
        """Number of rows learnt."""
        return int(self.state.counts[kernels.N_ROWS])

    def begin_anew(self, *, is_last: bool) -> None:
        """Learn the first rows several times by their cuts; drop them if `is_last`."""
        old, n_rows = self.state, self.n_rows
        rows = kernels.OnlineRows(old.first_values[:n_rows], old.first_signed[:n_rows])
        _, n_slots, n_outputs = old.sums.shape
        self.state = make_state(self.catalogue, n_slots, n_outputs, old.alphas.shape)
        if old.counts[kernels.HAS_TABLE]:
            self.state.cuts[:], self.state.n_codes[:] = old.cuts, old.n_codes
        else:
            cuts = compute_first_cuts(self.catalogue, rows.values, n_slots)
            set_cuts(self.state, cuts, self.is_category)
        progress = np.zeros(rows.signed.shape), np.zeros(n_rows)
        # Very few rows would seem to be evidence if they came again.
        for _ in range(N_PASSES if n_rows >= MARKS[0] else 1):
            self.learn_span(rows, (0, n_rows), progress)
        self.state.counts[kernels.N_ROWS] = n_rows
        self.state.counts[kernels.HAS_TABLE] = old.counts[kernels.HAS_TABLE]
        n_kept = 0 if is_last else MARKS[-1]
        self.state = self.state._replace(
            first_values=old.first_values[:n_kept],
            first_signed=old.first_signed[:n_kept],
        )

    def learn_span(
        self,
        rows: kernels.OnlineRows,
        span: tuple[int, int],
        out_told: tuple[FloatArray, FloatArray],
    ) -> None:
        """Learn the rows of a span, and look for stumps between them."""
        half_life = self.params.half_life
        half_lives = np.array([*(min(speed, half_life) for speed in SPEEDS), half_life])
        pace = kernels.OnlinePace(
            growth=2.0 ** (1.0 / min(KEPT_ROWS, half_life)),
            growths=2.0 ** (1.0 / half_lives),
            rate=RATE,
            patience=0.5 ** (1.0 / LOSS_ROWS),
            is_category=self.is_category,
        )
        position, end = span
        counts = self.state.counts
        while position < end:
            rest = position, end
            position = kernels.learn_rows(rows, rest, pace, self.state, out_told)
            if counts[kernels.N_ROWS] % kernels.ROWS_PER_CUT == 0:
                kernels.adapt_cuts(self.is_category, self.state)
            if counts[kernels.N_SINCE] == counts[kernels.N_LOOK]:
                self.search.look(self.state)

    def stumps(self) -> list[tuple[Stump, float]]:
        """Return the weak learners with their alphas, all positive.

        Features come by the sum of their learners' |alpha| per price, the greatest
        first, since learners stay where they were added, and the truth changes. The
        policy `ordered` then spends on what counts now.
        """
        state, alphas = self.state, average_alphas(self.state)
        n_learners = int(state.counts[kernels.N_LEARNERS])
        stumps = []
        for place in self.rank_features(alphas[:n_learners]).tolist():
            feature, is_category = state.stumps[place].tolist()
            alpha = float(alphas[place])
            if alpha == 0.0:
                continue
            votes = (state.votes[place] * (1 if alpha > 0.0 else -1)).tolist()
            cut = float(state.thresholds[place])
            stump = Stump(feature, cut, tuple(votes), bool(is_category))
            stumps.append((stump, abs(alpha)))
        return stumps

    def rank_features(self, alphas: FloatArray) -> IntArray:
        """Return the places of the learners, those of the best features first.

        Learners of a feature stay in the order in which they were added.
        """
        catalogue = self.catalogue
        features = self.state.stumps[: alphas.size, kernels.READS_FEATURE]
        unpaid = np.zeros(len(catalogue.groups), np.bool_)
        costs = hypothesis_costs(catalogue, unpaid, None)
        sums = np.bincount(features, np.abs(alphas), len(catalogue.features))
        worth = sums / np.maximum(costs, 1.0)
        return np.lexsort((features, -worth[features]))


def to_online_rows(values: FloatArray, signed: FloatArray) -> kernels.OnlineRows:
    """Return rows as kernels take them: other memory layouts are compiled anew."""
    return kernels.OnlineRows(
        np.require(values, np.float64, ("C", "W")),
        np.require(signed, np.float64, ("C", "W")),
    )


def learn_table(dataset: Dataset, params: BoostParams) -> OnlineBooster:
    """Learn the rows of a table once, in an order drawn by `params.seed`.

    The dataset is not multi-label. The state holds none of its rows, however few.
    """
    cuts = bin_values(dataset).cuts
    n_classes = len(dataset.classes)
    booster = OnlineBooster.start(dataset.catalogue, n_classes, params, cuts)
    signed = initial_weights(dataset, params.label_weights) * dataset.n_samples
    order = np.random.default_rng(params.seed).permutation(dataset.n_samples)
    booster.learn(dataset.values[order], signed[order])
    if booster.state.first_values.size:
        booster.begin_anew(is_last=True)
    return booster


def grow_online(
    dataset: Dataset,
    params: BoostParams,
    done: Sequence[Round] = (),
    is_strict: bool = True,
) -> Iterator[Round]:
    """Learn a table online, as `learn_table` does.

    Yields the weak learners, at most `params.rounds`, after all rows are learnt; an
    edge is tanh(alpha). `done` and `is_strict`, which doesn't matter here, are as in
    `askless.core.training.algorithms.grow_ensemble`. The dataset is not multi-label.
    """
    del is_strict
    booster = learn_table(dataset, params)
    buyer = Buyer(dataset.catalogue, replace(params, algorithm=RULE))
    for number, (stump, alpha) in enumerate(booster.stumps(), 1):
        buyer.buy_features(stump)
        if number > len(done):
            edge = math.tanh(alpha)
            yield Round(number, stump, edge, alpha, 1.0, buyer.spent)
