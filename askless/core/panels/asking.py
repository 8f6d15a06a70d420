"""Learn on held-out rows how cases are asked by what the next answer is worth."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from askless.core import kernels
from askless.core.arrays import Derived, FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue
from askless.core.catalogue.prices import total_cost
from askless.core.codes.folds import make_folds
from askless.core.model.ladder.asking import (
    AskingTerms,
    Worth,
    find_first,
    lay_out_cases,
    make_terms,
    play_askings,
)
from askless.core.model.ladder.tables import PartTables, to_odds
from askless.core.panels.gates import fit_tables, measure_lead
from askless.core.panels.predictors.chances import losses_and_gradients
from askless.core.panels.tables import CountedRows

# Folds that are played, and budgets at most for which terms are learned.
N_FOLDS, MOST_BUDGETS = 3, 8

# Powers of the price; where all prices are equal, one is enough.
POWERS = 0.0, 0.5, 1.0

# First questions that are played out at most, each of a rate above this share of the
# best one's; the first is kept unless another gains over so many standard errors.
MOST_FIRSTS, LEAST_RATE, N_ERRORS = 6, 0.5, 1.0

# CellLayout times classes times rows that are played at most, and the least rows.
MOST_PLAYED, LEAST_PLAYED = 4_000_000, 300

# Slopes of log odds that are tried, and by how much they fade with each answer.
SLOPES, FADES = (0.6, 0.8, 1.0, 1.25, 1.6), (0.0, 0.03, 0.08, 0.2, 0.5)

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

    def play(
        self, budget: int, terms: AskingTerms
    ) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return log odds, numbers known and log-losses at the ends of sessions."""
        served = make_terms(self.catalogue, terms)
        everything = np.ones(self.rows.coded.shape[1], np.bool_)
        ends = [
            play_askings(
                fold.tables, self.catalogue, fold.cases, budget, served, everything
            )
            for fold in self.folds
        ]
        odds = to_odds(np.concatenate([end.logs for end in ends]))
        pairs = zip(ends, self.folds, strict=True)
        known = [(end.ranks > 0) & (fold.cases.coded >= 0) for end, fold in pairs]
        n_known = np.concatenate(known).sum(axis=1)
        losses, _ = losses_and_gradients(odds, self.targets)
        return odds, n_known, losses

    def lead(self, gains: FloatArray) -> float:
        """Return the mean gain of rows in standard errors."""
        weights = self.rows.weights[self.row_idxs]
        groups = self.rows.dataset.row_group_idxs[self.row_idxs]
        mean, error = measure_lead(gains, weights, groups)
        return mean / max(error, 1e-12)


def learn_asking(
    rows: CountedRows, tables: PartTables, budgets: Sequence[int], seed: int
) -> Worth:
    """Return how cases are asked by tables, learned on rows without their fold.

    `budgets` are those of the ladder, in micro-units.
    """
    catalogue = rows.dataset.catalogue
    places = np.linspace(0, len(budgets) - 1, min(len(budgets), MOST_BUDGETS))
    some = [budgets[place] for place in places.round().astype(int).tolist()]
    some = some or [total_cost(catalogue)]
    readable = list_readable(tables)
    playing = deal_played_folds(rows, seed)
    amounts = np.concatenate((catalogue.costs, catalogue.fees))
    powers = POWERS if np.unique(amounts).size > 1 else (1.0,)
    if not playing.folds:
        terms = tuple(AskingTerms(budget, powers[-1]) for budget in some)
        return Worth(terms, feature_idxs=readable)
    learned = [learn_terms(playing, tables, budget, powers) for budget in some]
    ends = [playing.play(terms.least_budget, terms) for terms in learned]
    slope, fade = fit_slope(
        np.concatenate([odds for odds, _, _ in ends]),
        np.concatenate([n_known for _, n_known, _ in ends]),
        np.tile(playing.targets, len(ends)),
    )
    return Worth(tuple(learned), slope, fade, readable)


def list_readable(tables: PartTables) -> tuple[int, ...]:
    """Return the features that some table or gate reads."""
    is_read = np.zeros(len(tables.cuts), np.bool_)
    for part in tables.parts:
        spread = np.ptp(part.log_chances, axis=1)
        most = np.maximum.reduceat(spread, tables.cells.starts[:-1])
        is_read |= most > LEAST_SPREAD
        if part.gate is not None:
            is_read[list(part.gate.feature_idxs)] = True
    return tuple(np.flatnonzero(is_read).tolist())


def deal_played_folds(rows: CountedRows, seed: int) -> Playing:
    """Fit tables without each fold, and lay out some of its rows to play."""
    folds = make_folds(rows.dataset, N_FOLDS, seed)
    everyone = np.arange(rows.dataset.n_samples)
    n_numbers = rows.n_cells * rows.n_classes
    most = max(LEAST_PLAYED, MOST_PLAYED // n_numbers) // N_FOLDS
    played = []
    everything = np.ones(rows.coded.shape[1], np.bool_)
    for fold in folds:
        tables = fit_tables(rows, seed, np.setdiff1d(everyone, fold))
        places = np.linspace(0, fold.size - 1, min(fold.size, most))
        some = fold[places.round().astype(np.int64)]
        cases = lay_out_cases(tables, rows.dataset.values[some], everything)
        # Marked cells say nothing; rows know them, values by themselves do not.
        cases.coded[:] = rows.coded[some]
        played.append(PlayedFold(tables, some, cases))
    return Playing(rows, played)


def learn_terms(
    playing: Playing, tables: PartTables, budget: int, powers: Sequence[float]
) -> AskingTerms:
    """Return the terms of least held-out log-loss under a budget."""
    tried = [AskingTerms(budget, power) for power in powers]
    losses = [playing.play(budget, terms)[2] for terms in tried]
    best = min(range(len(tried)), key=lambda place: float(losses[place].mean()))
    greedy, before = tried[best], losses[best]
    terms, least = greedy, float(before.mean())
    for first in list_firsts(playing.catalogue, tables, budget, greedy)[1:]:
        other = AskingTerms(budget, greedy.power, first)
        after = playing.play(budget, other)[2]
        is_surely_less = playing.lead(before - after) > N_ERRORS
        if is_surely_less and float(after.mean()) < least:
            terms, least = other, float(after.mean())
    return terms


def list_firsts(
    catalogue: Catalogue, tables: PartTables, budget: int, terms: AskingTerms
) -> list[int]:
    """Return the first questions to play out, the greedy one first."""
    served = make_terms(catalogue, terms)
    rates: dict[int, float] = {}
    is_open = np.ones(len(catalogue.features), np.bool_)
    # Each call names the best that is still open.
    while is_open.any() and len(rates) < MOST_FIRSTS:
        first, rate = find_first(tables, catalogue, budget, served, is_open)
        if first == kernels.NONE or rate < LEAST_RATE * max(rates.values(), default=0):
            break
        rates[first] = rate
        is_open[first] = False
        if catalogue.is_bundled[first]:
            is_open[catalogue.group_idxs == catalogue.group_idxs[first]] = False
    return list(rates)


def fit_slope(
    odds: FloatArray, n_known: IntArray, targets: IntArray
) -> tuple[float, float]:
    """Return slope and fade of least log-loss; (n_states, n_outputs), (n_states,)."""
    best = math.inf, 1.0, 0.0
    for slope in SLOPES:
        for fade in FADES:
            factors = slope / (1.0 + fade * np.maximum(n_known - 1, 0))
            losses, _ = losses_and_gradients(odds * factors[:, None], targets)
            best = min(best, (float(losses.mean()), slope, fade))
    return best[1:]
