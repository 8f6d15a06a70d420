"""Who is compared on the tiers market, each tuned on training cases only.

A party is fitted once, and then asked for each price of an error: it returns its mean
spend and error on the test cases, and what stands in its record besides. All but ours
take the threshold of the least held-out sum of spend and errors at that price.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.session.state import Aim
from askless.core.table.dataset import Dataset
from benchmarks.buying import one_step, ours, rival
from benchmarks.buying.readings import Reading, fit_reading, list_logistics, list_trees
from benchmarks.buying.rival import Stopper
from benchmarks.buying.tiers import MARKET, make_cases
from benchmarks.buying.walks import choose_threshold, follow
from benchmarks.buying.waterfall import OrderSearch, read_order
from benchmarks.data import MICROS
from benchmarks.lines import Line

# Dollars; the first is what the goals are about.
ERROR_PRICES = (5.0, 1.0, 25.0)
# Mean budgets of ours, as shares of what the waterfall spends on held-out cases.
SHARES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
# The records of the other parties at a price of an error, so far.
Records = dict[str, Line]
Ask = Callable[[float, Records], Line]


class Cases(NamedTuple):
    """Cases of a seed, and the seed."""

    training: Dataset
    testing: Dataset
    seed: int


def draw_cases(n_train: int, n_test: int, seed: int) -> Cases:
    random = np.random.default_rng([seed, n_train])
    return Cases(make_cases(n_train, random), make_cases(n_test, random), seed)


def fit_waterfall(cases: Cases) -> Ask:
    """Search orders at each price; readings are fitted once a set of vendors."""
    chances: dict[frozenset[int], FloatArray] = {}
    readings: dict[frozenset[int], Reading] = {}

    def ask(error_price: float, _: Records) -> Line:
        search = OrderSearch(MARKET, cases.training, error_price, chances)
        order = search.find_best()
        read = read_order(MARKET, cases.training, cases.testing, order, readings)
        stopper = rival.make_stopper(read, MARKET, list(order))
        return {**stop(stopper, cases, error_price), "order": list(order)}

    return ask


def fit_cheapest(cases: Cases) -> Ask:
    """Tune the number of vendors at most, too."""
    full = rival.fit_stopper(MARKET, cases.training, cases.testing)
    cut = [
        Stopper(*(walk.cut(most) for walk in full))
        for most in range(MARKET.prices.size + 1)
    ]
    targets = cases.training.targets

    def ask(error_price: float, _: Records) -> Line:
        sums = [
            choose_threshold(stopper.held_out, targets, error_price)[1]
            for stopper in cut
        ]
        most = int(np.argmin(sums))
        return {**stop(cut[most], cases, error_price), "most": most}

    return ask


def fit_one_step(cases: Cases) -> Ask:
    stopper = one_step.fit_stopper(MARKET, *cases)
    return lambda error_price, _: stop(stopper, cases, error_price)


def stop(stopper: Stopper, cases: Cases, error_price: float) -> Line:
    """Stop where held-out cases cost least."""
    targets = cases.training.targets
    threshold, _ = choose_threshold(stopper.held_out, targets, error_price)
    one = np.array([threshold])
    held_out = follow(stopper.held_out, targets, one)
    testing = follow(stopper.testing, cases.testing.targets, one)
    return {
        "spend": round(float(testing.spends[0]), 5),
        "error": round(float(testing.errors[0]), 5),
        "held_out_spend": round(float(held_out.spends[0]), 5),
        "held_out_error": round(float(held_out.errors[0]), 5),
    }


def fit_everything(cases: Cases) -> Ask:
    training, idxs = cases.training, np.arange(MARKET.vendor_of.size)
    families = [list_trees(training, idxs), list_logistics(training, idxs)]
    reading = fit_reading(training, cases.testing, idxs, families)
    wrong = reading.testing.argmax(axis=1) != cases.testing.targets
    spend, error = float(MARKET.prices.sum()), float(wrong.mean())
    return lambda *_: {"spend": round(spend, 5), "error": round(error, 5)}


def fit_ours(cases: Cases) -> Ask:
    """Play mean budgets, the price of an error, and everything."""
    ensemble = ours.train(cases.training, cases.seed)

    def play(aim: Aim | None) -> ours.Played:
        return ours.play(MARKET, ensemble, cases.testing, aim, cases.seed)

    everything = play(None)

    def ask(error_price: float, records: Records) -> Line:
        whole = records["waterfall"]["held_out_spend"]
        budgets = [round(share * whole * MICROS) for share in SHARES]
        played = [play(Aim(mean_budget=budget)) for budget in budgets]
        priced = play(Aim(error_price=round(error_price * MICROS)))
        spends, _, errors = np.round(played, 5).T.tolist()
        return {
            "shares": list(SHARES),
            "spends": spends,
            "errors": errors,
            "spend": round(priced.spend, 5),
            "error": round(priced.error, 5),
            "everything_error": round(everything.error, 5),
        }

    return ask


# Ours comes last: its budgets are shares of what the waterfall spends.
PARTIES: dict[str, Callable[[Cases], Ask]] = {
    "waterfall": fit_waterfall,
    "cheapest": fit_cheapest,
    "one_step": fit_one_step,
    "everything": fit_everything,
    "ours": fit_ours,
}


def play_all(cases: Cases, show: Callable[[str], None]) -> Line:
    """Return the records by price of an error and party, and seconds by party."""
    by_price: dict[float, Records] = {price: {} for price in ERROR_PRICES}
    seconds = {}
    for name, fit in PARTIES.items():
        start = time.process_time()
        ask = fit(cases)
        for error_price, records in by_price.items():
            records[name] = ask(error_price, records)
        seconds[name] = round(time.process_time() - start, 1)
        show(f"{cases.training.n_samples}, seed {cases.seed}: {name} {seconds[name]} s")
    at = {f"{price:g}": records for price, records in by_price.items()}
    return {"at": at, "seconds": seconds}
