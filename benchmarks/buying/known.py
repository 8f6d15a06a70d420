"""Who knows how the cases are made: python -m benchmarks.buying.known.

Fills in what can be reached on the tiers market at all. Chances of the tiers are exact
there: those of reach and money are integrated over a grid, sectors are summed over.
Two buy by them: one order for all cases, tuned as the waterfall's, and a plan, which
looks ahead to the end: the least sum of money and errors from each state on is fitted
from the last purchase backwards (fitted dynamic programming; LightGBM), so that it is
nearly the least.
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
from benchmarks.buying.parties import ERROR_PRICES
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
N_PLANNED, N_ORDERED, N_TEST, SEED = 6000, 2000, 4000, 99
# Between the prices of an error, so that errors can be read at any spend.
PRICES = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 8.0, 25.0)
COSTS = {**BASE, "objective": "regression", "num_leaves": 15, "min_data_in_leaf": 60}
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
    seen = [chances, is_heavy[:, None], np.sort(chances, axis=1)[:, -2:], columns]
    return States(values, is_bought, chances, np.hstack(seen))


class Plan:
    """What each purchase comes to in money and errors, by number bought and vendor."""

    def __init__(self, error_price: float) -> None:
        self.error_price = error_price
        self.costs: dict[tuple[int, int], lightgbm.Booster] = {}

    def fit(self, cases: Dataset, random: np.random.Generator) -> None:
        """Fit from the last purchase backwards."""
        shape = (cases.n_samples, MARKET.prices.size)
        for count in range(shape[1] - 1, -1, -1):
            ranks = random.random(shape).argsort(axis=1).argsort(axis=1)
            now = look(cases.values, ranks < count)
            for vendor in range(shape[1]):
                rows = np.flatnonzero(~now.is_bought[:, vendor])
                is_bought = now.is_bought[rows]
                is_bought[:, vendor] = True
                after = self.weigh(look(cases.values[rows], is_bought), count + 1)
                data = lightgbm.Dataset(
                    now.columns[rows], np.min(after, axis=1), params=COSTS
                )
                self.costs[count, vendor] = lightgbm.train(COSTS, data, N_ROUNDS)

    def weigh(self, states: States, count: int) -> FloatArray:
        """Return what buying each vendor comes to, and, in the last column, to stop."""
        n_rows, n_vendors = states.is_bought.shape
        sums = np.full((n_rows, n_vendors + 1), np.inf)
        sums[:, -1] = self.error_price * (1.0 - states.chances.max(axis=1))
        for vendor in range(n_vendors if count < n_vendors else 0):
            later = self.costs[count, vendor].predict(states.columns, num_threads=1)
            bought = MARKET.prices[vendor] + np.maximum(later, 0.0)
            sums[:, vendor] = np.where(states.is_bought[:, vendor], np.inf, bought)
        return sums

    def play(self, cases: Dataset) -> tuple[float, float]:
        """Return mean spend and error."""
        n_vendors = MARKET.prices.size
        is_bought = np.zeros((cases.n_samples, n_vendors), bool)
        is_open = np.ones(cases.n_samples, bool)
        for count in range(n_vendors):
            best = self.weigh(look(cases.values, is_bought), count).argmin(axis=1)
            is_open &= best < n_vendors
            is_bought[np.flatnonzero(is_open), best[is_open]] = True
        chances = look(cases.values, is_bought).chances
        spend = float((is_bought @ MARKET.prices).mean())
        return spend, err(chances, cases.targets)


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
        is_asked = error_price in ERROR_PRICES
        pair = play_order(few, testing, error_price) if is_asked else None
        cells += show_pair(*pair) if pair else ("", "")
        keep_rows("buying-evidence", "known", [[*cells, everything]], n_keys=1)
        print(*cells, everything, file=sys.stderr, flush=True)
    return 0


def show_pair(spend: float, error: float) -> tuple[str, str]:
    return f"{spend:.3f}", percent(error, 1)


if __name__ == "__main__":
    sys.exit(main())
