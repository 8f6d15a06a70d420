"""Sessions of trees, products and several classes again, row by row.

Plain Python that imports nothing of core.
"""

from bisect import bisect_right
from itertools import accumulate
from itertools import product as every_choice
from typing import NamedTuple

from tests import naive
from tests.naive_hypotheses import (
    Product,
    Stump,
    features_of,
    full_votes,
    phi,
    so_far,
    stumps_of,
)


class End(NamedTuple):
    """The end of a session; `alpha` is that of the hypotheses that voted.

    `mark` is what its policy keeps: stages; draws that voted, -1 for the full vote.
    """

    votes: list
    alpha: float
    spent: int
    asked: list
    mark: int = 0


class Wallet:
    """All that one session has asked, knows and spent."""

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
        return [
            so_far(hypothesis, row, wallet.answered, n_outputs)
            for hypothesis in hypotheses
        ]

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
            ballots = [now()[member][0] for member in drawn]
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
        {
            s.cut
            for hypothesis in hypotheses
            for s in stumps_of(hypothesis)
            if s.feature == feature
        }
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
