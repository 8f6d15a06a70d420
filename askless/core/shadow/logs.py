"""Logged cases: what each vendor answered, in which order, and what was decided.

A vendor is an offer of the catalogue that costs something; what costs nothing was known
from the start. A cell that is missing because nobody asked is missing by design (Rubin
1976), and not the same as an empty answer: `LoggedCases.orders` tells them apart.
"""

from dataclasses import dataclass, fields
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


@dataclass(frozen=True)
class Donors:
    """Older cases whose answers stand in for those that a log lacks."""

    #: by offer and class; None as class: of all classes
    lists: dict[tuple[int, int | None], DonorList]

    def has(self, offer: int) -> bool:
        """Return whether enough cases were asked."""
        return (offer, None) in self.lists


def gather_donors(ensemble: Ensemble, cases: LoggedCases) -> Donors:
    """Gather what vendors answered in older cases.

    The score of a donor is the chance by what was known before the vendor was asked:
    what came with it, or after it, is hidden.
    """
    catalogue = ensemble.catalogue
    lists: dict[tuple[int, int | None], DonorList] = {}
    prices = price_offers(catalogue)
    for number, offer in enumerate(catalogue.offers):
        places = cases.orders[:, number]
        asked = cases.take(places > 0)
        if not prices[number] or asked.n_cases < LEAST_DONORS:
            continue
        is_hidden = asked.orders >= asked.orders[:, [number]]
        before = hide_offers(catalogue, asked.values, is_hidden)
        scores = rank_by_chances(predict_known(ensemble, before))
        order = np.argsort(scores, kind="stable")
        answers = asked.values[:, list(offer)]
        lists[number, None] = DonorList(scores[order], answers[order])
        for target in np.unique(asked.targets).tolist():
            own = order[asked.targets[order] == target]
            if own.size >= LEAST_DONORS:
                lists[number, target] = DonorList(scores[own], answers[own])
    return Donors(lists)


def fill_lacking(
    ensemble: Ensemble,
    donors: Donors,
    cases: LoggedCases,
    random: np.random.Generator,
) -> FloatArray:
    """Return values in which vendors that were not asked have answers of donors.

    A donor is drawn among the older cases of the same class (outcome, else decision)
    that were asked, and had about the same chance just before (hot deck; Andridge and
    Little 2010). An empty answer is an answer. This is a model of the answers, and no
    evidence: what rests on it is named an estimate.
    """
    filled = cases.values.copy()
    scores = rank_by_chances(predict_known(ensemble, cases.values))
    for number, offer in enumerate(ensemble.catalogue.offers):
        if not donors.has(number):
            continue
        is_lacking = cases.orders[:, number] == 0
        for target in np.unique(cases.targets[is_lacking]).tolist():
            rows = np.flatnonzero(is_lacking & (cases.targets == target))
            every = donors.lists[number, None]
            near = donors.lists.get((number, target), every)
            places = np.searchsorted(near.scores, scores[rows])
            places += random.integers(-REACH, REACH + 1, rows.size)
            places = np.clip(places, 0, near.scores.size - 1)
            filled[np.ix_(rows, np.array(offer))] = near.answers[places]
    return filled
