"""Learn backward when a case goes on from a panel to a dearer one."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.catalogue.catalogue import NO_GROUP, Catalogue
from askless.core.catalogue.prices import Paid, add_paid, buy
from askless.core.model.ladder.blends import to_chances
from askless.core.model.ladder.panels import Panel
from askless.core.model.ladder.stopping import (
    ErrorCosts,
    Stopping,
    StoppingRule,
    least_expected_costs,
)
from askless.core.panels.rows import PanelRows
from askless.core.spread import map_in_threads


class Walkers(NamedTuple):
    """Rows with each panel's risks and losses; panels in the order of preference."""

    catalogue: Catalogue
    panels: Sequence[Panel]
    #: (n_rows, n_features), cells without a value: charged only if billed by call
    is_missing: BoolArray
    #: (n_panels, n_rows), expected error cost
    risks: FloatArray
    #: (n_panels, n_rows), actual error cost
    losses: FloatArray

    def keep_rows(self, row_idxs: IntArray) -> "Walkers":
        """Return some of the rows."""
        return self._replace(
            is_missing=self.is_missing[row_idxs],
            risks=self.risks[:, row_idxs],
            losses=self.losses[:, row_idxs],
        )


# The price of going on to a panel that can't be reached from another.
NO_WAY = -1

# Rules are learned at N_RATES prices of an error, and judged on N_FOLDS folds.
N_RATES, N_FOLDS = 12, 5

# At the lowest rate buying the dearest panel has to save this share of the worst error.
LEAST_SAVED = 1e-3


class JudgedPanels(NamedTuple):
    """Risks and losses of every panel on held-out rows, in the order of preference."""

    #: (n_panels, n_panels), of going on, in micro-units, or `NO_WAY`
    prices: IntArray
    #: (n_panels, n_rows), expected error cost
    risks: FloatArray
    #: (n_panels, n_rows), actual error cost
    losses: FloatArray
    #: (n_rows,), they sum to 1
    weights: FloatArray

    def keep_rows(self, is_kept: BoolArray) -> "JudgedPanels":
        """Return some of the rows, (n_rows,), their weights rescaled to sum to 1."""
        weights = self.weights[is_kept]
        return self._replace(
            risks=self.risks[:, is_kept],
            losses=self.losses[:, is_kept],
            weights=weights / weights.sum(),
        )


class Steps(NamedTuple):
    """The panel that each panel goes on to, and above which risk; (n_panels,) each."""

    #: its own position if it ends
    targets: IntArray
    thresholds: FloatArray


class Point(NamedTuple):
    """Mean spend and error cost of held-out rows that follow some steps."""

    spend: float
    error: float
    steps: Steps


def fit_stopping(
    rows: PanelRows,
    panels: Sequence[Panel],
    logits: FloatArray,
    error_costs: ErrorCosts | None = None,
) -> Stopping:
    """Learn stopping rules at several prices of an error.

    Parameters
    ----------
    rows : PanelRows
    panels : sequence of Panel
        In the order of preference.
    logits : float64 array, shape (n_panels, n_rows, n_outputs)
        Log odds of rows by predictors that were not fitted to them.
    error_costs : tuple of tuples, optional
        As in `Ensemble`.

    Notes
    -----
    A rule minimises mean error cost + rate * mean spend. The rate is the error cost
    that a micro-unit has to save: the Lagrangian of a bound on the mean spend (Ji and
    Carin 2007; learned from rows, backward, as by Trapeznikov and Saligrama 2013; a
    path of panels is a cascade, Viola and Jones 2001). At each of several rates a rule
    is learned, and judged on rows that it was not learned on. Rules on the lower convex
    hull of mean spend and error cost are kept, and single panels where no rule is
    better. The error of a rule is judged across folds. Its spend is that of the kept
    rule on all rows, followed feature by feature (`follow_rule`), so that sessions with
    a mean budget spend it.
    """
    judged = evaluate_panels(rows, panels, logits, error_costs)
    walkers = Walkers(
        rows.dataset.catalogue,
        panels,
        np.isnan(rows.dataset.values),
        judged.risks,
        judged.losses,
    )
    errors = judged.losses @ judged.weights
    start = next(n for n, panel in enumerate(panels) if not panel.feature_idxs)
    ways = np.flatnonzero(judged.prices[start] != NO_WAY).tolist()
    points = [
        measure_steps(walkers, judged.weights, make_steps_to(judged.prices, number))
        for number in (start, *ways)
    ]
    folds = rows.folds(N_FOLDS)
    everything = lay_ways(judged)
    by_fold = [
        (fold, lay_ways(judged.keep_rows(mark_others(fold, judged.weights.size))))
        for fold in folds
    ]

    def learn(rate: float) -> Point:
        point = measure_steps(walkers, judged.weights, fit_steps(everything, rate))
        error = sum(
            measure_fold_error(judged, walkers, fit_steps(laid, rate), fold)
            for fold, laid in by_fold
        )
        return point._replace(error=error)

    points += map_in_threads(learn, list_error_prices(judged, start))
    hull = compute_hull(points)
    # Each slope of the hull: the error saved per micro-unit by the next rule.
    rates = [
        (vertex.error - other.error) / (other.spend - vertex.spend)
        for vertex, other in itertools.pairwise(hull)
    ] or [0.0]
    rules = (
        make_rule(judged, point, rate)
        for point, rate in zip(hull, [rates[0], *rates], strict=False)
    )
    return Stopping(errors, tuple(rules))


def evaluate_panels(
    rows: PanelRows,
    panels: Sequence[Panel],
    logits: FloatArray,
    error_costs: ErrorCosts | None,
) -> JudgedPanels:
    """Return risks and losses of panels on held-out rows, and prices between them."""
    chances = to_chances(logits)
    costs = 1.0 - np.eye(chances.shape[-1])
    if error_costs is not None:
        costs = np.array(error_costs)
    labels = (chances @ costs).argmin(axis=-1)
    return JudgedPanels(
        prices=price_transitions(rows.dataset.catalogue, panels),
        risks=least_expected_costs(chances, error_costs),
        losses=costs[rows.targets, labels],
        weights=rows.weights / rows.weights.sum(),
    )


def price_transitions(catalogue: Catalogue, panels: Sequence[Panel]) -> IntArray:
    """Return the price of going on from each panel to each other, or `NO_WAY`.

    Shape (n_panels, n_panels), as in `JudgedPanels`. A case can go on to a panel if
    that panel would predict once its features are known too; it is always preferred to
    the panel before, so it comes earlier in the order.
    """
    sets = [frozenset(panel.feature_idxs) for panel in panels]
    prices = np.full((len(sets), len(sets)), NO_WAY, np.int64)
    for start, known in enumerate(sets):
        paid = add_paid(catalogue, Paid(), known)
        for there, panel in enumerate(panels[:start]):
            if any(feature_set <= known | sets[there] for feature_set in sets[:there]):
                continue
            rest = [idx for idx in panel.feature_idxs if idx not in known]
            prices[start, there] = buy(catalogue, paid, rest)[0]
    return prices


def list_error_prices(judged: JudgedPanels, start: int) -> list[float]:
    """Return the rates at which rules are learned: error cost saved per micro-unit.

    They fall from a rate at which no price is paid to one at which every price is.
    """
    prices = judged.prices[start][judged.prices[start] > 0]
    worst = float(judged.losses.max())
    if not prices.size or worst == 0:
        return [0.0]
    lowest = LEAST_SAVED * worst / float(prices.max())
    rates: list[float] = np.geomspace(worst / prices.min(), lowest, N_RATES).tolist()
    return rates


def mark_others(fold: IntArray, n_rows: int) -> BoolArray:
    """Return which rows are not in a fold; (n_rows,)."""
    is_other = np.ones(n_rows, np.bool_)
    is_other[fold] = False
    return is_other


def lay_ways(judged: JudgedPanels) -> tuple[kernels.Ways, FloatArray]:
    """Return what steps are learned from: it is the same at each price of an error.

    The error cost of a stop, (n_panels, n_rows), is the mean of the actual and the
    expected one, which varies less.
    """
    risks = np.ascontiguousarray(judged.risks)
    orders = np.argsort(-risks, axis=1, kind="stable")
    ways = kernels.Ways(judged.prices, risks, orders, judged.weights)
    return ways, np.ascontiguousarray(judged.losses + risks) / 2


def fit_steps(laid: tuple[kernels.Ways, FloatArray], rate: float) -> Steps:
    """Learn the target and threshold of each panel that minimise the total cost.

    Panels are visited in their order, so the costs beyond each target are known by
    then. Ties go to the preferred panel, and to fewer rows that go on.
    """
    ways, costs = laid
    n_panels = costs.shape[0]
    steps = Steps(np.empty(n_panels, np.int64), np.empty(n_panels))
    # A copy, since it is overwritten.
    kernels.learn_ways(ways, rate, costs.copy(), *steps)
    return steps


def measure_steps(walkers: Walkers, weights: FloatArray, steps: Steps) -> Point:
    """Return mean spend and error cost of all rows that follow some steps."""
    spends, losses = follow_rule(walkers, *steps)
    return Point(float(weights @ spends), float(weights @ losses), steps)


def measure_fold_error(
    judged: JudgedPanels, walkers: Walkers, steps: Steps, fold: IntArray
) -> float:
    """Return the part of a fold in the mean error cost, by steps of the other rows."""
    _, losses = follow_rule(walkers.keep_rows(fold), *steps)
    return float(judged.weights[fold] @ losses)


def make_steps_to(prices: IntArray, number: int) -> Steps:
    """Return the steps that lead from every panel to one, if it can be reached."""
    targets = np.arange(prices.shape[0])
    has_way = prices[:, number] != NO_WAY
    targets[has_way] = number
    return Steps(targets, np.where(has_way, kernels.ALWAYS, np.inf))


def compute_hull(points: Sequence[Point]) -> list[Point]:
    """Return the points on the lower convex hull of spend and error, by spend.

    A point that spends more without a lower error is left out.
    """
    hull: list[Point] = []
    for point in sorted(
        points, key=lambda candidate: (candidate.spend, candidate.error)
    ):
        if hull and point.error >= hull[-1].error - kernels.LEAST_LEAD:
            continue
        # Andrew's monotone chain: what the new point puts above the hull goes.
        while len(hull) > 1 and is_above_line(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def is_above_line(first: Point, middle: Point, last: Point) -> bool:
    """Return whether the middle point is on or above the line between the others."""
    rise = (middle.error - first.error) * (last.spend - first.spend)
    return rise >= (last.error - first.error) * (middle.spend - first.spend)


def make_rule(judged: JudgedPanels, point: Point, rate: float) -> StoppingRule:
    """Return the rule of some steps, with its figures as in `StoppingRule`.

    `rate` is the error cost that a micro-unit of spend has to save.
    """
    targets, thresholds = point.steps
    numbers = np.arange(targets.size)
    return StoppingRule(
        rate=rate,
        spend=point.spend,
        error=point.error,
        targets=targets,
        thresholds=np.where(targets != numbers, thresholds, 0.0),
        prices=np.maximum(judged.prices[numbers, targets], 0),
    )


def follow_rule(
    walkers: Walkers, targets: IntArray, thresholds: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return each row's spend, in micro-units, and its error cost at the end.

    A row begins with nothing known. On the way to a panel it is judged by each panel
    that its features complete, and may end there; so it spends less than by jumps from
    panel to panel, as the rule was learned. `targets` and `thresholds` (n_panels,) are
    those of a rule.
    """
    n_rows = walkers.is_missing.shape[0]
    spends, losses = np.zeros(n_rows), np.zeros(n_rows)
    # Rows with the same known features go on together.
    open_ends = [(np.arange(n_rows), frozenset[int]())]
    while open_ends:
        rows, known = open_ends.pop()
        now = preferred_panel(walkers.panels, known)
        target = int(targets[now])
        goes_on = walkers.risks[now, rows] > thresholds[now]
        if target == now:
            goes_on[:] = False
        ends, rows = rows[~goes_on], rows[goes_on]
        losses[ends] = walkers.losses[now, ends]
        if not rows.size:
            continue
        target_idxs = walkers.panels[target].feature_idxs
        asked = next(idx for idx in target_idxs if idx not in known)
        offer = walkers.catalogue.offer_of(asked)
        revealed = [idx for idx in offer if idx not in known]
        spends[rows] += price_for_rows(walkers, rows, known, revealed)
        open_ends.append((rows, known.union(revealed)))
    return spends, losses


def preferred_panel(panels: Sequence[Panel], known: frozenset[int]) -> int:
    """Return the preferred panel whose features are all known."""
    return next(
        n for n, panel in enumerate(panels) if known.issuperset(panel.feature_idxs)
    )


def price_for_rows(
    walkers: Walkers, rows: IntArray, known: frozenset[int], revealed: list[int]
) -> FloatArray:
    """Return each row's price of features that are revealed together; (n_rows,).

    In micro-units. Missing cells cost nothing unless they are billed by call; the
    group's fee is due with the first member that costs something.
    """
    catalogue = walkers.catalogue
    is_charged = catalogue.is_per_call | ~walkers.is_missing[rows]
    is_there = is_charged[:, revealed]
    costs = catalogue.costs[revealed].astype(np.float64)
    amounts: FloatArray = is_there.astype(np.float64) @ costs
    group = int(catalogue.group_idxs[revealed[0]])
    if group != NO_GROUP:
        members = [idx for idx in known if catalogue.group_idxs[idx] == group]
        is_paid = is_charged[:, members].any(axis=1)
        amounts += catalogue.fees[group] * (is_there.any(axis=1) & ~is_paid)
    return amounts
