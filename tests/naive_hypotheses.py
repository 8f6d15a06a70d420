"""Trees, products and several classes again: hypotheses and their votes, literally.

Plain Python that imports nothing of core. A table is a list of rows, a missing cell is
None, a category that training never saw is negative. `naive_boosting` trains such
hypotheses, `naive_sessions` plays sessions of them.
"""

import math
from typing import NamedTuple


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
