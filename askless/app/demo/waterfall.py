"""A waterfall as people make it by hand: a fixed order, points, and a rule to stop.

It asks the vendors of each lead in the same order, and adds points for every answer.
The points of a feature are the log odds of a good lead among training rows of the same
source and the same fifth of the answers. A vendor's points are the mean of its
features', which say much the same. It stops once the odds are sure enough, or after a
number of vendors. Order, sureness and number served the training rows best, at the
price of an error that our sessions have: a fair rival.
"""

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askless.app.demo.leads import (
    BAD,
    ERROR_PRICE,
    GOOD,
    N_SHOWN,
    N_TRAINING,
    SEED,
    SOURCES,
    VENDORS,
    Leads,
    VendorTerms,
    draw_leads,
    draw_rows,
)

N_BINS = 5
# Leads that nobody has seen, on which the waterfall is measured.
N_OTHERS = 2000
# Rows added to a cell, as good as those of all sources.
SMOOTHING = 4.0
SURENESSES = np.log(np.array([1.5, 2, 3, 4, 6, 9, 14, 20, 40, 80, 1e9]))

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class HandMade(NamedTuple):
    """The waterfall's spend on a lead, and its decision."""

    vendors: tuple[str, ...]
    #: micro-units, empty answers included
    spent: int
    outcome: str


class WaterfallRule(NamedTuple):
    """The order of vendors, and when it stops."""

    order: tuple[int, ...]
    #: log odds, of either sign
    sureness: float
    most: int


class Scored(NamedTuple):
    """Rows of leads as the waterfall sees them."""

    #: log odds before the first vendor, by row
    prior: Floats
    #: points by vendor and row
    points: Floats
    #: micro-units by vendor and row
    charges: Ints


def decide(place: int) -> HandMade:
    """Return the spend and decision for a lead that is shown, by its place."""
    rule, row = tune(), N_TRAINING + place
    spent, odds, counts = ask_in_order(score(), rule, np.array([row]))
    names = [VENDORS[idx].name for idx in rule.order[: int(counts[0])]]
    return HandMade(tuple(names), int(spent[0]), GOOD if odds[0] > 0 else BAD)


def describe_rule() -> str:
    """Return in words what it does with each lead."""
    rule = tune()
    names = ", ".join(VENDORS[idx].name for idx in rule.order[: rule.most])
    chance = 100 / (1 + np.exp(-rule.sureness))
    return (
        f"always {names}, in this order, until one outcome is {chance:.0f} % sure by "
        "the points of its answers"
    )


@cache
def tune() -> WaterfallRule:
    """Return the rule with the least cost on the training rows."""
    rows = np.arange(N_TRAINING)
    return min(list_rules(), key=lambda rule: mean_cost(rule, rows))


def list_rules() -> Iterator[WaterfallRule]:
    """Yield the rules that are tried."""
    prices = np.array([vendor.price for vendor in VENDORS])
    scored, is_good = score(), list_rows().is_good[:N_TRAINING]
    sides = np.where(is_good, 1.0, -1.0)
    worth = (scored.points[:, :N_TRAINING] * sides).mean(1)
    orders = {tuple(np.argsort(prices)), tuple(np.argsort(-worth / prices))}
    orders |= {tuple(np.argsort(-worth)), tuple(np.argsort(-worth / np.sqrt(prices)))}
    mosts = range(len(VENDORS) + 1)
    for order, sureness, most in product(sorted(orders), SURENESSES, mosts):
        yield WaterfallRule(tuple(int(idx) for idx in order), float(sureness), most)


def measure() -> tuple[float, float]:
    """Return mean spend in micro-units, and share of errors, of leads not tuned on."""
    rows = np.arange(N_OTHERS) + N_TRAINING + N_SHOWN
    spent, odds, _ = ask_in_order(score(), tune(), rows)
    is_wrong = (odds > 0) != list_rows().is_good[rows]
    return float(spent.mean()), float(is_wrong.mean())


def mean_cost(rule: WaterfallRule, rows: Ints) -> float:
    """Return spend and errors of rows on the mean, in micro-units."""
    spent, odds, _ = ask_in_order(score(), rule, rows)
    is_wrong = (odds > 0) != list_rows().is_good[rows]
    return float(np.mean(spent + ERROR_PRICE * is_wrong))


def ask_in_order(
    scored: Scored, rule: WaterfallRule, rows: Ints
) -> tuple[Ints, Floats, Ints]:
    """Return spend, final log odds and number of vendors of some rows."""
    odds = scored.prior[rows]
    spent = np.zeros(len(rows), dtype=np.int64)
    counts = np.zeros(len(rows), dtype=np.int64)
    for vendor_idx in rule.order[: rule.most]:
        goes_on = np.abs(odds) < rule.sureness
        odds = odds + goes_on * scored.points[vendor_idx, rows]
        spent += goes_on * scored.charges[vendor_idx, rows]
        counts += goes_on
    return spent, odds, counts


@cache
def list_rows() -> Leads:
    """Return the leads of the demo, then others of the same kind."""
    own, others = draw_leads(), draw_rows(SEED + 1, N_OTHERS)
    return Leads(
        own.sources + others.sources,
        own.roles + others.roles,
        {
            name: np.concatenate([own.columns[name], others.columns[name]])
            for name in own.columns
        },
        np.concatenate([own.is_good, others.is_good]),
    )


@cache
def score() -> Scored:
    """Score all rows, by the training rows alone."""
    leads = list_rows()
    sources = np.array([SOURCES.index(name) for name in leads.sources])
    nothing = np.zeros(len(sources), dtype=np.int64)
    overall = log_odds(nothing, leads.is_good, np.zeros(1))[nothing]
    by_source = log_odds(sources, leads.is_good, np.zeros(len(SOURCES)) + overall[0])
    prior = by_source[sources]
    points = [
        np.mean([points_of(name, sources, prior) for name in vendor.features], axis=0)
        for vendor in VENDORS
    ]
    return Scored(prior, np.array(points), np.array([*map(charges_of, VENDORS)]))


def points_of(name: str, sources: Ints, prior: Floats) -> Floats:
    """Return the points of a feature: log odds of its cell beyond those before."""
    leads = list_rows()
    column = leads.columns[name]
    is_empty = np.isnan(column)
    cuts = np.nanquantile(column[:N_TRAINING], np.linspace(0, 1, N_BINS + 1)[1:-1])
    cells = sources * N_BINS + np.digitize(np.nan_to_num(column), cuts)
    start = np.repeat([prior[sources == idx][0] for idx in range(len(SOURCES))], N_BINS)
    # The last cell is that of empty answers, which gets no points.
    cells = np.where(is_empty, len(start), cells)
    odds = log_odds(cells, leads.is_good, np.append(start, 0.0))
    return np.where(is_empty, 0.0, odds[cells] - prior)


def log_odds(cells: Ints, is_good: NDArray[np.bool_], start: Floats) -> Floats:
    """Return the log odds of each cell among the training rows, drawn to `start`."""
    seen, good = cells[:N_TRAINING], is_good[:N_TRAINING]
    n_good = np.bincount(seen[good], minlength=len(start)).astype(np.float64)
    n_all = np.bincount(seen, minlength=len(start))
    share = 1 / (1 + np.exp(-start))
    n_good, n_bad = (
        n_good + SMOOTHING * share,
        n_all - n_good + SMOOTHING * (1 - share),
    )
    return np.asarray(np.log(n_good / n_bad))


def charges_of(vendor: VendorTerms) -> Ints:
    """Return what a vendor charges for each row."""
    is_empty = np.isnan(list_rows().columns[vendor.features[0]])
    is_free = is_empty & (vendor.billing == "per_answer")
    return np.where(is_free, 0, vendor.price)
