"""Class-conditional tables in plain Python, slowly: the twin of the kernels."""

import math
from collections.abc import Sequence
from statistics import NormalDist

# Counts of one feature: by bin, then by class.
Table = list[list[float]]

FLOOR = 1e-5


def find_cell(value: float, cuts: Sequence[float], *, is_category: bool) -> int:
    """The bin of a present value; a category has one for others after its codes."""
    if is_category:
        return list(cuts).index(value) if value in cuts else len(cuts)
    return sum(cut < value for cut in cuts)


def smooth(table: Table, n_passes: int) -> Table:
    """A quarter of each bin goes either way, and back where there is none."""
    for _ in range(n_passes):
        last = len(table) - 1
        table = [
            [
                0.25 * low + 0.5 * here + 0.25 * high
                for low, here, high in zip(
                    table[max(place - 1, 0)],
                    table[place],
                    table[min(place + 1, last)],
                    strict=True,
                )
            ]
            for place in range(len(table))
        ]
    return table


def score_bins(table: Table) -> list[float]:
    """The normal score of the middle of each bin."""
    totals = [sum(row) + 1e-9 for row in table]
    scores, below = [], 0.0
    for total in totals:
        share = (below + total / 2) / sum(totals)
        scores.append(NormalDist().inv_cdf(min(max(share, 1e-3), 1 - 1e-3)))
        below += total
    return scores


def bell(n: float, s1: float, s2: float) -> tuple[float, float]:
    mean = s1 / (n + 1)
    return mean, (s2 - 2 * mean * s1 + n * mean**2 + 1) / (n + 1)


def height(z: float, mean: float, variance: float) -> float:
    variance = max(variance, 0.01)
    exponent = z * z / 2 - (z - mean) ** 2 / variance / 2
    return math.exp(min(max(exponent, -30), 30)) / math.sqrt(variance)


def draw_bells(table: Table, *, is_own: bool) -> tuple[Table, Table]:
    """The bell of each class over the bins, and the same without a row of the bin."""
    scores, classes = score_bins(table), range(len(table[0]))
    sums = []
    for target in classes:
        column = [row[target] for row in table]
        pairs = list(zip(column, scores, strict=True))
        moments = [sum(n * z**power for n, z in pairs) for power in range(3)]
        sums.append(tuple(moments))

    def common(some: Sequence[tuple[float, ...]]) -> float:
        rows = [max(n, 1e-3) for n, _, _ in some]
        variances = [bell(*one)[1] for one in some]
        return sum(map(math.prod, zip(rows, variances, strict=True))) / sum(rows)

    whole = [[0.0 for _ in classes] for _ in table]
    left = [[0.0 for _ in classes] for _ in table]
    for target in classes:
        mean, variance = bell(*sums[target])
        spread = variance if is_own else common(sums)
        heights = [
            sum(row) * height(z, mean, spread)
            for row, z in zip(table, scores, strict=True)
        ]
        norm = max(sum(heights), 1e-12)
        for place, z in enumerate(scores):
            n, s1, s2 = sums[target]
            less = (max(n - 1, 0), s1 - z, max(s2 - z * z, 0))
            others = [*sums[:target], less, *sums[target + 1 :]]
            mean, variance = bell(*less)
            spread = variance if is_own else common(others)
            whole[place][target] = heights[place] / norm
            left[place][target] = sum(table[place]) * height(z, mean, spread) / norm
    return whole, left


def leave_one_out(table: Table, missing: Table, n_passes: int) -> tuple[Table, Table]:
    """The shares of each bin by all rows of a class, and without a row of the bin."""
    smoothed = [*smooth(table, n_passes), *missing]
    totals = [sum(column) for column in zip(*table, *missing, strict=True)]
    whole, left = [], []
    for place, row in enumerate(smoothed):
        own = 1.0
        if place < len(table):
            unit = [[float(other == place)] for other in range(len(table))]
            own = smooth(unit, n_passes)[place][0]
        pairs = list(zip(row, totals, strict=True))
        whole.append([n / max(total, 1) for n, total in pairs])
        left.append([max(n - own, 0) / max(total - 1, 1) for n, total in pairs])
    return whole, left


def mix(
    table: Table,
    missing: Table,
    parent: Table | None,
    n_steps: int,
    *,
    is_number: bool,
) -> Table:
    """The interpolated chance of each bin of a feature, then of a missing value."""
    everything = [*table, *missing]
    n_cells, n_classes = len(everything), len(table[0])
    is_smooth = is_number and len(table) >= 5
    pairs = [
        leave_one_out(table, missing, passes)
        for passes in ((0, 1, 3, 8) if is_smooth else (0,))
    ]
    total = sum(map(sum, everything))
    if is_smooth:
        lost = sum(map(sum, missing)) / max(total, 1e-12)
        for is_own in (False, True):
            bells = draw_bells(table, is_own=is_own)
            pairs.append(
                tuple(  # type: ignore[arg-type]  # of two
                    [[chance * (1 - lost) for chance in row] for row in bell]
                    + [[lost] * n_classes] * len(missing)
                    for bell in bells
                )
            )
    rows = total + n_cells / 2
    pooled = [[(sum(row) + 0.5) / rows] * n_classes for row in everything]
    without = [
        [max(sum(row) - 0.5, 0) / max(rows - 1, 1)] * n_classes for row in everything
    ]
    pairs.append((pooled, without))
    uniform = [[1 / n_cells] * n_classes] * n_cells
    pairs.append((uniform, uniform))
    if parent is not None:
        pairs.append((parent, parent))
    weights = [1 / len(pairs)] * len(pairs)
    places = [(cell, target) for cell in range(n_cells) for target in range(n_classes)]
    for _ in range(n_steps):
        gained = [0.5] * len(pairs)
        for cell, target in places:
            shares = [
                weight * left[cell][target]
                for weight, (_, left) in zip(weights, pairs, strict=True)
            ]
            for number, share in enumerate(shares):
                count = everything[cell][target]
                gained[number] += count * share / max(sum(shares), 1e-12)
        weights = [one / sum(gained) for one in gained]
    return [
        [
            max(
                sum(
                    weight * whole[cell][target]
                    for weight, (whole, _) in zip(weights, pairs, strict=True)
                ),
                FLOOR,
            )
            for target in range(n_classes)
        ]
        for cell in range(n_cells)
    ]


def find_posterior(
    shares: Sequence[float], known: Sequence[Sequence[float]]
) -> list[float]:
    """The chance of each class; `known` are the chances of what is known by class."""
    joint = [
        share * math.prod(chances[target] for chances in known)
        for target, share in enumerate(shares)
    ]
    return [cell / sum(joint) for cell in joint]


def find_entropy(chances: Sequence[float]) -> float:
    return -sum(chance * math.log(chance) for chance in chances if chance > 0)


def expect_fall(posterior: Sequence[float], table: Table) -> float:
    """By how much the answer to a feature lowers the entropy on average."""
    left = 0.0
    for chances in table:
        joint = [q * p for q, p in zip(posterior, chances, strict=True)]
        if sum(joint) > 0:
            left += sum(joint) * find_entropy([cell / sum(joint) for cell in joint])
    return max(find_entropy(posterior) - left, 0.0)


# A part: {"share": of its siblings' rows, "shares", "tables", "gate", "children"}.
Part = dict[str, object]


def rate(gain: float, price: float, power: float, unit: float) -> float:
    return gain / max(price / unit, 1e-3) ** power


def find_best_look(posterior, part, prices, left, power, unit):
    """The open feature of the largest rate that is paid: (rate, gain, price, idx)."""
    best = (0.0, 0.0, 0.0, None)
    for idx, table in enumerate(part["tables"]):
        if idx not in prices or prices[idx] > left:
            continue
        gain = expect_fall(posterior, table)
        own = rate(gain, prices[idx], power, unit)
        if gain >= 1e-4 and own > best[0] + 1e-12:
            best = own, gain, prices[idx], idx
    return best


def plan_gate(posterior, part, prices, left, power, unit):
    """Gain and price of a part's gate with what is best behind it; None if not paid."""
    gate = part["gate"]
    if gate is None or gate not in prices or prices[gate] > left:
        return None
    rows = sum(child["n_rows"] for child in part["children"])
    reached = [
        [child["n_rows"] / rows * share for share in child["shares"]]
        for child in part["children"]
    ]
    sums = [sum(column) for column in zip(*reached, strict=True)]
    gain, price = find_entropy(posterior), prices[gate]
    for child, rates in zip(part["children"], reached, strict=True):
        joint = [q * r / s for q, r, s in zip(posterior, rates, sums, strict=True)]
        share = sum(joint)
        here = [cell / share for cell in joint]
        rest = left - prices[gate]
        own, fall, cost, _ = find_best_look(here, child, prices, rest, power, unit)
        deeper = plan_gate(here, child, prices, rest, power, unit)
        if deeper is not None and rate(*deeper, power, unit) > own:
            fall, cost = deeper
        gain -= share * (find_entropy(here) - fall)
        price += share * cost
    return max(gain, 0.0), price


def choose_look(posterior, part, prices, left, power, unit):
    """The feature to ask next, None for none; its gate counts with what follows it."""
    own, _, _, idx = find_best_look(posterior, part, prices, left, power, unit)
    plan = plan_gate(posterior, part, prices, left, power, unit)
    if plan is not None and plan[0] >= 1e-4 and rate(*plan, power, unit) > own:
        return part["gate"]
    return idx
