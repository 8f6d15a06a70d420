"""Rules that say when a case goes on, again, in plain Python; imports nothing of ours.

`ways[here]` are the panels that a case may go on to with what that costs, by position;
`risks[panel][row]` are error costs to be expected, `losses` those that came.
"""


def total(here, row, steps, ways, risks, costs, rate):
    """What a row costs from a panel on: what is spent, weighed, and the error."""
    target, threshold = steps[here]
    if target == here or risks[here][row] <= threshold:
        return costs[here][row]
    on = total(target, row, steps, ways, risks, costs, rate)
    return rate * ways[here][target] + on


def learn(ways, risks, losses, weights, rate):
    """(target, threshold) of each panel: every way and every cut of its rows tried."""
    n_panels, n_rows = len(risks), len(weights)
    costs = [
        [(loss + risk) / 2 for loss, risk in zip(*pair, strict=True)]
        for pair in zip(losses, risks, strict=True)
    ]
    steps = []
    for here in range(n_panels):
        best, found = 1e-12, (here, 0.0)
        levels = sorted(set(risks[here]), reverse=True)
        for target in sorted(ways[here]):
            for place, level in enumerate(levels):
                last = place + 1 == len(levels)
                cut = -1.0 if last else (level + levels[place + 1]) / 2
                trial = [*steps, (target, cut)]
                gain = sum(
                    weights[row]
                    * (
                        costs[here][row]
                        - total(here, row, trial, ways, risks, costs, rate)
                    )
                    for row in range(n_rows)
                )
                if gain > best + 1e-12:
                    best, found = gain, (target, cut)
        steps.append(found)
    return steps


def end(here, row, steps, ways, risks):
    """Panel that predicts a row in the end, and what was spent on the way."""
    spent = 0
    while steps[here][0] != here and risks[here][row] > steps[here][1]:
        spent += ways[here][steps[here][0]]
        here = steps[here][0]
    return here, spent


def is_on_hull(point, points):
    """Whether a point is below every line between two others, and none is better."""
    spend, error = point
    for left in points:
        if left != point and left[0] <= spend and left[1] <= error:
            return False
        for right in points:
            if left[0] < spend < right[0]:
                share = (spend - left[0]) / (right[0] - left[0])
                if error >= left[1] + share * (right[1] - left[1]):
                    return False
    return True


def mixture(rules, mean_budget=None, wanted_error=None, error_price=None):
    """(rule, share of the next one) of an aim; rules are (spend, error)."""
    if error_price is not None:
        totals = [spend + error_price * error for spend, error in rules]
        return totals.index(min(totals)), 0.0
    if mean_budget is None and wanted_error is None:
        return len(rules) - 1, 0.0
    for number in range(len(rules) - 1):
        one, other = rules[number], rules[number + 1]
        if mean_budget is not None and mean_budget < other[0]:
            return number, max(0.0, (mean_budget - one[0]) / (other[0] - one[0]))
        if wanted_error is not None and wanted_error > other[1]:
            return number, max(0.0, (one[1] - wanted_error) / (one[1] - other[1]))
    return len(rules) - 1, 0.0


def go_on(rule, errors, now, prices):
    """(panel, risk above which) to go on to, or None; `prices` None: can't be bought.

    rule: (rate, targets, thresholds, prices when it was learned).
    """
    rate, targets, thresholds, planned = rule
    target = targets[now]
    if target == now:
        return None
    if prices[target] is not None:
        return target, thresholds[now] + rate * (prices[target] - planned[now])
    within = [number for number in range(now) if prices[number] is not None]
    if not within or errors[now] == 0:
        return None
    rate = max(rate, 1e-12)
    best = min(within, key=lambda one: (rate * prices[one] + errors[one], one))
    saved = 1 - errors[best] / errors[now]
    return (best, rate * prices[best] / saved) if saved > 0 else None
