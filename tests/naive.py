"""The numeric core again, in plain Python and as literally as the papers put it.

Slow, and free of anything ours. A table is a list of rows, a missing cell is None,
a stump is (feature_idx, cut, vote, is_category), money is a whole number.
"""

import math
from bisect import bisect_right
from itertools import accumulate, pairwise
from typing import NamedTuple

MAX_EDGE = 1 - 1e-9
MIN_EDGE = 1e-12


class Shop(NamedTuple):
    """What features cost: `group_of` gives a group or None, `is_bundle` per group."""

    costs: list
    group_of: list
    fees: list
    is_bundle: list


class Best(NamedTuple):
    edge: float
    cut: float | None
    vote: int


class Round(NamedTuple):
    stump: tuple
    edge: float
    alpha: float
    z: float
    spent: int
    scores: list
    edges: list


class End(NamedTuple):
    """How a session ends; `alpha` is that of the stumps that voted."""

    vote: float
    alpha: float
    spent: int
    asked: list
    n_draws: int = 0
    is_full: bool = True


def column(rows, feature_idx):
    return [row[feature_idx] for row in rows]


def codes(values, is_category):
    """Position of each value among the distinct ones, and the cuts between them."""
    distinct = sorted({value for value in values if value is not None})
    cuts = distinct if is_category else thresholds(values)
    return [None if v is None else distinct.index(v) for v in values], cuts


def thresholds(values):
    """Midpoints between neighbouring distinct values."""
    distinct = sorted({value for value in values if value is not None})
    return [low / 2 + high / 2 for low, high in pairwise(distinct)]


def cast(value, cut, vote, is_category):
    """Vote of a stump on a value: 0 where it is missing or a category never seen."""
    if value is None or (is_category and value < 0):
        return 0
    is_above = value == cut if is_category else value > cut
    return vote if is_above else -vote


def edge_of(values, signs, weights, cut, vote, is_category):
    return math.fsum(
        weight * sign * cast(value, cut, vote, is_category)
        for value, sign, weight in zip(values, signs, weights, strict=True)
    )


def best_stump(values, signs, weights, is_category):
    """Try every cut and both votes; the lowest cut wins a tie."""
    present = {value for value in values if value is not None}
    cuts = sorted(present) if is_category else thresholds(values)
    if len(present) < 2:
        return Best(0.0, None, 1)
    best = Best(0.0, None, 1)
    for cut in cuts:
        for vote in (1, -1):
            edge = edge_of(values, signs, weights, cut, vote, is_category)
            if edge > best.edge:
                best = Best(edge, cut, vote)
    return best


def present_weight(values, weights):
    return math.fsum(
        weight
        for value, weight in zip(values, weights, strict=True)
        if value is not None
    )


def reweight(values, signs, weights, stump, alpha):
    """D(i) exp(-alpha y h(x)) / Z."""
    _, cut, vote, is_category = stump
    moved = [
        weight * math.exp(-alpha * sign * cast(value, cut, vote, is_category))
        for value, sign, weight in zip(values, signs, weights, strict=True)
    ]
    z = math.fsum(moved)
    return [weight / z for weight in moved], z


def price(shop, paid, feature_idx):
    """What a feature charges once those in `paid` were charged."""
    if feature_idx in paid:
        return 0
    group = shop.group_of[feature_idx]
    if group is None:
        return shop.costs[feature_idx]
    is_group_paid = any(shop.group_of[other] == group for other in paid)
    if shop.is_bundle[group]:
        return 0 if is_group_paid else shop.fees[group]
    return shop.costs[feature_idx] + (0 if is_group_paid else shop.fees[group])


def rule_cost(shop, paid, feature_idx, cost_floor=None):
    """c(h) of a stump; a zero counts as the smallest positive amount."""
    group = shop.group_of[feature_idx]
    cost = shop.costs[feature_idx]
    if group is not None and shop.is_bundle[group]:
        cost = shop.fees[group]
    elif group is not None and all(shop.group_of[i] != group for i in paid):
        cost += shop.fees[group]
    positive = [amount for amount in [*shop.costs, *shop.fees] if amount > 0]
    return cost or cost_floor or min(positive, default=0)


def boost(
    rows,
    signs,
    weights,
    is_category,
    shop,
    algorithm,
    rounds,
    tau=1.0,
    switch=0.1,
    cost_floor=None,
    choices=None,
):
    """Run a boosting algorithm; with `choices`, take those stumps, round by round.

    For every feature, `edges` of a round are the best ones and `scores` what the
    algorithm maximises (None where there is no stump).
    """
    columns = [column(rows, idx) for idx in range(len(is_category))]
    if not any([*shop.costs, *shop.fees]) and cost_floor is None:
        algorithm = "adaboost"
    done, paid, spent, first_quality, is_smoothing = [], set(), 0, None, False
    for number in range(rounds if choices is None else len(choices)):
        bests = [
            best_stump(values, signs, weights, flag)
            for values, flag in zip(columns, is_category, strict=True)
        ]
        prices = [rule_cost(shop, paid, idx, cost_floor) for idx in range(len(columns))]
        edges = [min(best.edge, MAX_EDGE) for best in bests]
        presents = [present_weight(values, weights) for values in columns]
        if algorithm == "hybrid":
            unpaid = [
                -math.log(1 - edge**2) / cost
                for idx, (edge, cost) in enumerate(zip(edges, prices, strict=True))
                if idx not in paid
            ]
            quality = max(unpaid, default=0)
            first_quality = first_quality or quality
            is_smoothing = is_smoothing or quality < switch * first_quality
        scores = []
        for best, edge, cost, present in zip(
            bests, edges, prices, presents, strict=True
        ):
            right = (present + best.edge) / 2
            wrong = max(present - best.edge, 0) / 2
            if edge <= MIN_EDGE:
                score = None
            elif algorithm == "adaboost_bt_greedy" or (
                algorithm == "hybrid" and not is_smoothing
            ):
                score = math.log(1 - edge**2) / -cost
            elif algorithm in ("adaboost_bt_smoothed", "hybrid"):
                score = math.log(1 - edge**2) / -(tau * spent + cost)
            elif algorithm == "speedboost":
                score = (right + wrong - 2 * math.sqrt(right * wrong)) / cost
            else:
                score = edge
            scores.append(score)
        if all(score is None for score in scores):
            break
        chosen = max(range(len(scores)), key=lambda i: (scores[i] or -1, -i))
        edge, cut, vote = bests[chosen]
        if choices is not None:
            chosen, cut, vote, flag = choices[number]
            edge = edge_of(columns[chosen], signs, weights, cut, vote, flag)
        stand = presents[chosen] if algorithm == "speedboost" else 1
        ratio = min(edge / stand, MAX_EDGE)
        alpha = math.log((1 + ratio) / (1 - ratio)) / 2
        stump = (chosen, cut, vote, is_category[chosen])
        weights, z = reweight(columns[chosen], signs, weights, stump, alpha)
        spent += price(shop, paid, chosen)
        paid.add(chosen)
        every = [best.edge for best in bests]
        done.append(Round(stump, edge, alpha, z, spent, scores, every))
        if edge >= MAX_EDGE:
            break
    return done


def obtain(shop, row, feature_idx, known, gone, charged, budget, spent):
    """Buy a feature (its whole bundle) of a row; None where the budget can't.

    The price is checked before anyone sees that the cell is missing; missing cells
    charge nothing. Returns what is spent and which features were asked.
    """
    cost = price(shop, charged, feature_idx)
    if budget is not None and spent + cost > budget:
        return None
    group = shop.group_of[feature_idx]
    asked = [feature_idx]
    if group is not None and shop.is_bundle[group]:
        asked = [
            idx
            for idx, other in enumerate(shop.group_of)
            if other == group and idx not in known | gone
        ]
    there = [idx for idx in asked if row[idx] is not None]
    known.update(there)
    gone.update(set(asked) - set(there))
    if there:
        charged.update(there)
        spent += cost
    return spent, asked


def walk_ordered(stumps, alphas, shop, row, budget):
    """One session: hypotheses in order until one can't be paid."""
    known, gone, charged, spent, asked = set(), set(), set(), 0, []
    vote, alpha_known = 0.0, 0.0
    for (idx, cut, sign, is_category), alpha in zip(stumps, alphas, strict=True):
        if idx not in known | gone:
            bought = obtain(shop, row, idx, known, gone, charged, budget, spent)
            if bought is None:
                break
            spent, new = bought
            asked += new
        if idx in known:
            ballot = cast(row[idx], cut, sign, is_category)
            vote += alpha * ballot
            alpha_known += alpha * abs(ballot)
    return End(vote, alpha_known, spent, asked)


def walk_sampled(stumps, alphas, shop, row, budget, uniforms):
    """One session: draws until one can't be paid or every feature used is answered.

    `is_full` tells the latter; None where the uniforms don't reach the end.
    """
    known, gone, charged, spent, asked = set(), set(), set(), 0, []
    votes, n_draws = 0, 0
    sums = list(accumulate(alphas))
    used = {stump[0] for stump in stumps}
    for uniform in uniforms:
        if used <= known | gone:
            break
        drawn = min(bisect_right(sums, uniform * sums[-1]), len(stumps) - 1)
        idx, cut, sign, is_category = stumps[drawn]
        if idx not in known | gone:
            bought = obtain(shop, row, idx, known, gone, charged, budget, spent)
            if bought is None:
                voted = alpha_of(stumps, alphas, row, known)
                return End(votes, voted, spent, asked, n_draws, False)
            spent, new = bought
            asked += new
        if idx in known:
            ballot = cast(row[idx], cut, sign, is_category)
            votes += ballot
            n_draws += abs(ballot)
    if not used <= known | gone:
        return None
    full = sum(
        alpha * cast(row[idx], cut, sign, is_category)
        for (idx, cut, sign, is_category), alpha in zip(stumps, alphas, strict=True)
        if idx in known
    )
    voted = alpha_of(stumps, alphas, row, known)
    return End(full, voted, spent, asked, n_draws, True)


def alpha_of(stumps, alphas, row, known):
    """Alpha that has voted: not that of a category never seen."""
    return sum(
        alpha * abs(cast(row[idx], cut, sign, is_category))
        for (idx, cut, sign, is_category), alpha in zip(stumps, alphas, strict=True)
        if idx in known
    )
