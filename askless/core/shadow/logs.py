"""Logged cases: what each vendor answered, in which order, and what was decided.

A vendor is an offer of the catalogue that costs something; what costs nothing was known
from the start. A cell that is missing because nobody asked is missing by design (Rubin
1976), and not the same as an empty answer: `LoggedCases.orders` tells them apart.
"""

from dataclasses import dataclass, fields
from itertools import product
from typing import NamedTuple

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue
from askless.core.model.ensemble import Ensemble
from askless.core.session.probability import decide_label
from askless.core.simulation.simulate import class_probabilities, simulate

#: Stands for a decision or outcome that the log lacks.
UNKNOWN = -1
# Least donors of an answer: with fewer, nothing is drawn.
LEAST_DONORS = 5
# Donors on either side among which one is drawn.
REACH = 10
# Donors are alike in how many answers were empty before, up to so many.
MOST_EMPTY = 2


@dataclass(frozen=True)
class LoggedCases:
    """Some cases of a log; n_offers are the catalogue's."""

    #: (n_cases, n_features), NaN where an answer was empty and where nobody asked
    values: FloatArray
    #: (n_cases, n_offers), the place of each vendor among those asked, 0: not asked
    orders: IntArray
    #: (n_cases,), class positions or `UNKNOWN`
    decisions: IntArray
    outcomes: IntArray
    #: (n_cases,), days since an epoch
    days: IntArray
    #: (n_cases,), charged for asking a vendor again, in micro-units
    repeats: IntArray
    #: (n_cases,), their places in the log, which random draws depend on
    numbers: IntArray

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return int(self.days.size)

    @property
    def targets(self) -> IntArray:
        """The outcome where there is one, else the decision; (n_cases,)."""
        return np.where(self.outcomes == UNKNOWN, self.decisions, self.outcomes)

    def take(self, rows: IntArray | BoolArray | slice) -> "LoggedCases":
        """Return some of the cases."""
        taken = {field.name: getattr(self, field.name)[rows] for field in fields(self)}
        return LoggedCases(**taken)


def price_offers(catalogue: Catalogue) -> IntArray:
    """Return the price of each offer, (n_offers,), in micro-units; fees aside."""
    prices = []
    for first, *_ in catalogue.offers:
        price = int(catalogue.costs[first])
        if catalogue.is_bundled[first]:
            price = int(catalogue.fees[catalogue.group_idxs[first]])
        prices.append(price)
    return np.array(prices, np.int64)


def mark_empty(catalogue: Catalogue, values: FloatArray) -> BoolArray:
    """Return which offers have no value; (n_cases, n_offers)."""
    is_missing = np.isnan(values)
    columns = [is_missing[:, list(offer)].all(axis=1) for offer in catalogue.offers]
    return np.column_stack(columns)


def charge_offers(catalogue: Catalogue, values: FloatArray) -> IntArray:
    """Return what each offer charges if it is asked, (n_cases, n_offers)."""
    firsts = [offer[0] for offer in catalogue.offers]
    is_free = mark_empty(catalogue, values) & ~catalogue.is_per_call[firsts]
    return np.where(is_free, 0, price_offers(catalogue))


def hide_offers(
    catalogue: Catalogue, values: FloatArray, is_hidden: BoolArray
) -> FloatArray:
    """Return values without those of hidden offers, (n_cases, n_offers)."""
    return np.where(is_hidden[:, catalogue.offer_idxs], np.nan, values)


def predict_known(ensemble: Ensemble, values: FloatArray) -> FloatArray:
    """Return class probabilities from all values that are known, (n_cases, K)."""
    walks = simulate(ensemble, values, [None], spend="all")
    chances: FloatArray = class_probabilities(ensemble, walks)[:, 0]
    return chances


def label_known(ensemble: Ensemble, values: FloatArray) -> IntArray:
    """Return the label from all values that are known, (n_cases,)."""
    return decide_label(ensemble, predict_known(ensemble, values))


def rank_by_chances(chances: FloatArray) -> FloatArray:
    """Return one number for each case: of two classes the chance of the second."""
    ranked: FloatArray = chances @ np.arange(chances.shape[1], dtype=np.float64)
    return ranked


class DonorList(NamedTuple):
    """Cases that a vendor was asked of, by ascending score."""

    #: (n_donors,), the score of each before the vendor was asked
    scores: FloatArray
    #: (n_donors, n_members), its answers
    answers: FloatArray


#: An offer, a class, and how many answers were empty before; None: any.
DonorKey = tuple[int, int | None, int | None]


@dataclass(frozen=True)
class Donors:
    """Older cases whose answers stand in for those that a log lacks."""

    lists: dict[DonorKey, DonorList]

    def has(self, offer: int) -> bool:
        """Return whether enough cases were asked."""
        return (offer, None, None) in self.lists

    def find(self, offer: int, target: int, n_empty: int) -> DonorList:
        """Return the donors that are most alike, of an offer that has some."""
        keys = ((target, n_empty), (target, None), (None, n_empty), (None, None))
        return next(
            self.lists[offer, *key] for key in keys if (offer, *key) in self.lists
        )


def count_empty(
    catalogue: Catalogue, cases: LoggedCases, is_before: BoolArray
) -> IntArray:
    """Return how many vendors before came back empty, `MOST_EMPTY` at most.

    `is_before` (n_cases, n_offers) says which vendors count.
    """
    is_empty = mark_empty(catalogue, cases.values) & (cases.orders > 0) & is_before
    n_empty: IntArray = np.minimum(is_empty.sum(axis=1), MOST_EMPTY)
    return n_empty


def gather_donors(ensemble: Ensemble, cases: LoggedCases) -> Donors:
    """Gather what vendors answered in older cases.

    The score of a donor is the chance by what was known before the vendor was asked:
    what came with it, or after it, is hidden.
    """
    catalogue = ensemble.catalogue
    lists: dict[DonorKey, DonorList] = {}
    prices = price_offers(catalogue)
    for number, offer in enumerate(catalogue.offers):
        asked = cases.take(cases.orders[:, number] > 0)
        if not prices[number] or asked.n_cases < LEAST_DONORS:
            continue
        is_before = asked.orders < asked.orders[:, [number]]
        before = hide_offers(catalogue, asked.values, ~is_before)
        scores = rank_by_chances(predict_known(ensemble, before))
        n_empty = count_empty(catalogue, asked, is_before)
        order = np.argsort(scores, kind="stable")
        answers = asked.values[:, list(offer)]
        targets = [None, *np.unique(asked.targets).tolist()]
        for target, n_before in product(targets, (None, *range(MOST_EMPTY + 1))):
            is_own = np.ones(asked.n_cases, np.bool_)
            if target is not None:
                is_own &= asked.targets == target
            if n_before is not None:
                is_own &= n_empty == n_before
            own = order[is_own[order]]
            if own.size >= LEAST_DONORS:
                lists[number, target, n_before] = DonorList(scores[own], answers[own])
    return Donors(lists)


def fill_lacking(
    ensemble: Ensemble,
    donors: Donors,
    cases: LoggedCases,
    random: np.random.Generator,
) -> FloatArray:
    """Return values in which vendors that were not asked have answers of donors.

    A donor is drawn among the older cases of the same class (outcome, else decision)
    that were asked, had as many empty answers before, and had about the same chance
    then (hot deck; Andridge and Little 2010). An empty answer is an answer. This is a
    model of the answers, and no evidence: what rests on it is named an estimate.

    Empty answers before count since a waterfall goes on where it came to know nothing:
    without them, vendors late in its order would seem to be empty far too often.
    """
    catalogue, filled = ensemble.catalogue, cases.values.copy()
    scores = rank_by_chances(predict_known(ensemble, cases.values))
    n_empty = count_empty(catalogue, cases, cases.orders > 0)
    for number, offer in enumerate(catalogue.offers):
        if not donors.has(number):
            continue
        is_lacking = cases.orders[:, number] == 0
        pairs = np.column_stack([cases.targets, n_empty])
        for target, n_before in np.unique(pairs[is_lacking], axis=0).tolist():
            is_own = is_lacking & (pairs == (target, n_before)).all(axis=1)
            rows = np.flatnonzero(is_own)
            near = donors.find(number, target, n_before)
            places = np.searchsorted(near.scores, scores[rows])
            places += random.integers(-REACH, REACH + 1, rows.size)
            places = np.clip(places, 0, near.scores.size - 1)
            filled[np.ix_(rows, np.array(offer))] = near.answers[places]
    return filled
