"""The one boosting loop: a generator that yields one `Round` per round.

What differs between algorithms is the rule; which hypotheses there are is the
learner's, and which features are looked at the sampling's. To cancel, stop pulling.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Protocol

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue
from askless.core.catalogue.prices import Paid
from askless.core.codes.binning import Binned
from askless.core.table.dataset import LabelledRows
from askless.core.training.buying import UNPAID, Buyer
from askless.core.training.feature_sampling import make_sampling
from askless.core.training.learner import MIN_EDGE, Choice, Learner, RoundSearch
from askless.core.training.learners import LEARNERS
from askless.core.training.params import BoostParams, LabelWeights
from askless.core.training.rounds import Round
from askless.core.training.rules import MAX_EDGE
from askless.core.training.shards.histograms import MOST_SUMS
from askless.core.training.shards.shards import LocalShards, Shard, Shards
from askless.core.training.shards.weights import Weights

# Rows and `initial_weights` of each shard in this process.
Tables = Sequence[tuple[Binned, FloatArray]]


class ShardSource(Protocol):
    """The rows of a run, if they are in other processes.

    `binned` has the cuts and lanes of all shards; its rows are not read.
    """

    binned: Binned
    n_outputs: int

    def begin(self, *, is_split: bool, is_kept: bool) -> Shards:
        """Return the shards of a new run, with the weights of its beginning."""


def initial_weights(
    rows: LabelledRows, label_weights: LabelWeights = "balanced"
) -> FloatArray:
    """Return the signed weights before the first round; (n_samples, n_outputs).

    For two classes they are D(i) y(i). For K classes, `balanced` gives half of D(i) to
    the class of the row and shares the other half among the others (Kegl and
    Busa-Fekete 2009, eq. 2); `uniform` gives D(i)/K to each, as a multi-label dataset
    always does; the sign is + where the row is of the class. For K = 2 the outputs
    would mirror each other, so one suffices.
    """
    n_classes = len(rows.classes)
    if rows.is_multilabel:
        return rows.weights[:, None] * rows.class_signs / n_classes
    return sign_weights(rows.targets, n_classes, rows.weights, label_weights)


def sign_weights(
    targets: IntArray,
    n_classes: int,
    weights: FloatArray | None = None,
    label_weights: LabelWeights = "balanced",
) -> FloatArray:
    """Return weights with the sign of each output; (n_samples, n_outputs).

    `targets` (n_samples,) are class positions; `weights` (n_samples,) are those of the
    rows, by default 1. `label_weights`: see `initial_weights`.
    """
    signs = np.where(targets[:, None] == np.arange(n_classes), 1.0, -1.0)
    own = np.ones((targets.size, 1)) if weights is None else weights[:, None]
    if n_classes == 2:
        return own * signs[:, 1:]
    if label_weights == "uniform":
        return own * signs / n_classes
    shares = np.where(signs > 0, 0.5, 0.5 / (n_classes - 1))
    return own * signs * shares


def estimate_training_bytes(n_samples: int, n_features: int, n_outputs: int) -> int:
    """Return the most bytes that boosting takes beside the columns as they were read.

    Each cell has its code, once more where few codes share a byte; each row its class
    and weight, and for each output the weights, before and in the run, their class and
    vote, and its entry in the list of changed rows.
    """
    per_row = n_features * 1.5 + 4 * 8 + (6 * 8 + 2) * n_outputs
    return int(n_samples * per_row)


def estimate_value_bytes(n_values: int, n_features: int) -> int:
    """Return the bytes of rows' values, held twice: of all rows and of a part's."""
    return n_values * n_features * 2 * 8


def boost(
    shards: Tables | ShardSource,
    catalogue: Catalogue,
    params: BoostParams,
    done: Sequence[Round] = (),
    paid: Paid = UNPAID,
) -> Iterator[Round]:
    """Boost weak hypotheses on a table, one round at a time.

    The rounds are the same to the bit however the rows lie in shards; a table in memory
    is one.

    Parameters
    ----------
    shards : sequence of (Binned, float64 array of shape (n_samples, n_outputs))
        Rows and initial weights of each shard, not mutated; the absolute weights of all
        shards sum to 1. Or a `ShardSource`, of rows in other processes.
    done : sequence of Round
        Rounds of an interrupted run, to go on after, so that the rest is the same to
        the bit: their reweighting is repeated, and where the sampling of features has
        learnt from the edges found, their finding too.
    paid : Paid, optional
        What was bought before the first round (and before `done`): it is part of what
        is `spent`, and fees among it are not due again.

    Yields
    ------
    Round
        Until `params.rounds`, or no hypothesis has an edge above 1e-12, or one is
        perfect (which is the last to be added). A search that looks at some features
        only looks at all of them before it gives up.

    Notes
    -----
    alpha = 1/2 ln((1 + gamma)/(1 - gamma)), gamma clipped at 1 - 1e-9. With missing
    values gamma = W+ - W- and Z <= sqrt(1 - gamma^2) (Schapire and Singer 1999);
    `speedboost` takes alpha = 1/2 ln(W+/W-). With several classes it is AdaBoost.MH
    (Kegl and Busa-Fekete 2009, Figure 1). None of the choices depends on a budget, so
    one run serves every budget: Algorithm 1 of Huang et al. (2015) with budget B is
    the longest prefix whose features B can pay.
    """
    if done and is_perfect_round(done[-1]):
        return
    learner = make_learner(params)
    weights = make_weights(shards, params)
    # The weights were copied; with many rows the originals take much memory.
    del shards
    n_features = len(catalogue.features)
    sampling = make_sampling(params.search, n_features, params.search_size, params.seed)
    buyer = Buyer(catalogue, params, paid)
    for number in range(1, params.rounds + 1):
        sampling.begin(number)
        is_repeated = number <= len(done)
        choice = None
        # A sampling with memory must find the edges of done rounds again.
        if not is_repeated or sampling.has_memory:
            search = RoundSearch(weights, sampling, buyer.make_scorer())
            choice = search_hypothesis(learner, search)
            if choice is None:
                return
        if is_repeated:
            added = done[number - 1]
            buyer.buy_features(added.hypothesis, added.memory)
            weights.apply(added.hypothesis, added.alpha)
            continue
        assert choice is not None, "searched in every new round"
        hypothesis, edge = choice.hypothesis, choice.edge
        buyer.buy_features(hypothesis)
        alpha = compute_alpha(choice, buyer.rule.uses_presents)
        z = weights.apply(hypothesis, alpha, choice.codes)
        added = Round(number, hypothesis, edge, alpha, z, buyer.spent, buyer.memory)
        yield added
        if is_perfect_round(added):
            return


def make_weights(shards: Tables | ShardSource, params: BoostParams) -> Weights:
    """Return the weights of a run; they are copied."""
    source = LocalTables(shards) if isinstance(shards, Sequence) else shards
    has_missing = bool(source.binned.has_missing.any())
    n_places = make_learner(params).n_places
    # Unsigned sums have the weight of missing values, and whether a cut splits a leaf.
    is_split = has_missing or n_places > 1
    n_sums = source.binned.packing.lanes.size * source.n_outputs * n_places
    is_kept = params.search == "all" and n_sums <= MOST_SUMS
    return Weights(source.begin(is_split=is_split, is_kept=is_kept))


class LocalTables:
    """Rows in this process; see `ShardSource`."""

    def __init__(self, tables: Tables) -> None:
        self.binned = tables[0][0]
        self.n_outputs = tables[0][1].shape[1]
        self._tables = tables

    def begin(self, *, is_split: bool, is_kept: bool) -> Shards:
        """Return the shards of a new run; the weights are copied."""
        members = [
            Shard(binned, signed, is_split=is_split, is_kept=is_kept)
            for binned, signed in self._tables
        ]
        return LocalShards(members, is_kept=is_kept)


def make_learner(params: BoostParams) -> Learner:
    """Return the learner that `params` name, with the parameters that it has."""
    kind = LEARNERS[params.learner]
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # a dataclass
    return kind(**{name: getattr(params, name) for name in names})


def search_hypothesis(learner: Learner, search: RoundSearch) -> Choice | None:
    """Search for the hypothesis that the rule buys in a round; None if there is none.

    A search among some features only tries all features before it gives up.
    """
    weights, n_features = search.weights, search.weights.binned.n_codes.size
    roots = search.search_picked(weights.search_stumps)
    is_partial = roots.feature_idxs.size < n_features
    if is_partial and roots.edges.max(initial=0.0) <= MIN_EDGE:
        roots = weights.search_stumps(np.arange(n_features))
    return learner.fit(search, roots)


def is_perfect_round(added: Round) -> bool:
    """Return whether a round's hypothesis is right on every row: its edge is 1."""
    return added.edge >= MAX_EDGE


def compute_alpha(choice: Choice, uses_presents: bool) -> float:
    """Return alpha = 1/2 ln((p + gamma)/(p - gamma)), gamma the hypothesis' edge.

    With `uses_presents` p is the weight of the rows on which it votes, else 1.
    """
    present = choice.present if uses_presents else 1.0
    return float(np.arctanh(min(choice.edge / present, MAX_EDGE)))
