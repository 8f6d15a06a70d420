"""Bounds of a mean by betting, again, in plain Python; imports nothing of ours."""

STAKES = [0.75 / 2**power for power in range(6)]


def capital(gaps, mean):
    """What the bettors have after all gaps, begun with 1 each, on average."""
    total = 0.0
    for stake in STAKES:
        held = 1.0
        for gap in gaps:
            held *= 1 - stake + stake * (1 + gap) / (1 + mean)
        total += held
    return total / len(STAKES)


def lower_bound(gaps, alpha):
    """The largest mean against which the bettors have 1/alpha, to 1e-6."""
    low, high = -1.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        if capital(gaps, middle) >= 1 / alpha:
            low = middle
        else:
            high = middle
    return low


def crossing(gaps, margin, alpha):
    """After how many gaps the bettors first have 1/alpha against the margin."""
    for n_seen in range(1, len(gaps) + 1):
        if capital(gaps[:n_seen], margin) >= 1 / alpha:
            return n_seen
    return None
