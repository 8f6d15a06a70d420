"""A buyer keeps what was bought and its cost, and weighs the candidates of a round."""

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue
from askless.core.catalogue.prices import Paid, buy, hypothesis_costs, smallest_cost
from askless.core.model.hypotheses import Hypothesis
from askless.core.training.learner import Scorer
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Memory
from askless.core.training.rules import RULES, View

UNPAID = Paid()


class Buyer:
    """Weighs candidates by the rule, and remembers what was bought.

    `spent` is the price of all features so far, in micro-units.
    """

    def __init__(
        self, catalogue: Catalogue, params: BoostParams, paid: Paid = UNPAID
    ) -> None:
        self.catalogue = catalogue
        self.params = params
        # Without any positive cost no rule can divide by costs: all are alike.
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
            self._costs = hypothesis_costs(
                catalogue, self.is_group_paid, params.cost_floor
            )

    def make_scorer(self) -> Scorer:
        """Return the function that scores the candidates of one round by the rule.

        Its first call, for the first stump, replaces the `memory` of this buyer.
        """
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
                costs = hypothesis_costs(
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

    def buy_features(
        self, hypothesis: Hypothesis, memory: Memory | None = None
    ) -> None:
        """Buy the features of a hypothesis; `memory` is that of a repeated round."""
        amount, self.paid = buy(self.catalogue, self.paid, hypothesis.feature_idxs)
        self.spent += amount
        for feature_idx in hypothesis.feature_idxs:
            self.is_paid[feature_idx] = True
        for group_idx in self.paid.group_idxs:
            self.is_group_paid[group_idx] = True
        self.memory = memory or self.memory
