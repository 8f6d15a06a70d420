"""Hold how cases are asked by what the next answer is worth, and what they predict."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from annotated_types import Interval, Len

from askless.core import kernels
from askless.core.arrays import Arrays, BoolArray, Derived, FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue
from askless.core.model.ladder.tables import ROOT, PartTables
from askless.core.model.ranges import Below, Micros, Position


@dataclass(frozen=True, eq=False)
class AskingTerms(Arrays):
    """How gains and prices are weighed from a budget on."""

    #: in micro-units
    least_budget: Micros
    #: gains are divided by the price to this power
    power: Annotated[float, Interval(ge=0, le=4)]
    #: what is asked first; None: the feature of the largest rate
    first: Annotated[Position, Below("features")] | None = None


@dataclass(frozen=True, eq=False)
class Worth(Arrays, Derived):
    """Terms by budget, and what may be asked."""

    #: ascending in their least budget; the first holds below it, too
    terms: Annotated[tuple[AskingTerms, ...], Len(1)]
    #: the features that may be asked
    feature_idxs: Annotated[tuple[Position, ...], Below("features")] = ()

    def terms_at(self, budget: int | None) -> AskingTerms:
        """Return the terms under a budget, in micro-units; None: unlimited."""
        if budget is None:
            return self.terms[-1]
        reached = [term for term in self.terms if term.least_budget <= budget]
        return reached[-1] if reached else self.terms[0]

    def scale(self, total: int, new_total: int) -> "Worth":
        """Return the terms with budgets scaled by new_total / total of all costs."""
        terms = tuple(
            replace(term, least_budget=term.least_budget * new_total // total)
            for term in self.terms
        )
        return replace(self, terms=terms)

    @cached_property
    def readable(self) -> IntArray:
        """The features that may be asked, as an array."""
        return np.array(self.feature_idxs, np.int64)


def make_terms(catalogue: Catalogue, terms: AskingTerms) -> kernels.RateTerms:
    """Return terms as kernels read them, at the prices of a catalogue."""
    first = kernels.NONE if terms.first is None else terms.first
    return kernels.RateTerms(float(terms.power), catalogue.mean_amount, int(first))


def play_askings(
    tables: PartTables,
    catalogue: Catalogue,
    cases: kernels.PlayedCases,
    budget: int,
    terms: kernels.RateTerms,
    is_askable: BoolArray,
) -> kernels.PlayedEnds:
    """Play a session of each case under a budget, in micro-units; return the ends.

    `is_askable` (n_features,); others are never asked, unless a bundle brings them.
    """
    n_rows, n_features = cases.coded.shape
    ends = kernels.PlayedEnds(
        np.zeros((n_rows, n_features), np.int64),
        np.zeros(n_rows, np.int64),
        np.zeros(n_rows, np.int64),
        np.zeros((n_rows, tables.served.log_shares.shape[1])),
    )
    if terms.first == kernels.NONE:
        # The first question is the same for all, and its plans take longest.
        first, _ = choose_first_question(tables, catalogue, budget, terms, is_askable)
        terms = terms._replace(first=first)
    shop = catalogue.prices, np.ascontiguousarray(is_askable)
    kernels.play_by_tables(cases, tables.served, shop, budget, terms, ends)
    return ends


def choose_first_question(
    tables: PartTables,
    catalogue: Catalogue,
    budget: int,
    terms: kernels.RateTerms,
    is_askable: BoolArray,
) -> tuple[int, float]:
    """Return the first question of all cases, or `kernels.NONE`, and its rate."""
    shares = np.exp(tables.parts[ROOT].log_shares)
    is_open = np.ascontiguousarray(is_askable)
    offers = kernels.Offers(is_open, catalogue.price_each(), budget)
    first, _, rate = kernels.choose_look(
        shares / shares.sum(), ROOT, offers, tables.served, terms
    )
    return int(first), float(rate)


def make_cases(
    tables: PartTables, values: FloatArray, is_readable: BoolArray
) -> kernels.PlayedCases:
    """Return rows as cases to play; features that are not read have no cells."""
    coded = tables.find_cells(values, is_readable)
    ways = np.ascontiguousarray(tables.list_ways(values))
    return kernels.PlayedCases(coded, np.isnan(values), ways)
