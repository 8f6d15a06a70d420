"""Learn on held-out rows how cases are asked by what the next answer is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from askless.core import kernels
from askless.core.arrays import (
    BoolArray,
    Derived,
    FloatArray,
    IntArray,
    evenly_spaced,
)
from askless.core.catalogue.catalogue import Catalogue
from askless.core.model.ladder.asking import (
    AskingTerms,
    Worth,
    choose_first_question,
    make_cases,
    make_terms,
    play_askings,
)
from askless.core.model.ladder.tables import PartTables, to_odds
from askless.core.panels.predictors.chances import losses_and_gradients
from askless.core.panels.tables import CountedRows, HeldOutTables

# Budgets at most for which terms are learned. Under small ones the first question
# decides most, so these, in usual prices, are among them even if they are no rungs.
MOST_BUDGETS = 8
SMALL_STEPS = (1, 2, 3, 4, 6)

# Powers of the price; where all prices are equal, one is enough.
POWERS = 0.0, 0.5, 1.0

# First questions that are played out at most, each of a rate above this share of the
# best one's.
MOST_FIRSTS, LEAST_RATE = 4, 0.5

# CellLayout times classes times rows that are played at most, and the least rows.
MOST_PLAYED, LEAST_PLAYED = 500_000, 300

# A feature of which no cell's log chances differ more between classes says nothing.
LEAST_SPREAD = 0.02


class PlayedFold(NamedTuple):
    """Rows to play, and tables that never saw them."""

    tables: PartTables
    row_idxs: IntArray
    cases: kernels.PlayedCases


@dataclass(frozen=True, eq=False)
class Playing(Derived):
    """The rows of all folds, played by tables without their fold."""

    rows: CountedRows
    folds: list[PlayedFold]
    #: (n_features,)
    is_askable: BoolArray

    @property
    def catalogue(self) -> Catalogue:
        """The prices of questions."""
        return self.rows.dataset.catalogue

    @cached_property
    def row_idxs(self) -> IntArray:
        """All rows that are played, fold by fold."""
        return np.concatenate([fold.row_idxs for fold in self.folds])

    @cached_property
    def targets(self) -> IntArray:
        """Their classes."""
        return self.rows.targets[self.row_idxs]

    @cached_property
    def fold_of(self) -> IntArray:
        """Their folds."""
        sizes = [fold.row_idxs.size for fold in self.folds]
        return np.repeat(np.arange(len(sizes)), sizes)

    def measure_losses(self, terms: AskingTerms) -> FloatArray:
        """Return the log-loss of each row by tables at the end of its session."""
        served = make_terms(self.catalogue, terms)
        ends = [
            play_askings(
                fold.tables,
                self.catalogue,
                fold.cases,
                terms.least_budget,
                served,
                self.is_askable,
            )
            for fold in self.folds
        ]
        odds = to_odds(np.concatenate([end.logs for end in ends]))
        losses, _ = losses_and_gradients(odds, self.targets)
        return losses

    def average(self, losses: FloatArray, left_out: int | None) -> float:
        """Return the mean loss of the rows of other folds than one."""
        others = self.fold_of != left_out
        # A mean exists even where all weights are 0.
        weights = self.rows.weights[self.row_idxs] + kernels.TINY
        return float(np.average(losses[others], weights=weights[others]))


def fit_asking_terms(
    tables: HeldOutTables, rungs: Sequence[int], ladders: Sequence[int | None] = (None,)
) -> list[Worth]:
    """Return the terms by which tables ask cases, learned on rows without their fold.

    `rungs` are the budgets of the ladder, in micro-units. There are terms for each of
    the `ladders`, learned on the rows of other folds than the one that it names.
    """
    catalogue = tables.rows.dataset.catalogue
    budgets = list_budgets(catalogue, rungs)
    some = [budgets[place] for place in evenly_spaced(len(budgets), MOST_BUDGETS)]
    is_askable = mark_telling(tables.whole)
    playing = make_folds(tables, is_askable)
    amounts = np.concatenate((catalogue.costs, catalogue.fees))
    powers = POWERS if np.unique(amounts).size > 1 else (1.0,)
    learned = [
        fit_terms(playing, tables.whole, budget, powers, ladders) for budget in some
    ]
    askable = tuple(np.flatnonzero(is_askable).tolist())
    return [Worth(terms, askable) for terms in zip(*learned, strict=True)]


def list_budgets(catalogue: Catalogue, rungs: Sequence[int]) -> list[int]:
    """Return rungs, and small multiples of the usual price between them, ascending."""
    positive = catalogue.costs[catalogue.costs > 0]
    usual = float(np.median(positive)) if positive.size else 0.0
    small = (int(step * usual) for step in SMALL_STEPS)
    return sorted({*rungs, *(step for step in small if rungs[0] < step < rungs[-1])})


def mark_telling(tables: PartTables) -> BoolArray:
    """Return which features a table or a gate reads; (n_features,)."""
    is_read = np.zeros(len(tables.cuts), np.bool_)
    for part in tables.parts:
        spread = np.ptp(part.log_chances, axis=1)
        most = np.maximum.reduceat(spread, tables.cells.starts[:-1])
        is_read |= most > LEAST_SPREAD
        if part.gate is not None:
            is_read[list(part.gate.feature_idxs)] = True
    return is_read


def make_folds(tables: HeldOutTables, is_askable: BoolArray) -> Playing:
    """Lay out some rows of each fold, to be played by the tables without it."""
    rows = tables.rows
    n_numbers = rows.n_cells * rows.n_classes
    most = max(LEAST_PLAYED, MOST_PLAYED // n_numbers) // len(tables.folds)
    played = []
    everything = np.ones(rows.coded.shape[1], np.bool_)
    for part_tables, fold in zip(tables.by_fold, tables.folds, strict=True):
        some = fold[evenly_spaced(fold.size, most)]
        cases = make_cases(part_tables, rows.dataset.values[some], everything)
        # Marked cells say nothing; rows know them, values by themselves do not.
        cases.coded[:] = rows.coded[some]
        played.append(PlayedFold(part_tables, some, cases))
    return Playing(rows, played, is_askable)


def fit_terms(
    playing: Playing,
    tables: PartTables,
    budget: int,
    powers: Sequence[float],
    ladders: Sequence[int | None],
) -> list[AskingTerms]:
    """Return each ladder's terms of least held-out log-loss under a budget.

    The power is tried first, with the first question of the largest rate; then, with
    the best power on all rows, other first questions are played out, since all cases
    are asked the first one.
    """
    tried = [AskingTerms(budget, power) for power in powers]
    losses = [playing.measure_losses(terms) for terms in tried]
    greedy = tried[find_least(playing, losses, None)]
    for first in list_first_questions(playing, tables, budget, greedy)[1:]:
        tried.append(AskingTerms(budget, greedy.power, first))
        losses.append(playing.measure_losses(tried[-1]))
    return [tried[find_least(playing, losses, left_out)] for left_out in ladders]


def find_least(
    playing: Playing, losses: Sequence[FloatArray], left_out: int | None
) -> int:
    """Return the place of the least mean loss, of equal ones the first."""
    return int(np.argmin([playing.average(some, left_out) for some in losses]))


def list_first_questions(
    playing: Playing, tables: PartTables, budget: int, terms: AskingTerms
) -> list[int]:
    """Return the first questions to play out, the greedy one first."""
    catalogue, is_open = playing.catalogue, playing.is_askable.copy()
    served = make_terms(catalogue, terms)
    rates: dict[int, float] = {}
    # Each call names the best that is still open.
    while is_open.any() and len(rates) < MOST_FIRSTS:
        first, rate = choose_first_question(tables, catalogue, budget, served, is_open)
        if first == kernels.NONE or rate < LEAST_RATE * max(rates.values(), default=0):
            break
        rates[first] = rate
        is_open[list(catalogue.offer_of(first))] = False
    return list(rates)
