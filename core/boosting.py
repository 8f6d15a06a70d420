"""The one boosting loop: a generator that yields one `Round` per round.

What differs between algorithms is the rule. To cancel, stop pulling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from core.binning import Binned
from core.learners.stump import Candidates, find_stumps, make_stump, reweight
from core.prices import Paid, pay, price, rule_costs, smallest_cost
from core.rules import MAX_EDGE, RULES, View
from core.types import Catalogue, FloatArray, Memory, Round

MIN_EDGE = 1e-12


@dataclass(frozen=True, slots=True)
class BoostParams:
    """The parameters of a boosting run; `cost_floor` in micro-units."""

    algorithm: str = "adaboost_bt_smoothed"
    rounds: int = 300
    tau: float = 1.0
    switch: float = 0.1
    cost_floor: int | None = None


def boost(
    binned: Binned,
    signed_weights: FloatArray,
    catalogue: Catalogue,
    params: BoostParams,
    done: Sequence[Round] = (),
) -> Iterator[Round]:
    """Boost stumps, one round at a time.

    Parameters
    ----------
    binned : Binned
    signed_weights : float64 array, shape (n_samples,)
        Initial weight of each row times its class, the absolute values summing
        to 1. Not mutated.
    catalogue : Catalogue
    params : BoostParams
    done : sequence of Round
        Rounds of an interrupted run, to go on after: their reweighting is repeated,
        so that the rest is the same to the bit.

    Yields
    ------
    Round
        Until `params.rounds`, or no stump has an edge above 1e-12, or one is
        perfect (which is the last to be added).

    Notes
    -----
    alpha = 1/2 ln((1 + gamma)/(1 - gamma)), gamma clipped at 1 - 1e-9. With missing
    values gamma = W+ - W- and Z <= sqrt(1 - gamma^2) (Schapire and Singer 1999);
    `speedboost` takes alpha = 1/2 ln(W+/W-). None of the choices depends on a
    budget, so one run serves every budget: Algorithm 1 of Huang et al. (2015) with
    budget B is the longest prefix whose features B can pay.
    """
    weights = signed_weights.copy()
    paid, spent, memory = Paid(), 0, Memory()
    for earlier in done:
        reweight(binned, earlier.hypothesis, earlier.alpha, weights)
        paid = pay(catalogue, paid, [earlier.hypothesis.feature_idx])
        spent, memory = earlier.spent, earlier.memory
    if done and is_perfect(done[-1]):
        return
    is_free = smallest_cost(catalogue) == 0 and params.cost_floor is None
    rule = RULES["adaboost" if is_free else params.algorithm]
    for number in range(len(done) + 1, params.rounds + 1):
        candidates = find_stumps(binned, weights)
        view = View(
            edges=candidates.edges,
            presents=candidates.presents,
            costs=rule_costs(catalogue, group_mask(catalogue, paid), params.cost_floor),
            is_paid=feature_mask(catalogue, paid),
            spent=spent,
            tau=params.tau,
            switch=params.switch,
            memory=memory,
        )
        scores, memory = rule.score(view)
        scores = np.where(candidates.edges > MIN_EDGE, scores, -np.inf)
        if scores.size == 0 or not np.isfinite(scores.max()):
            return
        feature_idx = int(np.argmax(scores))
        alpha = find_alpha(candidates, feature_idx, rule.uses_presents)
        stump = make_stump(binned, candidates, feature_idx)
        z = reweight(binned, stump, alpha, weights)
        spent += price(catalogue, paid, feature_idx)
        paid = pay(catalogue, paid, [feature_idx])
        edge = float(candidates.edges[feature_idx])
        added = Round(number, stump, edge, alpha, z, spent, memory)
        yield added
        if is_perfect(added):
            return


def is_perfect(added: Round) -> bool:
    """Whether a round left no weight on the wrong side, nor on missing values."""
    return added.edge >= MAX_EDGE


def find_alpha(candidates: Candidates, feature_idx: int, uses_presents: bool) -> float:
    """Vote of a stump: 1/2 ln((p + gamma)/(p - gamma)), p the weight it stands on."""
    present = float(candidates.presents[feature_idx]) if uses_presents else 1.0
    ratio = min(float(candidates.edges[feature_idx]) / present, MAX_EDGE)
    return float(np.arctanh(ratio))


def feature_mask(catalogue: Catalogue, paid: Paid) -> np.ndarray:
    """Which features are paid, as a mask; (n_features,)."""
    mask = np.zeros(len(catalogue.features), dtype=np.bool_)
    mask[list(paid.feature_idxs)] = True
    return mask


def group_mask(catalogue: Catalogue, paid: Paid) -> np.ndarray:
    """Which groups' fees are paid, as a mask; (n_groups,)."""
    mask = np.zeros(len(catalogue.groups), dtype=np.bool_)
    mask[list(paid.group_idxs)] = True
    return mask
