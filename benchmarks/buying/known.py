"""Who knows how the cases are made: python -m benchmarks.buying.known.

Fills in what can be reached on the tiers market at all. Chances of the tiers are exact
there: those of reach and money are integrated over a grid, sectors are summed over.
Two buy by them: one order for all cases, tuned as the waterfall's, and a plan, which
looks ahead to the end: what each purchase comes to in money and errors, if the plan
goes on from there, is fitted from the last purchase backwards (LightGBM).
"""

import argparse
import sys
from typing import NamedTuple

import lightgbm
import numpy as np
from scipy.stats import norm

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.table.dataset import Dataset
from benchmarks.buying import tiers
from benchmarks.buying.one_step import show
from benchmarks.buying.readings import BASE
from benchmarks.buying.tiers import MARKET, TIER_SHARES
from benchmarks.buying.walks import choose_threshold, follow, walk_order
from benchmarks.buying.waterfall import Order, OrderSearch
from benchmarks.documents import keep_rows, percent

# Of reach and money.
GRID = np.arange(-2.5, 5.6, 0.1)
TIERS = np.arange(len(TIER_SHARES))
OF_TIER = norm.pdf(GRID, TIERS[:, None], tiers.SPREAD)
PLACES = {one.name: idx for idx, one in enumerate(MARKET.catalogue.features)}
IS_HEAVY = np.isin(np.arange(4), (tiers.PLANT, tiers.OFFICE))
COPY = 0.15
N_PLANNED, N_ORDERED, N_TEST, SEED = 10_000, 2000, 4000, 99
# Below the price that the goals are about, so that errors can be read at less spend.
PRICES = (5.0, 3.0, 2.0, 1.0)
COSTS = {**BASE, "objective": "regression", "num_leaves": 15, "min_data_in_leaf": 150}
N_ROUNDS = 80


def chances_of(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the exact chances of the tiers, and of a plant or an office."""
    logs = np.tile(np.log(TIER_SHARES), (len(values), 1))
    for name, right in tiers.READINGS.items():
        logs += look_up(values, name, tiers.list_chances(right))
    logs += look_up(values, "mail", np.stack([1.0 - tiers.MAIL, tiers.MAIL], axis=1))
    parts = [logs + add_hidden(values, is_heavy) for is_heavy in (True, False)]
    heavy, light = np.exp(parts - np.max(parts, axis=(0, 2))[None, :, None])
    whole = (heavy + light).sum(axis=1)
    return (heavy + light) / whole[:, None], heavy.sum(axis=1) / whole


def add_hidden(values: FloatArray, is_heavy: bool) -> FloatArray:
    """Return log-likelihoods of what reach, money and the sector say; by tier."""
    of_kind = np.where(is_heavy, IS_HEAVY, ~IS_HEAVY)
    right = tiers.SECTOR_RIGHT
    others = (1.0 - right) / (of_kind.size - 1)
    read = np.where(np.eye(of_kind.size, dtype=bool), right, others)
    shares = np.array(tiers.SECTOR_SHARES) * of_kind
    # Without a reading the share of the kind itself.
    place = values[:, PLACES["sector"]]
    known = np.append(shares @ read, shares.sum())
    found = np.where(np.isnan(place), known.size - 1, place).astype(int)
    revenue, turnover = (values[:, PLACES[name]] for name in ("revenue", "turnover"))
    copy = np.where(np.isnan(revenue), turnover, np.nan)
    mean, spread = tiers.OTHERS
    reach = sum(
        spread_on(values[:, PLACES[name]], own)
        for name, own in (("pages", 1.5), ("filings", 0.6), ("visit", 0.25))
    )
    money = spread_on(values[:, PLACES["audit"]], 0.25)
    money += spread_on(values[:, PLACES["credit"]], 0.4 if is_heavy else 1.0)
    money += cut_on(values[:, PLACES["band"]])
    logs = np.log(known[found])
    staff = values[:, PLACES["staff"]]
    if is_heavy:
        reach += spread_on(staff, 0.7)
        logs += density(revenue, mean, spread)
        logs += density(copy, mean, np.hypot(spread, COPY))
    else:
        logs += density(staff, mean, spread)
        money += spread_on(revenue, 0.5) + spread_on(copy, np.hypot(0.5, COPY))
    return logs[:, None] + integrate(reach) + integrate(money)


def density(values: FloatArray, means: FloatArray | float, spread: float) -> FloatArray:
    """Return log-densities, 0 where a value is missing."""
    return np.nan_to_num(norm.logpdf(values, means, spread), nan=0.0)


def spread_on(values: FloatArray, spread: float) -> FloatArray:
    """Return log-densities of a reading with noise; (n_rows, n_grid)."""
    return density(values[:, None], GRID, spread)


def cut_on(bands: FloatArray) -> FloatArray:
    """Return the log-chances of a band of money; (n_rows, n_grid)."""
    ends = norm.cdf(np.array([-np.inf, *tiers.BANDS, np.inf])[:, None] - GRID)
    logs = np.log(np.maximum(np.diff(ends, axis=0), 1e-12))
    with_none = np.vstack([logs, np.zeros(GRID.size)])
    return with_none[np.where(np.isnan(bands), len(logs), bands).astype(int)]


def integrate(logs: FloatArray) -> FloatArray:
    """Integrate a likelihood over what a tier makes of reach or money; (n_rows, 4)."""
    most = logs.max(axis=1, keepdims=True)
    return np.log(np.exp(logs - most) @ OF_TIER.T + 1e-300) + most


def look_up(values: FloatArray, name: str, chances: FloatArray) -> FloatArray:
    """Return the log-chances of a category by tier, 0 where it is missing."""
    codes = values[:, PLACES[name]]
    logs = np.vstack([np.log(chances.T), np.zeros(TIERS.size)])
    return logs[np.where(np.isnan(codes), len(logs) - 1, codes).astype(int)]


class KnownSearch(OrderSearch):
    """Orders of vendors whose answers are read exactly."""

    def read(self, vendors: Order) -> FloatArray:
        key = frozenset(vendors)
        if key not in self.chances:
            idxs = MARKET.list_features(sorted(key))
            values = np.full_like(self.training.values, np.nan)
            values[:, idxs] = self.training.values[:, idxs]
            self.chances[key] = chances_of(values)[0]
        return self.chances[key]


class States(NamedTuple):
    """Cases of which so many vendors are bought, and what is seen of them."""

    values: FloatArray
    is_bought: BoolArray
    chances: FloatArray
    columns: FloatArray


def look(values: FloatArray, is_bought: BoolArray) -> States:
    columns = show(MARKET, values, is_bought)
    chances, is_heavy = chances_of(columns[:, : values.shape[1]])
    # Given these, single answers hardly say what comes next.
    states = columns[:, values.shape[1] :]
    seen = [chances, is_heavy[:, None], np.sort(chances, axis=1)[:, -2:], states]
    return States(values, is_bought, chances, np.hstack(seen))


class Plan:
    """What each purchase comes to in money and errors, by number bought and vendor."""

    def __init__(self, error_price: float) -> None:
        self.error_price = error_price
        self.costs: dict[tuple[int, int], lightgbm.Booster] = {}

    def fit(self, cases: Dataset, random: np.random.Generator) -> None:
        """Fit from the last purchase backwards to what the plan so far comes to."""
        shape = (cases.n_samples, MARKET.prices.size)
        for count in range(shape[1] - 1, -1, -1):
            ranks = random.random(shape).argsort(axis=1).argsort(axis=1)
            now = look(cases.values, ranks < count)
            for vendor in range(shape[1]):
                rows = np.flatnonzero(~now.is_bought[:, vendor])
                is_bought = now.is_bought[rows]
                is_bought[:, vendor] = True
                after = self.go_on(cases.values[rows], is_bought, count + 1)
                later = (after.is_bought & ~is_bought) @ MARKET.prices
                later += self.error_price * (1.0 - after.chances.max(axis=1))
                data = lightgbm.Dataset(now.columns[rows], later, params=COSTS)
                self.costs[count, vendor] = lightgbm.train(COSTS, data, N_ROUNDS)

    def go_on(self, values: FloatArray, is_bought: BoolArray, count: int) -> States:
        """Return the cases as they end, of which so many vendors are bought."""
        is_bought = is_bought.copy()
        open_rows = np.arange(len(values))
        for bought in range(count, MARKET.prices.size):
            states = look(values[open_rows], is_bought[open_rows])
            best = self.weigh(states, bought).argmin(axis=1)
            goes_on = best < MARKET.prices.size
            open_rows = open_rows[goes_on]
            if not open_rows.size:
                break
            is_bought[open_rows, best[goes_on]] = True
        return look(values, is_bought)

    def weigh(self, states: States, count: int) -> FloatArray:
        """Return what buying each vendor comes to, and, in the last column, to stop."""
        stop = self.error_price * (1.0 - states.chances.max(axis=1))
        columns = []
        for vendor, price in enumerate(MARKET.prices):
            later = self.costs[count, vendor].predict(states.columns, num_threads=1)
            sums = price + np.maximum(later, 0.0)
            columns.append(np.where(states.is_bought[:, vendor], np.inf, sums))
        return np.column_stack([*columns, stop])

    def play(self, cases: Dataset) -> tuple[float, float]:
        """Return mean spend and error."""
        nothing = np.zeros((cases.n_samples, MARKET.prices.size), bool)
        end = self.go_on(cases.values, nothing, 0)
        spend = float((end.is_bought @ MARKET.prices).mean())
        return spend, err(end.chances, cases.targets)


def err(chances: FloatArray, targets: IntArray) -> float:
    return float((chances.argmax(axis=1) != targets).mean())


def play_order(
    cases: Dataset, testing: Dataset, error_price: float
) -> tuple[float, float]:
    """Return mean spend and error of one order, read exactly."""
    search = KnownSearch(MARKET, cases, error_price, {})
    order = search.find_best()
    prices = MARKET.prices[list(order)]
    starts = [order[:count] for count in range(len(order) + 1)]
    walk = walk_order([search.read(start) for start in starts], prices)
    threshold, _ = choose_threshold(walk, cases.targets, error_price)
    on_test = KnownSearch(MARKET, testing, error_price, {})
    played = walk_order([on_test.read(start) for start in starts], prices)
    ends = follow(played, testing.targets, np.array([threshold]))
    return float(ends.spends[0]), float(ends.errors[0])


def main() -> int:
    """Fill in what who knows the market comes to."""
    parser = argparse.ArgumentParser(prog="benchmarks.buying.known")
    parser.add_argument("--prices", type=float, nargs="+", default=PRICES)
    given = parser.parse_args()
    random = np.random.default_rng(SEED)
    cases, testing = (tiers.make_cases(size, random) for size in (N_PLANNED, N_TEST))
    few = tiers.make_cases(N_ORDERED, random)
    everything = percent(err(chances_of(testing.values)[0], testing.targets), 1)
    for error_price in given.prices:
        plan = Plan(error_price)
        plan.fit(cases, random)
        cells = [f"{error_price:g}", *show_pair(*plan.play(testing))]
        cells += show_pair(*play_order(few, testing, error_price))
        keep_rows("buying-evidence", "known", [[*cells, everything]], n_keys=1)
        print(*cells, everything, file=sys.stderr, flush=True)
    return 0


def show_pair(spend: float, error: float) -> tuple[str, str]:
    return f"{spend:.3f}", percent(error, 1)


if __name__ == "__main__":
    sys.exit(main())
