"""The one boosting loop: a generator that yields one `Round` per round.

What differs between algorithms is the rule; which hypotheses there are is the
learner's, and which features are looked at the search's. To cancel, stop pulling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from core.arrays import FloatArray, IntArray
from core.model.hypotheses import Hypothesis
from core.table.binning import Binned
from core.table.catalogue import Catalogue
from core.table.dataset import Dataset
from core.table.prices import Paid, buy, rule_costs, smallest_cost
from core.training.feature_sampling import Search, make_search
from core.training.learners.choice import MIN_EDGE, Found, Scorer, choose
from core.training.learners.product import find_product
from core.training.learners.stump import Candidates, find_stumps, make_stump
from core.training.learners.tree import find_tree
from core.training.params import BoostParams, LabelWeights
from core.training.rounds import Memory, Round
from core.training.rules import MAX_EDGE, RULES, View
from core.training.weights import Weights, make_weights

UNPAID = Paid()


def initial_weights(
    dataset: Dataset, label_weights: LabelWeights = "balanced"
) -> FloatArray:
    """Signed weights before the first round.

    Returns
    -------
    float64 array, shape (n_samples, n_outputs)
        Of two classes D(i) y(i). Of K classes, `balanced` gives half of D(i) to the
        class of the row and shares the other half among the others (Kegl and
        Busa-Fekete 2009, eq. 2); `uniform` gives D(i)/K to each, and so does a
        multi-label dataset always. Times +1 where the row is of the class, else -1.
        For K = 2 both would give each output the mirrored weights of the other, so
        one output says it all.
    """
    weights = dataset.weights[:, None]
    n_classes = len(dataset.classes)
    if dataset.is_multilabel or (label_weights == "uniform" and n_classes > 2):
        return weights * dataset.class_signs / n_classes
    if n_classes == 2:
        return weights * dataset.signs[:, None]
    signs = dataset.class_signs
    shares = np.where(signs > 0, 0.5, 0.5 / (n_classes - 1))
    return weights * signs * shares


def training_bytes(n_samples: int, n_features: int, n_outputs: int) -> int:
    """Most bytes that a training takes beside the columns as they were read.

    Per cell the value twice (whole and a fold's rows) and its codes; per row and
    output the weights, their signs and one copy for a product or a fold.
    """
    n_cells = n_samples * n_features
    return n_cells * (2 * 8 + 2) + n_samples * (4 * 8 * n_outputs + 8 * 8)


def boost(
    binned: Binned,
    signed_weights: FloatArray,
    catalogue: Catalogue,
    params: BoostParams,
    done: Sequence[Round] = (),
    paid: Paid = UNPAID,
) -> Iterator[Round]:
    """Boost weak hypotheses, one round at a time.

    Parameters
    ----------
    binned : Binned
    signed_weights : float64 array, shape (n_samples, n_outputs) or (n_samples,)
        Initial weight of each row (and class) times +1 or -1 for its class, the
        absolute values summing to 1; see `initial_weights`. Not mutated.
    catalogue : Catalogue
    params : BoostParams
    done : sequence of Round
        Rounds of an interrupted run, to go on after, so that the rest is the same to
        the bit: their reweighting is repeated, and where the search has learnt from
        the edges found, their finding too.
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
    `speedboost` takes alpha = 1/2 ln(W+/W-). Of several classes it is AdaBoost.MH
    (Kegl and Busa-Fekete 2009, Figure 1). None of the choices depends on a budget, so
    one run serves every budget: Algorithm 1 of Huang et al. (2015) with budget B is
    the longest prefix whose features B can pay.
    """
    if done and is_perfect(done[-1]):
        return
    outputs = signed_weights.reshape(signed_weights.shape[0], -1)
    weights = make_weights(binned, outputs, is_partial=params.search != "all")
    search = make_search(
        params.search, binned.codes.shape[0], params.search_size, params.seed
    )
    buyer = Buyer(catalogue, params, paid)
    for number in range(1, params.rounds + 1):
        search.begin(number)
        is_repeated = number <= len(done)
        found = None
        if not is_repeated or search.has_memory:
            found = find_hypothesis(binned, weights, params, search, buyer.scorer())
            if found is None:
                return
        if is_repeated:
            added = done[number - 1]
            buyer.take(added.hypothesis, added.memory)
            weights.apply(added.hypothesis, added.alpha)
            continue
        assert found is not None, "looked for in every new round"
        buyer.take(found.hypothesis)
        alpha = find_alpha(found, buyer.rule.uses_presents)
        z = weights.apply(found.hypothesis, alpha)
        added = Round(
            number, found.hypothesis, found.edge, alpha, z, buyer.spent, buyer.memory
        )
        yield added
        if is_perfect(added):
            return


def find_hypothesis(
    binned: Binned,
    weights: Weights,
    params: BoostParams,
    search: Search,
    scorer: Scorer,
) -> Found | None:
    """Find what the rule buys among what the learner makes and the search looks at.

    The search learns from every look: at the root and for a factor from edges, in a
    leaf of a tree from gains.
    """

    def learnt(candidates: Candidates) -> Candidates:
        search.reward(candidates.feature_idxs, candidates.edges)
        return candidates

    roots = learnt(weights.find_stumps(search.pick()))
    if params.search != "all" and roots.edges.max(initial=0.0) <= MIN_EDGE:
        roots = weights.find_stumps(np.arange(binned.codes.shape[0]))
    if params.learner == "stump":
        return find_stump(binned, weights, roots, scorer)
    signed = weights.signed

    def find_in_leaf(rows: IntArray, votes: tuple[int, ...]) -> Candidates:
        return learnt(find_stumps(binned, signed, search.pick(), rows, votes))

    def find_factor(signed_weights: FloatArray) -> Candidates:
        return learnt(weights.find_stumps_for(signed_weights, search.pick()))

    if params.learner == "tree":
        return find_tree(binned, signed, roots, find_in_leaf, scorer, params.leaves)
    return find_product(binned, signed, roots, find_factor, scorer, params.factors)


def find_stump(
    binned: Binned, weights: Weights, candidates: Candidates, scorer: Scorer
) -> Found | None:
    """Find the stump that the rule buys; None where there is none."""
    position, _ = choose(candidates, scorer)
    if position < 0:
        return None
    # Reading the weights costs a pass over the rows, which known votes save.
    signed = None if candidates.votes is not None else weights.signed
    return Found(
        make_stump(binned, candidates, position, signed),
        float(candidates.edges[position]),
        float(candidates.presents[position]),
    )


class Buyer:
    """Weighs candidates by the rule, and remembers what was bought.

    `spent` is the price of all features so far, in micro-units.
    """

    def __init__(
        self, catalogue: Catalogue, params: BoostParams, paid: Paid = UNPAID
    ) -> None:
        self.catalogue = catalogue
        self.params = params
        is_free = smallest_cost(catalogue) == 0 and params.cost_floor is None
        self.rule = RULES["adaboost" if is_free else params.algorithm]
        self.spent, self.paid = buy(catalogue, Paid(), paid.feature_idxs)
        self.memory = Memory()
        self.is_paid = np.zeros(len(catalogue.features), dtype=np.bool_)
        self.is_paid[list(self.paid.feature_idxs)] = True
        self.is_group_paid = np.zeros(len(catalogue.groups), dtype=np.bool_)
        self.is_group_paid[list(self.paid.group_idxs)] = True
        # Without groups the costs of stumps never change.
        self._costs: FloatArray | None = None
        if not catalogue.groups:
            self._costs = rule_costs(
                catalogue, np.zeros(0, np.bool_), params.cost_floor
            )

    def scorer(self) -> Scorer:
        """Give the rule's scores for the candidates of one round."""
        is_paid, is_group_paid = self.is_paid, self.is_group_paid
        is_first = True

        def score(
            feature_idxs: IntArray,
            edges: FloatArray,
            presents: FloatArray,
            already: tuple[int, ...],
        ) -> FloatArray:
            nonlocal is_first
            costs = self._costs
            if costs is None or already:
                costs = rule_costs(
                    self.catalogue, is_group_paid, self.params.cost_floor, already
                )
            all_paid = is_paid[feature_idxs]
            if already:
                all_paid = all_paid & is_paid[list(already)].all()
            view = View(
                edges=edges,
                presents=presents,
                costs=costs[feature_idxs],
                is_paid=all_paid,
                spent=self.spent,
                tau=self.params.tau,
                switch=self.params.switch,
                memory=self.memory,
                is_refining=not is_first,
            )
            scores, memory = self.rule.score(view)
            if is_first:
                self.memory, is_first = memory, False
            return scores

        return score

    def take(self, hypothesis: Hypothesis, memory: Memory | None = None) -> None:
        """Buy the features of a hypothesis; `memory` is that of a repeated round."""
        amount, self.paid = buy(self.catalogue, self.paid, hypothesis.feature_idxs)
        self.spent += amount
        for feature_idx in hypothesis.feature_idxs:
            self.is_paid[feature_idx] = True
        for group_idx in self.paid.group_idxs:
            self.is_group_paid[group_idx] = True
        self.memory = memory or self.memory


def is_perfect(added: Round) -> bool:
    """Whether a round left no weight on the wrong side, nor on missing values."""
    return added.edge >= MAX_EDGE


def find_alpha(found: Found, uses_presents: bool) -> float:
    """Vote of a hypothesis: 1/2 ln((p + gamma)/(p - gamma)), p what it stands on."""
    present = found.present if uses_presents else 1.0
    return float(np.arctanh(min(found.edge / present, MAX_EDGE)))
