"""Feature selection again, in plain Python, row by row and as literally as possible.

Slow, and free of anything ours. A table is a list of rows, a missing cell is None;
`kinds` gives "number", "boolean" or "category" per feature. Every vote on a row comes
from a hypothesis fitted anew without that row.
"""

import math

MAX_EDGE = 1 - 1e-9
TINY = 1e-12
TIE = 1e-9


def scale(rows, kinds):
    """Numbers of each feature brought to [0, 1]."""
    scaled = [list(row) for row in rows]
    for idx, kind in enumerate(kinds):
        present = [row[idx] for row in rows if row[idx] is not None]
        if kind == "number" and present:
            low, high = min(present), max(present)
            for row in scaled:
                if row[idx] is not None:
                    row[idx] = (row[idx] - low) / ((high - low) or 1.0)
    return scaled


def distance(one, other, kinds, subset):
    """Squared distance of two scaled rows."""
    total = 0.0
    for idx in subset:
        a, b = one[idx], other[idx]
        if a is None or b is None:
            total += a is not b
        elif kinds[idx] == "number":
            total += (a - b) ** 2
        else:
            total += a != b
    return total


def neighbours(rows, kinds, subset, k):
    """For each row the other rows as near as the k-th nearest."""
    scaled = scale(rows, kinds)
    found = []
    for i, one in enumerate(scaled):
        others = [j for j in range(len(rows)) if j != i]
        distances = {j: distance(one, scaled[j], kinds, subset) for j in others}
        near = sorted(distances.values())[:k]
        found.append([j for j in others if distances[j] <= near[-1] + TIE])
    return found


def knn_votes(lists, D, y):
    votes = []
    for near in lists:
        total = sum(D[j] for j in near)
        lead = sum(D[j] * y[j] for j in near)
        votes.append(lead / total if total > TINY * max(D) else 0.0)
    return votes


def stumps(rows, kinds, subset):
    """Every stump as its votes on all rows, both ways round, and the constants."""
    found = [[1] * len(rows)]
    for idx in subset:
        column = [row[idx] for row in rows]
        values = sorted({value for value in column if value is not None})
        for value in values if kinds[idx] == "category" else values[:-1]:
            if kinds[idx] == "category":
                signs = [value == cell for cell in column]
            else:
                signs = [cell is not None and cell > value for cell in column]
            pairs = zip(column, signs, strict=True)
            votes = [0 if c is None else 1 if is_plus else -1 for c, is_plus in pairs]
            if len(values) > 1:
                found.append(votes)
    return found + [[-vote for vote in votes] for votes in found]


def stump_votes(every, D, y):
    """The vote of the best stump of the other rows; 0 where the best differ."""
    votes = []
    for i in range(len(y)):
        edges = [
            sum(D[j] * y[j] * votes_[j] for j in range(len(y)) if j != i)
            for votes_ in every
        ]
        tops = {
            votes_[i]
            for votes_, edge in zip(every, edges, strict=True)
            if edge >= max(edges) - TINY
        }
        votes.append(tops.pop() if len(tops) == 1 else 0)
    return votes


def clear_weights(rows, subset, D, y):
    """D' with the paper's sum over descriptions and its predicate, literally."""
    described = [tuple(row[idx] for idx in subset) for row in rows]
    descriptions = sorted(set(described), key=repr)

    def clarity(x):
        inside = [i for i, one in enumerate(described) if one == x]
        plus = sum(D[i] for i in inside if y[i] > 0)
        minus = sum(D[i] for i in inside if y[i] < 0)
        share = abs(plus - minus) / (plus + minus)
        return share if share > TIE else 0.0

    clarities = {x: clarity(x) for x in descriptions}
    weighted = [
        sum(D[i] * (x == described[i]) * clarities[x] for x in descriptions)
        for i in range(len(rows))
    ]
    total = sum(weighted)
    return [one / total for one in weighted] if total > 0 else list(D)


def boost(rows, kinds, subset, y, weights, learner, k, rounds, method, criterion="z"):
    """Z after each round, and F."""
    start = list(weights)
    if method == "ifs2boost":
        start = clear_weights(rows, subset, start, y)
    reference = start if criterion == "z_prime" else weights
    D, sums, zs = start, [0.0] * len(y), []
    lists = neighbours(rows, kinds, subset, k) if learner == "knn" else None
    every = stumps(rows, kinds, subset)
    is_open = True
    for _ in range(rounds):
        if is_open:
            h = knn_votes(lists, D, y) if lists else stump_votes(every, D, y)
            r = sum(d * a * b for d, a, b in zip(D, y, h, strict=True))
            is_open = r > TINY
        if is_open:
            clipped = min(r, MAX_EDGE)
            alpha = 0.5 * math.log((1 + clipped) / (1 - clipped))
            sums = [f + alpha * vote for f, vote in zip(sums, h, strict=True)]
            D = [d * math.exp(-alpha * a * b) for d, a, b in zip(D, y, h, strict=True)]
            D = [d / sum(D) for d in D]
            is_open = r < MAX_EDGE
        losses = (
            w * math.exp(-a * f) for w, a, f in zip(reference, y, sums, strict=True)
        )
        zs.append(sum(losses))
    return zs, sums


def knn_accuracy(rows, kinds, subset, targets, weights, k):
    """Leave-one-out; a tie among q classes counts 1/q."""
    right = 0.0
    for i, near in enumerate(neighbours(rows, kinds, subset, k)):
        masses = dict.fromkeys(set(targets), 0.0)
        for j in near:
            masses[targets[j]] += weights[j]
        top = max(masses.values())
        tied = [c for c, mass in masses.items() if mass >= top - TIE * top]
        right += weights[i] * (targets[i] in tied) / len(tied)
    return right
