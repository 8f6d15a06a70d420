"""Boosting of stumps, trees and products again, as literally as the papers put it.

Plain Python that imports nothing of core. `weights[i][l]` is the weight of row i and
class l, `signs[i][l]` is +1 or -1; two classes have one output.
"""

import math
from typing import NamedTuple

from tests import naive
from tests.naive import MAX_EDGE, MIN_EDGE
from tests.naive_hypotheses import Product, Stump, Tree, features_of, phi, vote

MAX_SWEEPS = 20
# Sums in another order differ by this much, which is no improvement.
ROUNDING = 1e-12


class Split(NamedTuple):
    """The best stump on a feature: its edge, or in a leaf its gain."""

    edge: float
    cut: float | None
    votes: tuple | None


class Made(NamedTuple):
    hypothesis: object
    edge: float
    score: float


class Round(NamedTuple):
    """One round: what was taken with its score, and what the learner finds itself."""

    hypothesis: object
    edge: float
    alpha: float
    z: float
    spent: int
    score: float
    own: Made


def first_weights(targets, row_weights, n_classes, kind="balanced"):
    """Weights and signs before the first round (Kegl and Busa-Fekete, eq. 2).

    `targets` holds class positions, or for multi-label the set of each row's classes.
    """
    weights, signs = [], []
    for target, weight in zip(targets, row_weights, strict=True):
        if isinstance(target, set | frozenset):
            signs.append([1 if c in target else -1 for c in range(n_classes)])
            weights.append([weight / n_classes] * n_classes)
        elif n_classes == 2:
            signs.append([1 if target == 1 else -1])
            weights.append([weight])
        else:
            signs.append([1 if c == target else -1 for c in range(n_classes)])
            rest = weight / (2 * (n_classes - 1))
            weights.append(
                [weight / n_classes] * n_classes
                if kind == "uniform"
                else [weight / 2 if c == target else rest for c in range(n_classes)]
            )
    return weights, signs


def edge_of(hypothesis, rows, weights, signs):
    """gamma = sum over rows and classes of w y h(x)."""
    return math.fsum(
        w * y * v
        for row, its_weights, its_signs in zip(rows, weights, signs, strict=True)
        for w, y, v in zip(
            its_weights,
            its_signs,
            vote(hypothesis, row, len(its_signs)),
            strict=True,
        )
    )


def presence(hypothesis, rows, weights):
    """Weight of the rows on which a hypothesis votes."""
    return math.fsum(
        w
        for row, its_weights in zip(rows, weights, strict=True)
        if any(vote(hypothesis, row, len(its_weights)))
        for w in its_weights
    )


def all_cuts(rows, feature, is_category):
    """Every cut between two values of the whole table, or every category of several."""
    values = naive.column(rows, feature)
    if not is_category:
        return naive.thresholds(values)
    present = sorted({value for value in values if value is not None})
    return present if len(present) > 1 else []


def best_split(
    rows, weights, signs, feature, is_category, members=None, votes_before=None
):
    """Try every cut with the best votes; the lowest cut wins a tie.

    In a leaf (`members` are its rows, `votes_before` their votes so far) the edge is
    the gain over these votes, and a cut needs rows on both sides.
    """
    inside = range(len(rows)) if members is None else members
    n_outputs = len(signs[0])
    before = votes_before or [0] * n_outputs
    best = Split(0.0, None, None)
    for cut in all_cuts(rows, feature, is_category):
        stump = Stump(feature, cut, (1,) * n_outputs, is_category)
        sides = {i: phi(stump, rows[i][feature]) for i in inside}
        if members is not None and not {1, -1} <= set(sides.values()):
            continue
        sums = [
            math.fsum(weights[i][c] * signs[i][c] * side for i, side in sides.items())
            for c in range(n_outputs)
        ]
        kept = math.fsum(
            weights[i][c] * signs[i][c] * before[c]
            for i, side in sides.items()
            if side
            for c in range(n_outputs)
        )
        edge = math.fsum(abs(one) for one in sums) - kept
        if edge > best.edge:
            best = Split(edge, cut, tuple(1 if one > 0 else -1 for one in sums))
    return best


def cost_of(shop, paid, features, cost_floor=None):
    """c(h): each feature's cost once, each fee not yet paid once; zero is the floor."""
    total = sum(shop.costs[f] for f in set(features))
    for group in {shop.group_of[f] for f in features} - {None}:
        is_paid = any(shop.group_of[f] == group for f in paid)
        if shop.is_bundle[group] or not is_paid:
            total += shop.fees[group]
    positive = [amount for amount in [*shop.costs, *shop.fees] if amount > 0]
    return total or cost_floor or min(positive, default=0)


def score_of(algorithm, edge, cost, present, spent, tau, is_smoothing):
    """The measure that the algorithm maximises."""
    clipped = min(edge, MAX_EDGE)
    if algorithm == "hybrid":
        algorithm = "adaboost_bt_smoothed" if is_smoothing else "adaboost_bt_greedy"
    if algorithm == "adaboost_bt_greedy":
        return -math.log1p(-(clipped**2)) / cost
    if algorithm == "adaboost_bt_smoothed":
        return -math.log1p(-(clipped**2)) / (tau * spent + cost)
    if algorithm == "speedboost":
        edge = min(edge, present * MAX_EDGE)
        right, wrong = (present + edge) / 2, (present - edge) / 2
        return (right + wrong - 2 * math.sqrt(right * wrong)) / cost
    return edge


class All:
    """Looks at every feature."""

    def __init__(self, n_features):
        self.n_features = n_features

    def pick(self):
        return list(range(self.n_features))

    def reward(self, edges):
        pass


class Ucb(All):
    """UCB(k): mean reward + b sqrt(2 ln t/T_j), every arm once at first.

    b is the largest reward so far, or 1 as in the paper (not `is_scaled`).
    """

    def __init__(self, n_features, size, is_scaled=True):
        super().__init__(n_features)
        self.size, self.t, self.is_scaled = size, 0, is_scaled
        self.rewards = [[] for _ in range(n_features)]

    def bound(self, arm):
        rewards = self.rewards[arm]
        if not rewards:
            return math.inf
        mean = sum(rewards) / len(rewards)
        b = 1.0
        if self.is_scaled:
            b = max(max(seen, default=0.0) for seen in self.rewards)
        return mean + b * math.sqrt(2 * math.log(self.t) / len(rewards))

    def pick(self):
        self.t += 1
        arms = sorted(range(self.n_features), key=lambda arm: (-self.bound(arm), arm))
        return sorted(arms[: self.size])

    def reward(self, edges):
        for arm, edge in edges.items():
            self.rewards[arm].append(1 - math.sqrt(1 - min(edge, 1.0) ** 2))


class Bench(NamedTuple):
    """One round at work: the table, its weights, and what the rule makes of them."""

    rows: list
    weights: list
    signs: list
    is_category: list
    search: object
    score: object

    def splits(self, signs=None, members=None, votes_before=None):
        """Best splits on the features that the search picks."""
        found = {
            f: best_split(
                self.rows,
                self.weights,
                signs or self.signs,
                f,
                self.is_category[f],
                members,
                votes_before,
            )
            for f in self.search.pick()
        }
        self.search.reward({f: split.edge for f, split in found.items()})
        return found

    def all_splits(self):
        return self._replace(search=All(len(self.is_category))).splits()

    def roots(self):
        found = self.splits()
        if max(split.edge for split in found.values()) <= MIN_EDGE:
            found = self.all_splits()
        return {f: split for f, split in found.items() if split.edge > MIN_EDGE}

    def stump(self, feature, split):
        return Stump(feature, split.cut, split.votes, self.is_category[feature])


def make_stump(bench, _size):
    """The stump of largest score; the lowest feature wins a tie."""
    best = None
    for feature, split in sorted(bench.roots().items()):
        stump = bench.stump(feature, split)
        score = bench.score([feature], split.edge, presence_of(bench, stump))
        if best is None or score > best.score:
            best = Made(stump, split.edge, score)
    return best


def presence_of(bench, hypothesis):
    return presence(hypothesis, bench.rows, bench.weights)


def make_tree(bench, n_leaves):
    """Split the leaf that gives the tree of largest score until none raises it."""
    made = make_stump(bench, None)
    if made is None or n_leaves == 2:
        return made
    present = presence_of(bench, made.hypothesis)
    stumps, children = [made.hypothesis], [[None, None]]
    edge, score = made.edge, made.score
    leaves = open_leaves(bench, stumps, 0, range(len(bench.rows)))
    while len(leaves) < n_leaves:
        best = None
        for leaf in leaves:
            for feature, split in sorted(leaf["splits"].items()):
                if split.edge <= MIN_EDGE:
                    continue
                read = [stump.feature for stump in stumps] + [feature]
                new_score = bench.score(read, edge + split.edge, present)
                if best is None or new_score > best[0]:
                    best = new_score, leaf, feature, split
        if best is None or not best[0] > score:
            break
        score, leaf, feature, split = best
        leaves.remove(leaf)
        edge += split.edge
        children[leaf["parent"]][leaf["side"]] = len(stumps)
        stumps.append(bench.stump(feature, split))
        children.append([None, None])
        is_done = len(leaves) + 2 >= n_leaves
        leaves += open_leaves(
            bench, stumps, len(stumps) - 1, leaf["members"], is_last=is_done
        )
    if len(stumps) == 1:
        return Made(stumps[0], edge, score)
    tree = Tree(tuple(stumps), tuple(tuple(pair) for pair in children))
    return Made(tree, edge, score)


def open_leaves(bench, stumps, parent, members, is_last=False):
    """The leaves above and below a stump, with the best splits of each."""
    stump = stumps[parent]
    leaves = []
    for side, sign in enumerate((1, -1)):
        inside = [
            i for i in members if phi(stump, bench.rows[i][stump.feature]) == sign
        ]
        votes = [sign * vote for vote in stump.votes]
        splits = {} if is_last else bench.splits(None, inside, votes)
        leaves.append(
            {"parent": parent, "side": side, "members": inside, "splits": splits}
        )
    return leaves


def make_product(bench, n_factors):
    """Better one factor at a time, the others fixed; unset factors are 1."""
    made = make_stump(bench, None)
    if made is None:
        return None
    factors = [made.hypothesis] + [None] * (n_factors - 1)
    edge, score = made.edge, made.score
    n_outputs = len(bench.signs[0])
    n_idle, turn = 1, 1
    while n_idle < n_factors and turn < MAX_SWEEPS * n_factors:
        place = turn % n_factors
        rest = [factor for i, factor in enumerate(factors) if factor and i != place]
        signs = [
            [
                y * v
                for y, v in zip(
                    its_signs, vote(Product(tuple(rest)), row, n_outputs), strict=True
                )
            ]
            for its_signs, row in zip(bench.signs, bench.rows, strict=True)
        ]
        best = None
        for feature, split in sorted(bench.splits(signs).items()):
            if split.edge <= MIN_EDGE:
                continue
            stump = bench.stump(feature, split)
            read = [item.feature for item in rest] + [feature]
            present = presence_of(bench, Product((*rest, stump)))
            new_score = bench.score(read, split.edge, present)
            if best is None or new_score > best[0]:
                best = new_score, stump, split.edge
        n_idle += 1
        if best is not None and best[0] > score * (1 + ROUNDING):
            score, factors[place], edge = best
            n_idle = 1
        turn += 1
    chosen = tuple(factor for factor in factors if factor)
    return Made(chosen[0] if len(chosen) == 1 else Product(chosen), edge, score)


MAKERS = {"stump": make_stump, "tree": make_tree, "product": make_product}


def boost(
    rows,
    weights,
    signs,
    is_category,
    shop,
    algorithm,
    rounds,
    learner="stump",
    size=None,
    search=None,
    tau=1.0,
    switch=0.1,
    cost_floor=None,
    choices=None,
):
    """Run a boosting algorithm; with `choices`, take those hypotheses, round by round.

    `size` is the number of leaves or factors.
    """
    if not any([*shop.costs, *shop.fees]) and cost_floor is None:
        algorithm = "adaboost"
    search = search or All(len(is_category))
    n_outputs = len(signs[0])
    done, paid, spent, first_quality, is_smoothing = [], set(), 0, None, False
    for number in range(rounds if choices is None else len(choices)):
        hybrid = {"is_smoothing": is_smoothing}

        def score(features, edge, present, hybrid=hybrid, paid=paid, spent=spent):
            cost = cost_of(shop, paid, features, cost_floor)
            return score_of(
                algorithm, edge, cost, present, spent, tau, hybrid["is_smoothing"]
            )

        bench = Bench(rows, weights, signs, is_category, search, score)
        if algorithm == "hybrid":
            qualities = [
                -math.log1p(-(min(split.edge, MAX_EDGE) ** 2))
                / cost_of(shop, paid, [f], cost_floor)
                for f, split in bench.all_splits().items()
                if f not in paid
            ]
            quality = max(qualities, default=0.0)
            first_quality = first_quality or quality
            is_smoothing = is_smoothing or quality < switch * first_quality
            hybrid["is_smoothing"] = is_smoothing
        own = MAKERS[learner](bench, size)
        if own is None:
            break
        taken = own.hypothesis if choices is None else choices[number]
        edge = edge_of(taken, rows, weights, signs)
        present = presence(taken, rows, weights)
        taken_score = score(features_of(taken), edge, present)
        ratio = min(edge / (present if algorithm == "speedboost" else 1.0), MAX_EDGE)
        alpha = math.log((1 + ratio) / (1 - ratio)) / 2
        moved = [
            [
                w * math.exp(-alpha * y * v)
                for w, y, v in zip(
                    its_weights, its_signs, vote(taken, row, n_outputs), strict=True
                )
            ]
            for row, its_weights, its_signs in zip(rows, weights, signs, strict=True)
        ]
        z = math.fsum(w for its_weights in moved for w in its_weights)
        weights = [[w / z for w in its_weights] for its_weights in moved]
        for feature in features_of(taken):
            spent += naive.price(shop, paid, feature)
            paid = paid | {feature}
        done.append(Round(taken, edge, alpha, z, spent, taken_score, own))
        if edge >= MAX_EDGE:
            break
    return done
