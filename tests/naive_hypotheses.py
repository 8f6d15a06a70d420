"""Trees, products and several classes again, as literally as the papers put them.

Plain Python that imports nothing of core. A table is a list of rows, a missing cell is
None, a category that training never saw is negative. `weights[i][l]` is the weight of
row i and class l, `signs[i][l]` is +1 or -1; two classes have one output.
"""

import math
from bisect import bisect_right
from itertools import accumulate
from itertools import product as every_choice
from typing import NamedTuple

from tests import naive
from tests.naive import MAX_EDGE, MIN_EDGE

MAX_SWEEPS = 20
# What sums in another order differ by; no improvement.
ROUNDING = 1e-12


class Stump(NamedTuple):
    feature: int
    cut: float
    votes: tuple
    is_category: bool = False


class Tree(NamedTuple):
    """`children` gives the positions above and below each cut, None for a leaf."""

    stumps: tuple
    children: tuple


class Product(NamedTuple):
    stumps: tuple


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


class End(NamedTuple):
    """How a session ends; `alpha` is that of the hypotheses that voted.

    `mark` is what its policy keeps: stages; draws that voted, -1 for the full vote.
    """

    votes: list
    alpha: float
    spent: int
    asked: list
    mark: int = 0


# Votes.


def phi(stump, value):
    """+1 above the cut (or in the category), -1 otherwise, 0 where unreadable."""
    if value is None or (stump.is_category and value < 0):
        return 0
    is_above = value == stump.cut if stump.is_category else value > stump.cut
    return 1 if is_above else -1


def so_far(hypothesis, row, answered, n_outputs):
    """What a hypothesis votes by the features answered, and the one it needs next.

    A feature asked in vain is answered with None. The feature needed is None once
    the path has ended.
    """
    if isinstance(hypothesis, Product):
        stumps = hypothesis.stumps
        signs = [phi(stump, row[stump.feature]) for stump in stumps]
        is_answered = [stump.feature in answered for stump in stumps]
        if any(
            sign == 0 for sign, is_in in zip(signs, is_answered, strict=True) if is_in
        ):
            # Whatever else is answered, it abstains.
            return [0] * n_outputs, None
        if not all(is_answered):
            return [0] * n_outputs, stumps[is_answered.index(False)].feature
        votes = [
            math.prod(ones) for ones in zip(*(s.votes for s in stumps), strict=True)
        ]
        return [math.prod(signs) * vote for vote in votes], None
    if isinstance(hypothesis, Stump):
        hypothesis = Tree((hypothesis,), ((None, None),))
    votes, position = [0] * n_outputs, 0
    while position is not None:
        stump = hypothesis.stumps[position]
        if stump.feature not in answered:
            return votes, stump.feature
        sign = phi(stump, row[stump.feature])
        if sign == 0:
            return votes, None
        votes = [sign * vote for vote in stump.votes]
        position = hypothesis.children[position][0 if sign > 0 else 1]
    return votes, None


def vote(hypothesis, row, n_outputs):
    """What a hypothesis votes on a row."""
    return so_far(hypothesis, row, range(len(row)), n_outputs)[0]


def stumps_of(hypothesis):
    return (hypothesis,) if isinstance(hypothesis, Stump) else hypothesis.stumps


def features_of(hypothesis):
    return list(dict.fromkeys(stump.feature for stump in stumps_of(hypothesis)))


def full_votes(hypotheses, alphas, row, n_outputs):
    """Sum of alpha h(x), and of the alphas of those that vote."""
    totals, alpha_sum = [0.0] * n_outputs, 0.0
    for hypothesis, alpha in zip(hypotheses, alphas, strict=True):
        votes = vote(hypothesis, row, n_outputs)
        totals = [a + alpha * b for a, b in zip(totals, votes, strict=True)]
        alpha_sum += alpha * any(votes)
    return totals, alpha_sum


# Training.


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
    """What the algorithm maximises."""
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
        votes = [sign * one for one in stump.votes]
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
        rest = [one for i, one in enumerate(factors) if one and i != place]
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
            read = [one.feature for one in rest] + [feature]
            present = presence_of(bench, Product((*rest, stump)))
            new_score = bench.score(read, split.edge, present)
            if best is None or new_score > best[0]:
                best = new_score, stump, split.edge
        n_idle += 1
        if best is not None and best[0] > score * (1 + ROUNDING):
            score, factors[place], edge = best
            n_idle = 1
        turn += 1
    chosen = tuple(one for one in factors if one)
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


# Sessions.


class Wallet:
    """What one session has asked, knows and spent."""

    def __init__(self, shop, row, budget):
        self.shop, self.row, self.budget = shop, row, budget
        self.known, self.gone, self.charged = set(), set(), set()
        self.spent, self.asked = 0, []

    def ends(self):
        return self.spent, self.asked

    @property
    def answered(self):
        return self.known | self.gone

    def can_pay(self, features):
        """Whether what is left pays some features, all of them."""
        total, charged = 0, set(self.charged)
        for feature in features:
            total += naive.price(self.shop, charged, feature)
            charged.add(feature)
        return self.budget is None or total <= self.budget - self.spent

    def buy(self, feature):
        """Buy a feature, its whole bundle; False where the budget can't."""
        bought = naive.obtain(
            self.shop,
            self.row,
            feature,
            self.known,
            self.gone,
            self.charged,
            self.budget,
            self.spent,
        )
        if bought is None:
            return False
        self.spent, new = bought
        self.asked += new
        return True

    def follow(self, hypothesis, n_outputs):
        """Buy along a path, step by step; its vote and whether it came to its end.

        Of a product nothing is bought unless all that it still needs can be.
        """
        while True:
            votes, needed = so_far(hypothesis, self.row, self.answered, n_outputs)
            if needed is None:
                return votes, True
            if not self.could_go_on(hypothesis):
                return votes, False
            assert self.buy(needed)

    def could_go_on(self, hypothesis):
        """Whether a path waits, and what is left pays its next vote."""
        _, needed = so_far(hypothesis, self.row, self.answered, 1)
        wanted = {needed}
        if isinstance(hypothesis, Product):
            wanted = set(features_of(hypothesis)) - self.answered
        return needed is not None and self.can_pay(wanted)


def walk_ordered(hypotheses, alphas, shop, row, budget, n_outputs):
    """One session: hypotheses in order; the one cut short votes what it has come to."""
    wallet = Wallet(shop, row, budget)
    totals, alpha_sum = [0.0] * n_outputs, 0.0
    for hypothesis, alpha in zip(hypotheses, alphas, strict=True):
        votes, is_whole = wallet.follow(hypothesis, n_outputs)
        totals = [a + alpha * b for a, b in zip(totals, votes, strict=True)]
        alpha_sum += alpha * any(votes)
        if not is_whole:
            break
    return End(totals, alpha_sum, *wallet.ends())


def walk_staged(hypotheses, alphas, shop, row, budget, stages):
    """One session of a cascade; `stages` are (length, threshold).

    The mark counts the stages up to the last passed with a vote; -1 - s: s rejected.
    """
    wallet = Wallet(shop, row, budget)
    total, alpha_sum, passed, start = 0.0, 0.0, 0, 0
    for number, (stop, threshold) in enumerate(stages):
        vote, is_voted = 0.0, False
        for hypothesis, alpha in zip(
            hypotheses[start:stop], alphas[start:stop], strict=True
        ):
            (one,), is_whole = wallet.follow(hypothesis, 1)
            vote, is_voted = vote + alpha * one, is_voted or one != 0
            alpha_sum += alpha * abs(one)
            if not is_whole:
                return End([total + vote], alpha_sum, *wallet.ends(), passed)
        total += vote
        if is_voted and vote < threshold:
            return End([total], alpha_sum, *wallet.ends(), -1 - number)
        passed, start = number + 1 if is_voted else passed, stop
    return End([total], alpha_sum, *wallet.ends(), passed)


def walk_sampled(
    hypotheses, alphas, shop, row, budget, uniforms, n_outputs, *, ends_at_miss=False
):
    """One session: draws until none can be paid, or every path has ended.

    A draw that can't be paid ends it, but is passed over where another could be and
    `ends_at_miss` is not asked for. None where the uniforms don't reach the end.
    """
    wallet, drawn = Wallet(shop, row, budget), []
    sums = list(accumulate(alphas))

    def now():
        return [so_far(one, row, wallet.answered, n_outputs) for one in hypotheses]

    def known_alpha():
        return sum(a for a, (votes, _) in zip(alphas, now(), strict=True) if any(votes))

    for uniform in uniforms:
        if all(needed is None for _, needed in now()):
            break
        h = min(bisect_right(sums, uniform * sums[-1]), len(hypotheses) - 1)
        _, is_whole = wallet.follow(hypotheses[h], n_outputs)
        if not is_whole and (
            ends_at_miss or not any(map(wallet.could_go_on, hypotheses))
        ):
            ballots = [now()[one][0] for one in drawn]
            n_draws = sum(map(any, ballots))
            total = [
                sum(votes) for votes in zip([0] * n_outputs, *ballots, strict=True)
            ]
            return End(total, known_alpha(), *wallet.ends(), n_draws)
        drawn.append(h)
    if any(needed is not None for _, needed in now()):
        return None
    known = [v if f in wallet.known else None for f, v in enumerate(row)]
    totals, _ = full_votes(hypotheses, alphas, known, n_outputs)
    return End(totals, known_alpha(), *wallet.ends(), -1)


def reachable(hypothesis, row, answered, n_outputs):
    """Features not answered that a path may still come to, whatever the answers."""
    _, needed = so_far(hypothesis, row, answered, n_outputs)
    if needed is None:
        return set()
    if isinstance(hypothesis, Product):
        return set(features_of(hypothesis)) - set(answered)
    if isinstance(hypothesis, Stump):
        return {hypothesis.feature}
    features, positions = set(), [0]
    while positions:
        position = positions.pop()
        if position is None:
            continue
        stump = hypothesis.stumps[position]
        above, below = hypothesis.children[position]
        if stump.feature not in answered:
            features.add(stump.feature)
            positions += [above, below]
        else:
            sign = phi(stump, row[stump.feature])
            positions += [{1: above, -1: below, 0: None}[sign]]
    return features


def plan(hypotheses, row, answered, pending, shop, charged, remaining, n_outputs):
    """Length of the longest prefix that can be paid whatever the answers."""
    for length in range(len(hypotheses), -1, -1):
        wanted = set()
        for hypothesis in hypotheses[:length]:
            wanted |= reachable(hypothesis, row, answered, n_outputs)
        total, paid = 0, set(charged)
        for feature in sorted(wanted - set(pending)):
            total += naive.price(shop, paid, feature)
            paid.add(feature)
        if remaining is None or total <= remaining:
            return length
    raise AssertionError("the empty prefix costs nothing")


def options(hypotheses, feature, n_categories):
    """Values that cover all that stumps on a feature tell apart, missing first.

    `n_categories` is None for a number.
    """
    if n_categories is not None:
        return [None, -1.0, *map(float, range(n_categories))]
    cuts = sorted(
        {s.cut for one in hypotheses for s in stumps_of(one) if s.feature == feature}
    )
    return [None, *(cut - 0.001 for cut in cuts[:1]), *(cut + 0.001 for cut in cuts)]


def completions(row, free, all_options):
    """Every row that differs from this one in the features `free`."""
    for chosen in every_choice(*(all_options[feature] for feature in free)):
        completed = list(row)
        for feature, value in zip(free, chosen, strict=True):
            completed[feature] = value
        yield completed


def vote_bounds(hypotheses, alphas, row, free, all_options, direction):
    """Least and greatest direction . F over all completions of the features `free`."""
    n_outputs = len(direction)
    found = []
    for completed in completions(row, free, all_options):
        votes, _ = full_votes(hypotheses, alphas, completed, n_outputs)
        found.append(sum(d * v for d, v in zip(direction, votes, strict=True)))
    return min(found), max(found)


def best_classes(votes, tolerance):
    """Classes whose score is the largest, within a tolerance."""
    scores = [-votes[0], votes[0]] if len(votes) == 1 else votes
    return {c for c, score in enumerate(scores) if score >= max(scores) - tolerance}
