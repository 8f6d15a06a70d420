"""A rule chooses the hypothesis of a round: one pure function each, listed in `RULES`.

Every rule scores one candidate per feature: the best stump on it, or the best tree
or product that it could complete. The largest score is bought, of equal scores the
lowest feature.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from askless.core.arrays import BoolArray, FloatArray
from askless.core.training.rounds import Memory


@dataclass(frozen=True)
class View:
    """The candidates and the state that a rule scores by; arrays (n_candidates,).

    `edges` are gamma >= 0, `presents` the weight of the rows on which the hypothesis
    votes, `costs` c(h) > 0 and `spent` the price of all features so far, in
    micro-units; `is_paid` is whether all its features are paid. `is_refining` is set
    while a tree or product is completed, after its first stump was scored.
    """

    edges: FloatArray
    presents: FloatArray
    costs: FloatArray
    is_paid: BoolArray
    spent: int
    tau: float = 1.0
    switch: float = 0.1
    memory: Memory = Memory()
    is_refining: bool = False


Scores = tuple[FloatArray, Memory]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule's scoring function, and the general properties that tests check.

    `parameters` are its own, and `rounds`. `uses_presents`: alpha is computed from the
    weight of the rows that have the feature. `follows_costs`: choices depend on costs.
    `ignores_spent`: they depend on nothing bought before, except group fees.
    """

    score: Callable[[View], Scores]
    policy: str
    parameters: tuple[str, ...] = ("rounds",)
    uses_presents: bool = False
    follows_costs: bool = True
    ignores_spent: bool = True


def adaboost(view: View) -> Scores:
    """Score by the edge (Freund and Schapire 1997; Reyzin 2010, Algorithm 1)."""
    return view.edges, view.memory


def greedy(view: View) -> Scores:
    """Minimise (1 - gamma^2)^(1/c(h)) (Huang et al. 2015, eq. 1), as a log."""
    return log_gains(view.edges) / view.costs, view.memory


def smoothed(view: View) -> Scores:
    """Minimise (1 - gamma^2)^(1/(tau (B - B_t) + c(h))) (Huang et al. 2015, eq. 2).

    B - B_t is what was spent. tau = 0 is `greedy`, tau = 1 the paper's rule.
    """
    smoothed_costs = view.tau * view.spent + view.costs
    return log_gains(view.edges) / smoothed_costs, view.memory


def hybrid(view: View) -> Scores:
    """Score as `greedy` until unpaid features gain little, then always as `smoothed`.

    Huang et al. (2015), section 4, leave the threshold open. Here the quality of a
    round is q_t, the largest -ln(1 - gamma^2)/c(h) over stumps on unpaid features;
    the switch comes as soon as q_t < switch * q_1. A tree is completed by the rule
    that its root was chosen by.
    """
    if view.is_refining:
        return smoothed(view) if view.memory.is_smoothing else greedy(view)
    unpaid = np.where(view.is_paid, 0.0, log_gains(view.edges) / view.costs)
    quality = float(unpaid.max(initial=0.0))
    # In the first round none is remembered yet (0).
    first = view.memory.first_quality or quality
    is_smoothing = view.memory.is_smoothing or quality < view.switch * first
    scores, _ = smoothed(view) if is_smoothing else greedy(view)
    return scores, Memory(first, is_smoothing)


def speedboost(view: View) -> Scores:
    """Score by (loss before - loss after)/c(h) (Huang et al. 2015, appendix A).

    With exponential loss and the best alpha the loss falls by
    W+ + W- - 2 sqrt(W+ W-) = P - sqrt(P^2 - gamma^2), P the weight present; written
    as gamma^2/(P + sqrt(P^2 - gamma^2)), which keeps its digits for small gamma.
    """
    edges = np.minimum(view.edges, view.presents * MAX_EDGE)
    roots = np.sqrt((view.presents - edges) * (view.presents + edges))
    sums = np.maximum(view.presents + roots, np.finfo(np.float64).tiny)
    return edges**2 / sums / view.costs, view.memory


def log_gains(edges: FloatArray) -> FloatArray:
    """Return -ln(1 - gamma^2), gamma clipped at `MAX_EDGE`."""
    return -np.log1p(-np.square(np.minimum(edges, MAX_EDGE)))


MAX_EDGE = 1.0 - 1e-9

RULES: dict[str, Rule] = {
    "adaboost": Rule(adaboost, "ordered", follows_costs=False),
    "adaboost_rs": Rule(adaboost, "sample", follows_costs=False),
    "adaboost_bt": Rule(adaboost, "ordered", follows_costs=False),
    "adaboost_bt_greedy": Rule(greedy, "ordered"),
    "adaboost_bt_smoothed": Rule(
        smoothed, "ordered", ("rounds", "tau"), ignores_spent=False
    ),
    "hybrid": Rule(hybrid, "ordered", ("rounds", "tau", "switch"), ignores_spent=False),
    "speedboost": Rule(speedboost, "ordered", uses_presents=True),
}
