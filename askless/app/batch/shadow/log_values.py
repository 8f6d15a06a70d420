"""Read the answers of a log into a file, case by case, and hand them out in blocks.

The file is mapped into memory: the system reads of it what is at work, so that memory
does not grow with the cases.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from askless.app.batch.shadow.log_files import LogFile, Wholes, merge_missing
from askless.app.batch.shadow.log_index import (
    SECONDS_PER_DAY,
    LogIndex,
    order_calls,
)
from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.catalogue.catalogue import Feature
from askless.core.model.ensemble import Ensemble
from askless.core.model.rows import check_block
from askless.core.shadow.logs import UNKNOWN, LoggedCases, price_offers
from askless.core.table.cells import is_within_limits, read_cell
from askless.core.table.columns import Column, Columns, read_feature, to_text_cells

# Cases that are replayed at a time.
BLOCK = 1 << 13


@dataclass(frozen=True)
class HeldLog:
    """A log that is read: cases that count, in the order of their decisions."""

    log: LogFile
    index: LogIndex
    #: (n_all_cases, n_features), in a file; texts as numbers into `words`
    values: FloatArray
    #: by feature that is kept as text
    words: dict[int, list[str]]
    #: (n_all_cases, n_offers)
    orders: Wholes
    #: (n_all_cases,), in micro-units
    repeats: IntArray
    #: (n_cases,), the cases that count, by time
    case_idxs: IntArray

    @property
    def days(self) -> IntArray:
        """Day of each case that counts, since 1970."""
        seconds = self.index.decided[self.case_idxs]
        return np.floor(seconds / SECONDS_PER_DAY).astype(np.int64)

    def read_columns(self, places: IntArray) -> dict[str, Column]:
        """Return the feature columns of some of the cases that count."""
        block = self.values[self.case_idxs[places]]
        columns: dict[str, Column] = {}
        for idx, feature in enumerate(self.log.catalogue.features):
            column: Column = np.ascontiguousarray(block[:, idx])
            if idx in self.words:
                # NaN, where nothing is known, reads the last place.
                words = np.array([*self.words[idx], None], np.object_)
                numbers = np.nan_to_num(column, nan=len(words) - 1)
                column = words[numbers.astype(np.int64)]
            columns[feature.name] = column
        return columns

    def read_targets(self, places: IntArray) -> list[str]:
        """Return the outcome of cases where there is one, else the decision."""
        cases = self.case_idxs[places]
        outcomes, decisions = self.index.outcomes[cases], self.index.decisions[cases]
        numbers = np.where(outcomes == UNKNOWN, decisions, outcomes)
        return [self.index.labels[number] for number in numbers.tolist()]

    def find_silent(self, places: IntArray, name: str) -> BoolArray:
        """Return which cases nobody asked the vendor of a feature."""
        catalogue = self.log.catalogue
        offer = int(catalogue.offer_idxs[catalogue.feature_idxs[name]])
        is_sold = bool(price_offers(catalogue)[offer])
        is_silent: BoolArray = self.orders[self.case_idxs[places], offer] == 0
        return is_silent & is_sold

    def to_cases(self, ensemble: Ensemble, places: IntArray) -> LoggedCases:
        """Return some of the cases as values of a model."""
        values = check_block(self.read_columns(places), ensemble).values
        own = {label.label: place for place, label in enumerate(ensemble.classes)}
        positions = [own.get(label, UNKNOWN) for label in self.index.labels]
        # `UNKNOWN` reads the last place.
        labels = np.array([*positions, UNKNOWN], np.int64)
        cases = self.case_idxs[places]
        return LoggedCases(
            values=values,
            orders=self.orders[cases].astype(np.int64),
            decisions=labels[self.index.decisions[cases]],
            outcomes=labels[self.index.outcomes[cases]],
            days=self.days[places],
            repeats=self.repeats[cases],
            numbers=places,
        )

    def list_blocks(
        self, ensemble: Ensemble, start: int, size: int = BLOCK
    ) -> Iterator[LoggedCases]:
        """Yield the cases from a place on, in blocks."""
        n_cases = self.case_idxs.size
        for first in range(start, n_cases, size):
            yield self.to_cases(ensemble, np.arange(first, min(first + size, n_cases)))


def hold_log(log: LogFile, index: LogIndex, folder: Path) -> HeldLog:
    """Read the answers of a log into a file of a folder; name what is odd."""
    catalogue = log.catalogue
    n_offers, n_cases = len(catalogue.offers), index.decided.size
    orders, last_rows, is_again = order_calls(index, n_offers)
    log.problems.add("repeated_calls", int(is_again.sum()))
    shape = (n_cases, len(catalogue.features))
    values = np.memmap(folder / "values", np.float64, "w+", shape=shape)
    values[:] = np.nan
    prices, repeats = price_offers(catalogue), np.zeros(n_cases, np.int64)
    names = {offer: name for name, offer in log.vendor_offers.items()}
    words: dict[int, list[str]] = {}
    for offer, members in enumerate(catalogue.offers):
        sources = list_sources(index, last_rows[:, offer], bool(prices[offer]))
        called_offers, rows = index.called
        called_rows = np.unique(rows[called_offers == offer])
        has_answer = np.zeros(log.n_rows, np.bool_)
        for idx in members:
            reader = FeatureReader(log, catalogue.features[idx])
            for start, cells in reader.read():
                stop = start + cells.size
                place_cells(sources, start, cells, values[:, idx])
                has_answer[start:stop] |= ~np.isnan(cells)
            if reader.words is not None:
                words[idx] = list(reader.words)
        if not prices[offer]:
            continue
        # Rows that are left out are named already.
        has_answer &= index.row_cases >= 0
        n_explained = int(has_answer[called_rows].sum())
        n_odd = int(has_answer.sum()) - n_explained
        log.problems.add("unexplained_answers", n_odd, names[offer])
        again = index.calls.take(is_again & (index.calls.offers == offer))
        is_charged = catalogue.is_per_call[members[0]] | has_answer[again.rows]
        np.add.at(repeats, again.cases, np.where(is_charged, prices[offer], 0))
    case_idxs = select_cases(log, index, values, orders)
    return HeldLog(log, index, values, words, orders, repeats, case_idxs)


def place_cells(
    sources: tuple[IntArray, IntArray],
    start: int,
    cells: FloatArray,
    out_values: FloatArray,
) -> None:
    """Put the cells of some rows, from `start` on, at their cases; NaN says nothing."""
    cases, rows = sources
    first, last = np.searchsorted(rows, (start, start + cells.size))
    own = cells[rows[first:last] - start]
    is_known = ~np.isnan(own)
    out_values[cases[first:last][is_known]] = own[is_known]


def list_sources(
    index: LogIndex, last_rows: Wholes, is_sold: bool
) -> tuple[IntArray, IntArray]:
    """Return cases and the rows that their values stand in, by ascending row.

    A vendor's stand in the row of its last call, what was known in any row.
    """
    if not is_sold:
        rows = np.flatnonzero(index.row_cases >= 0)
        return index.row_cases[rows].astype(np.int64), rows
    cases = np.flatnonzero(last_rows >= 0)
    cases = cases[np.argsort(last_rows[cases], kind="stable")]
    return cases, last_rows[cases].astype(np.int64)


class FeatureReader:
    """Reads the column of a feature as numbers; texts are numbered in `words`."""

    def __init__(self, log: LogFile, feature: Feature) -> None:
        self.log = log
        self.feature = replace(feature, missing=merge_missing(log.spec, feature))
        self.is_typed = feature.name not in log.spec.table.untyped
        self.words: dict[str, int] | None = None

    def read(self) -> Iterator[tuple[int, FloatArray]]:
        """Yield cells with the number of their first row; NaN: nothing is known."""
        column = self.log.mapping.column_of(self.feature.name)
        for start, columns in self.log.read_chunks([column]):
            cells = columns[column]
            is_text = self.feature.type == "category" or not self.is_typed
            if is_text and (cells.dtype == np.object_ or self.is_typed):
                yield start, self._number_words(cells)
            else:
                yield start, self._read_numbers(cells)

    def _number_words(self, column: Column) -> FloatArray:
        cells = to_text_cells(column)
        known = self.words = {} if self.words is None else self.words
        feature = replace(self.feature, type="category")
        numbers = [
            np.nan
            if word is None or np.isnan(read_cell(feature, word) or 0.0)
            else known.setdefault(word, len(known))
            for word in cells.words
        ]
        values: FloatArray = np.array(numbers, np.float64)[cells.numbers]
        return values

    def _read_numbers(self, column: Column) -> FloatArray:
        """Return numbers; what the feature can't be is named, and counts as empty."""
        if column.dtype == np.object_:
            cells = to_text_cells(column)
            read = [read_cell(self.feature, word) for word in cells.words]
            numbers = np.array([np.inf if x is None else x for x in read], np.float64)
            values: FloatArray = numbers[cells.numbers]
        else:
            values = read_feature(self.feature, column)[0].copy()
        is_odd = np.isinf(values)
        if self.feature.type == "boolean":
            is_odd |= ~np.isin(values, (0.0, 1.0))
        else:
            is_odd |= ~is_within_limits(self.feature, values)
        is_odd &= ~np.isnan(values)
        self.log.problems.add(
            "values_out_of_range", int(is_odd.sum()), self.feature.name
        )
        values[is_odd] = np.nan
        return values


def select_cases(
    log: LogFile, index: LogIndex, values: FloatArray, orders: Wholes
) -> IntArray:
    """Return the cases that count, by the time of their decisions; name the others."""
    problems, n_cases = log.problems, index.decided.size
    has_time = ~np.isnan(index.decided)
    has_label = (index.decisions != UNKNOWN) | (index.outcomes != UNKNOWN)
    is_explained: BoolArray = np.any(orders > 0, axis=1, keepdims=True)[:, 0]
    for start in range(0, n_cases, BLOCK):
        rows = slice(start, start + BLOCK)
        is_explained[rows] |= ~np.isnan(values[rows]).all(axis=1)
    problems.add("cases_without_time", int((~has_time).sum()))
    problems.add("cases_without_decision", int((has_time & ~has_label).sum()))
    is_bare = has_time & has_label & ~is_explained
    problems.add("unexplained_decisions", int(is_bare.sum()))
    counted = np.flatnonzero(has_time & has_label & is_explained)
    by_time: IntArray = counted[np.argsort(index.decided[counted], kind="stable")]
    return by_time


def split_older(held: HeldLog, share: float) -> int:
    """Return how many cases, of the first days, are older.

    The cut is between two days where both sides have cases then.
    """
    days, n_cases = held.days, held.case_idxs.size
    n_older = int(share * n_cases)
    if days.size and days[0] < days[n_older - 1]:
        before = int(np.searchsorted(days, days[n_older]))
        n_older = before if before else n_older
    return n_older


def to_training_columns(held: HeldLog, places: IntArray) -> Columns:
    """Return the columns to train on: features, and the target."""
    target = np.array(held.read_targets(places), np.object_)
    return {**held.read_columns(places), held.log.spec.table.target: target}
