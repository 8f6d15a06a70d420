"""Who is compared on the tiers market, each tuned on training cases only.

A party returns its mean spend and error on the test cases, and what stands in its
record besides. All but ours take the threshold of the least held-out sum of spend and
errors at their price.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from askless.core.session.state import Aim
from askless.core.table.dataset import Dataset
from benchmarks.buying import one_step, ours, rival, waterfall
from benchmarks.buying.readings import fit_reading, list_logistics, list_trees
from benchmarks.buying.rival import Stopper
from benchmarks.buying.tiers import MARKET, make_cases
from benchmarks.buying.walks import choose_threshold, follow
from benchmarks.data import MICROS
from benchmarks.lines import Line

# Dollars.
ERROR_PRICE = 5.0
# Mean budgets of ours, as shares of what the waterfall spends on held-out cases.
SHARES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class Cases(NamedTuple):
    """Cases of a seed, and the seed."""

    training: Dataset
    testing: Dataset
    seed: int


def draw_cases(n_train: int, n_test: int, seed: int) -> Cases:
    random = np.random.default_rng([seed, n_train])
    return Cases(make_cases(n_train, random), make_cases(n_test, random), seed)


def play_waterfall(cases: Cases, _: Line) -> Line:
    training = cases.training
    search = waterfall.OrderSearch(MARKET, training, ERROR_PRICE)
    order = search.find_best()
    readings = waterfall.read_order(MARKET, training, cases.testing, order)
    stopper = rival.make_stopper(readings, MARKET, list(order))
    figures = stop(stopper, cases)
    return {**figures, "order": list(order), "n_read": len(search.chances)}


def play_cheapest(cases: Cases, _: Line) -> Line:
    stopper = rival.fit_stopper(MARKET, cases.training, cases.testing)
    cut = [
        Stopper(*(walk.cut(most) for walk in stopper))
        for most in range(MARKET.prices.size + 1)
    ]
    targets = cases.training.targets
    sums = [choose_threshold(one.held_out, targets, ERROR_PRICE)[1] for one in cut]
    most = int(np.argmin(sums))
    return {**stop(cut[most], cases), "most": most}


def play_one_step(cases: Cases, _: Line) -> Line:
    stopper = one_step.fit_stopper(MARKET, *cases)
    return stop(stopper, cases)


def stop(stopper: Stopper, cases: Cases) -> Line:
    """Stop where held-out cases cost least."""
    targets = cases.training.targets
    threshold, _ = choose_threshold(stopper.held_out, targets, ERROR_PRICE)
    one = np.array([threshold])
    held_out = follow(stopper.held_out, targets, one)
    testing = follow(stopper.testing, cases.testing.targets, one)
    return {
        "spend": round(float(testing.spends[0]), 5),
        "error": round(float(testing.errors[0]), 5),
        "held_out_spend": round(float(held_out.spends[0]), 5),
        "held_out_error": round(float(held_out.errors[0]), 5),
    }


def play_everything(cases: Cases, _: Line) -> Line:
    training, idxs = cases.training, np.arange(MARKET.vendor_of.size)
    families = [list_trees(training, idxs), list_logistics(training, idxs)]
    reading = fit_reading(training, cases.testing, idxs, families)
    wrong = reading.testing.argmax(axis=1) != cases.testing.targets
    return {
        "spend": round(float(MARKET.prices.sum()), 5),
        "error": round(float(wrong.mean()), 5),
    }


def play_ours(cases: Cases, line: Line) -> Line:
    """Play mean budgets, a price of an error, and everything."""
    ensemble = ours.train(cases.training, cases.seed)
    whole = line["waterfall"]["held_out_spend"]
    aims = [Aim(mean_budget=round(share * whole * MICROS)) for share in SHARES]
    aims.append(Aim(error_price=round(ERROR_PRICE * MICROS)))
    played = [
        ours.play(MARKET, ensemble, cases.testing, aim, cases.seed)
        for aim in (*aims, None)
    ]
    spends, _, errors = np.round(played, 5).T.tolist()
    return {
        "shares": list(SHARES),
        "spends": spends[: len(SHARES)],
        "errors": errors[: len(SHARES)],
        "spend": spends[-2],
        "error": errors[-2],
        "everything_error": errors[-1],
        "most_uncharged": float(max(abs(one.spend - one.charged) for one in played)),
    }


# Ours comes last: its budgets are shares of what the waterfall spends.
PARTIES: dict[str, Callable[[Cases, Line], Line]] = {
    "waterfall": play_waterfall,
    "cheapest": play_cheapest,
    "one_step": play_one_step,
    "everything": play_everything,
    "ours": play_ours,
}
