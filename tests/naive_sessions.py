"""The plan and the bounds of a session, by brute force; imports nothing of core.

What `naive` lacks. A stump is (feature, cut, is_category, signed alpha), a status
one of `OPEN`, `KNOWN`, `GONE`, `PENDING`; a missing value is NaN, no group is -1.
"""

import math
from itertools import product

OPEN, KNOWN, GONE, PENDING = range(4)


def vote(stump, value):
    """What a stump votes on a value; a negative category was never seen."""
    _, cut, is_category, signed_alpha = stump
    if math.isnan(value) or (is_category and value < 0):
        return 0.0
    is_above = value == cut if is_category else value > cut
    return signed_alpha if is_above else -signed_alpha


def full_vote(stumps, row):
    return sum(vote(stump, row[stump[0]]) for stump in stumps)


def voted_alpha(stumps, row):
    """Sum of alpha over the stumps that vote on a row."""
    return sum(abs(vote(stump, row[stump[0]])) for stump in stumps)


def price(feature, costs, groups, fees, paid_groups):
    group = groups[feature]
    is_due = group >= 0 and group not in paid_groups
    return costs[feature] + (fees[group] if is_due else 0)


def plan(stumps, status, costs, groups, fees, paid_groups, remaining):
    """Length of the longest prefix that can be paid, and what it buys in order.

    Every prefix is priced from nothing, the longest first.
    """
    for length in range(len(stumps), -1, -1):
        wanted = dict.fromkeys(f for f, *_ in stumps[:length] if status[f] == OPEN)
        total, paid = 0, set(paid_groups)
        for feature in wanted:
            total += price(feature, costs, groups, fees, paid)
            paid.add(groups[feature])
        if total <= remaining:
            break
    return length, list(wanted)


def options(stumps, feature, n_categories):
    """Values of a feature that cover all that its stumps tell apart, missing first.

    `n_categories` is None for a number.
    """
    if n_categories is not None:
        return [math.nan, *map(float, range(n_categories))]
    cuts = sorted({cut for f, cut, *_ in stumps if f == feature})
    return [
        math.nan,
        *(cut - 0.001 for cut in cuts[:1]),
        *(cut + 0.001 for cut in cuts),
    ]


def completions(row, free, all_options):
    """Every row that differs from this one in the features `free`."""
    for chosen in product(*(all_options[feature] for feature in free)):
        completed = list(row)
        for feature, value in zip(free, chosen, strict=True):
            completed[feature] = value
        yield completed


def vote_bounds(stumps, row, status, is_affordable, start, all_options):
    """Least and greatest vote over all completions.

    Over the prefixes from length `start` to the first stump that can't be afforded;
    without a start over the stumps whose features can be afforded.
    """
    is_lost = [
        s == OPEN and not fits for s, fits in zip(status, is_affordable, strict=True)
    ]
    lost = [h for h, stump in enumerate(stumps) if is_lost[stump[0]]]
    if start is None:
        parts = [[stump for stump in stumps if not is_lost[stump[0]]]]
    else:
        stop = min([*lost, len(stumps)])
        parts = [stumps[:length] for length in range(start, stop + 1)]
    used = {stump[0] for stump in stumps}
    free = [f for f in used if status[f] in (OPEN, PENDING) and not is_lost[f]]
    known = [v if s == KNOWN else math.nan for v, s in zip(row, status, strict=True)]
    votes = [
        full_vote(part, completed)
        for completed in completions(known, free, all_options)
        for part in parts
    ]
    return min(votes), max(votes)
