"""Panels again, in plain Python, row by row and as literally as possible.

Slow, and free of anything ours. Of boosted trees a column is a list of codes, None
where a value is missing; of sessions a panel is a dict of its order, loss and rises.
"""

import math

MASK = 2**64 - 1
TINY = 1e-12
LEAST_GAIN = 1e-9
LEAST_HELP = 1e-3
SUPERADDED = 0.15


class Draws:
    """SplitMix64."""

    def __init__(self, seed):
        self.state = seed

    def share(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        mixed = self.state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
        return ((mixed ^ (mixed >> 31)) >> 11) / 2**53

    def some(self, share, things):
        """A share of things, at least one; in their order, each as likely."""
        if share >= 1:
            return list(things)
        wanted, drawn = max(1, int(share * len(things) + 0.5)), []
        for place, thing in enumerate(things):
            if self.share() * (len(things) - place) < wanted:
                drawn.append(thing)
                wanted -= 1
        return drawn


def chance(scores, output):
    """Chance of an output's class by the log odds of a row."""
    if len(scores) == 1:
        return 1 / (1 + math.exp(-scores[0]))
    return math.exp(scores[output]) / sum(map(math.exp, scores))


def is_below(code, split):
    _, at, is_category, is_missing_below = split
    if code is None:
        return is_missing_below
    return code == at if is_category else code <= at


def worth(rows, pulls, l2):
    gradient = sum(pulls[row][0] for row in rows)
    slope = sum(pulls[row][1] for row in rows)
    return gradient**2 / (slope + l2 + TINY)


def part(rows, column, split):
    below = [row for row in rows if is_below(column[row], split)]
    return below, [row for row in rows if row not in below]


def splits_of(column, n_codes, is_category, rows):
    """Every way to part rows by a column: code by code, missing ones above first."""
    n_missing = sum(column[row] is None for row in rows)
    for code in range(n_codes if is_category else n_codes - 1):
        if n_missing:
            yield code, is_category, False
            yield code, is_category, True
            continue
        n_below = len(part(rows, column, (0, code, is_category, False))[0])
        yield code, is_category, 2 * n_below > len(rows)


def best_split(table, drawn, rows, pulls, growth):
    """Gain and split of a leaf: the first of those that gain most; or 0."""
    best, found = LEAST_GAIN, None
    for number in drawn:
        column, n_codes, is_category = table[number]
        for rest in splits_of(column, n_codes, is_category, rows):
            below, above = part(rows, column, (number, *rest))
            if min(len(below), len(above)) < growth["least_rows"]:
                continue
            gain = worth(below, pulls, growth["l2"]) + worth(above, pulls, growth["l2"])
            gain -= worth(rows, pulls, growth["l2"])
            if gain > best:
                best, found = gain, (number, *rest)
    return (best, found) if found else (0.0, None)


def grow(table, drawn, rows, pulls, growth, gains):
    """The splits of a tree in the order in which they were made, and its root."""
    root = {"rows": rows}
    leaves, splits = [root], []
    while len(leaves) < growth["leaves"]:
        tried = [
            best_split(table, drawn, leaf["rows"], pulls, growth) for leaf in leaves
        ]
        place = max(range(len(leaves)), key=lambda leaf: tried[leaf][0])
        gain, split = tried[place]
        if split is None:
            break
        gains[split[0]] += gain
        splits.append(split)
        below, above = part(leaves[place]["rows"], table[split[0]][0], split)
        parent = leaves[place]
        leaves[place], other = {"rows": below}, {"rows": above}
        parent |= {"split": split, "below": leaves[place], "above": other}
        leaves.append(other)
    for leaf in leaves:
        gradient = sum(pulls[row][0] for row in leaf["rows"])
        slope = sum(pulls[row][1] for row in leaf["rows"])
        leaf["step"] = growth["rate"] * gradient / (slope + growth["l2"] + TINY)
    return splits, root, [len(leaf["rows"]) for leaf in leaves]


def step_of(table, row, node):
    while "split" in node:
        code = table[node["split"][0]][0][row]
        node = node["below"] if is_below(code, node["split"]) else node["above"]
    return node["step"]


def boost(table, targets, weights, scores, growth):
    """Move on scores [row][output] by boosted trees; the splits, gains, leaf sizes.

    table: (codes, n_codes, is_category) of each column.
    """
    draws, n_outputs = Draws(growth["seed"]), len(scores[0])
    factor = 1.0 if n_outputs == 1 else n_outputs / (n_outputs - 1)
    gains, splits, sizes = [0.0] * len(table), [], []
    members = [row for row, weight in enumerate(weights) if weight > 0]
    for _ in range(growth["rounds"]):
        rows = draws.some(growth["row_share"], members)
        roots = []
        for output in range(n_outputs):
            drawn = draws.some(growth["column_share"], range(len(table)))
            wanted = 1 if n_outputs == 1 else output
            pulls = {}
            for row in rows:
                told = chance(scores[row], output)
                pulls[row] = (
                    weights[row] * ((targets[row] == wanted) - told),
                    weights[row] * factor * told * (1 - told),
                )
            its_splits, root, n_rows = grow(table, drawn, rows, pulls, growth, gains)
            splits.append(its_splits)
            sizes.append(n_rows)
            roots.append(root)
        for row, its_scores in enumerate(scores):
            for output, root in enumerate(roots):
                its_scores[output] += step_of(table, row, root)
    return splits, gains, sizes


def price(features, groups, paid, idxs):
    """What some features cost together; features are (cost, group or None)."""
    fees = {features[idx][1] for idx in idxs} - {None} - paid
    return sum(features[idx][0] for idx in idxs) + sum(groups[fee] for fee in fees)


def floor_of(panels, panel, known):
    """Least loss of a panel: that of its beginnings that have all that is known."""
    order = panel["order"]
    last = max((1 + order.index(idx) for idx in known if idx in order), default=0)
    beginnings = [set(order[:size]) for size in range(last, len(order) + 1)]
    return max(panel["loss"] for panel in panels if set(panel["order"]) in beginnings)


def expect_loss(panels, panel, known):
    """Loss with what is not known hidden: rises are added, more so for several."""
    hidden = [place for place, idx in enumerate(panel["order"]) if idx not in known]
    rises = sum(panel["rises"][place] for place in hidden)
    rises *= 1 + SUPERADDED * max(len(hidden) - 1, 0)
    return max(panel["loss"] + rises, floor_of(panels, panel, known))


def predictor(panels, known):
    """The panel that predicts."""
    smallest = {}
    for panel in panels:
        members = set(panel["order"])
        n_passed, n_hidden = len(known - members), len(members - known)
        if n_passed not in smallest or n_hidden < smallest[n_passed][0]:
            smallest[n_passed] = n_hidden, panel
    covers = [smallest[n_passed] for n_passed in sorted(smallest)]
    if 0 in smallest and smallest[0][0] == 0:
        return smallest[0][1]
    return min(
        (panel for _, panel in covers), key=lambda one: expect_loss(panels, one, known)
    )


def choose(panels, shop, paid, status, remaining):
    """What is still to be asked, in order: the rest of the panel to aim at, or extras.

    `shop` is (features, groups, names of bundles); `status` is "open", "known",
    "coming" or "gone" by feature; `remaining` None: unlimited.
    """
    features, groups, bundles = shop

    def is_paid(idxs):
        return remaining is None or price(features, groups, paid, idxs) <= remaining

    known = {idx for idx, standing in enumerate(status) if standing == "known"}
    to_come = {idx for idx, standing in enumerate(status) if standing != "gone"}
    now = expect_loss(panels, predictor(panels, known), known)
    losses = {}
    for number, panel in enumerate(panels):
        still = [idx for idx in panel["order"] if status[idx] == "open"]
        loss = expect_loss(panels, panel, to_come)
        if all(status[idx] in ("known", "gone") for idx in panel["order"]):
            loss = max(loss, now)
        if is_paid(still) and loss < math.inf:
            losses[number] = loss, still
    loss, still = losses[min(losses, key=lambda number: losses[number][0])]
    if still and loss <= now + TINY:
        return still
    affordable = [idx for idx in range(len(features)) if is_paid([idx])]
    together = {
        idx: {
            other
            for other, (_, group) in enumerate(features)
            if group in bundles
            and group == features[idx][1]
            and status[other] == "open"
        }
        for idx in affordable
        if status[idx] == "open"
    }
    read = {idx for panel in panels for idx in panel["order"]}
    is_blind = not predictor(panels, known)["order"]
    if not is_blind and not any(status[idx] == "gone" for idx in read):
        return []
    known |= {idx for idx, standing in enumerate(status) if standing == "coming"}
    now = expect_loss(panels, predictor(panels, known), known)
    return find_extras(panels, known, together, now)


def find_extras(panels, known, together, now):
    """Features that lower the expected loss each alone, what lowers it most first.

    `together` has the affordable ones, each with what its bundle reveals besides.
    """
    gains = {}
    for idx, others in together.items():
        after = known | {idx} | others
        panel = predictor(panels, after)
        gain = now - expect_loss(panels, panel, after)
        if idx in panel["order"] and gain > LEAST_HELP:
            gains[idx] = gain
    return sorted(gains, key=lambda idx: -gains[idx])
