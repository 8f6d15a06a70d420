"""Index a part of a log: its cases and calls, without the answers."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from askless.app.batch.shadow.log_files import (
    LogFile,
    Wholes,
    map_words,
    number_firsts,
    parse_seconds,
    read_moment,
)
from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.shadow.logs import UNKNOWN, price_offers
from askless.core.table.columns import Column, to_text_cells


@dataclass(frozen=True)
class Calls:
    """Calls of a log, (n_calls,) each."""

    cases: Wholes
    offers: Wholes
    #: in seconds, NaN where the log has none
    times: FloatArray
    #: the row of the file
    rows: Wholes
    #: in units, NaN where the log has none
    prices: FloatArray
    latencies: FloatArray

    def narrow(self, start: int) -> "Calls":
        """Return the calls in fewer bytes, their rows counted from `start` on."""
        return Calls(
            *(self.cases.astype(np.int32), self.offers.astype(np.int16), self.times),
            rows=(self.rows + start).astype(np.int32),
            prices=self.prices.astype(np.float32),
            latencies=self.latencies.astype(np.float32),
        )

    def take(self, idxs: IntArray | BoolArray) -> "Calls":
        """Return some of the calls."""
        return Calls(**{name: column[idxs] for name, column in vars(self).items()})


@dataclass(frozen=True)
class LogIndex:
    """Some cases of a log, (n_cases,) each, and their calls."""

    #: in seconds, NaN where there is none
    decided: FloatArray
    #: numbers of labels, `UNKNOWN` where there is none
    decisions: IntArray
    outcomes: IntArray
    #: those before decisions, by case and time
    calls: Calls
    #: late ones too: the offer and the row of each
    called: tuple[Wholes, Wholes]
    #: (n_rows,), the case of each row; -1: none
    row_cases: IntArray


class IndexBuilder:
    """Collects cases and calls, some rows of a file at a time."""

    def __init__(self, log: LogFile) -> None:
        self.log, self.numbers = log, dict[str, int]()
        self.odd_words: dict[str, int] = {}
        self.row_cases: list[IntArray] = []
        self.calls: list[Calls] = []
        self.twice: set[int] = set()
        self.facts: dict[str, FloatArray] = {
            name: np.empty(0) for name in ("decided_at", "decision", "outcome")
        }

    def add(self, start: int, columns: Mapping[str, Column]) -> None:
        """Add rows; `start` is the number of the first."""
        mapping = self.log.mapping
        cells = to_text_cells(columns[mapping.case])
        before = len(self.numbers)
        word_numbers = [
            self.numbers.setdefault(word or "", len(self.numbers))
            for word in cells.words
        ]
        cases = np.array(word_numbers, np.int64)[cells.numbers]
        if mapping.layout == "cases":
            cases = self._leave_out_again(cases, before)
        self.row_cases.append(cases.astype(np.int32))
        rows = np.flatnonzero(cases >= 0)
        for name in self.facts:
            column = mapping.roles.get(name)
            if column is not None:
                parse = read_moment if name == "decided_at" else self._number_label
                values = map_words(columns[column], parse)[rows]
                self._set_facts(name, cases[rows], values)
        for calls in self._read_calls(columns, cases):
            self.calls.append(calls.narrow(start))

    def _leave_out_again(self, cases: IntArray, n_before: int) -> IntArray:
        """Return the cases of rows, -1 where a row before had the same case."""
        _, firsts = np.unique(cases, return_index=True)
        is_new = np.zeros(cases.size, np.bool_)
        is_new[firsts] = cases[firsts] >= n_before
        self.twice.update(cases[~is_new].tolist())
        return np.where(is_new, cases, -1)

    def _number_label(self, word: str) -> float:
        """Return the number of a label; below `UNKNOWN` if it is none of the spec."""
        label, labels = word.strip(), self.log.labels
        if not self.log.spec.table.displays:
            labels.setdefault(label, len(labels))
        if label in labels:
            return float(labels[label])
        odd = self.odd_words.setdefault(label, len(self.odd_words))
        return float(UNKNOWN - 1 - odd)

    def _set_facts(self, name: str, cases: IntArray, values: FloatArray) -> None:
        """Set a fact of each case that has none yet; note cases that have two."""
        known = self.facts[name]
        lacking = np.full(len(self.numbers) - known.size, np.nan)
        known = self.facts[name] = np.append(known, lacking)
        is_there = ~np.isnan(values)
        cases, values = cases[is_there], values[is_there]
        is_open = np.isnan(known[cases])
        # Backwards, so that the first row of a case is written last.
        known[cases[is_open][::-1]] = values[is_open][::-1]
        self.twice.update(cases[known[cases] != values].tolist())

    def _read_calls(
        self, columns: Mapping[str, Column], cases: IntArray
    ) -> list[Calls]:
        """Return the calls of rows, which are numbered from 0 here."""
        mapping = self.log.mapping
        if mapping.layout == "calls":
            return [self._read_called(columns, cases)]
        if not mapping.vendor_at and mapping.order is not None:
            return [self._read_orders(columns[mapping.order], cases)]
        nothing = np.full(cases.size, np.nan)
        calls = []
        for vendor, column in mapping.vendor_at.items():
            times = map_words(columns[column], read_moment)
            rows = np.flatnonzero(~np.isnan(times) & (cases >= 0))
            offers = np.full(cases.size, self.log.vendor_offers[vendor])
            every = Calls(cases, offers, times, np.arange(cases.size), nothing, nothing)
            calls.append(every.take(rows))
        return calls

    def _read_called(self, columns: Mapping[str, Column], cases: IntArray) -> Calls:
        """Return the calls of rows that are one call each; others have no vendor."""
        mapping, offers_by_name = self.log.mapping, self.log.vendor_offers
        assert mapping.vendor is not None, "the layout is checked"
        cells = to_text_cells(columns[mapping.vendor])
        places = [
            -2 if word is None else offers_by_name.get(word.strip(), -1)
            for word in cells.words
        ]
        offers = np.array(places, np.int64)[cells.numbers]
        for word, count in cells.present.items():
            if word.strip() not in offers_by_name:
                self.log.problems.add("unknown_vendors", count, word.strip())
        nothing = np.full(cases.size, np.nan)

        def read(role: str) -> FloatArray:
            column = mapping.roles.get(role)
            parse = read_moment if role == "at" else parse_seconds
            return nothing if column is None else map_words(columns[column], parse)

        every = Calls(
            *(cases, offers, read("at"), np.arange(cases.size)),
            prices=read("price"),
            latencies=read("latency_s"),
        )
        taken = every.take((cases >= 0) & (offers >= 0))
        if mapping.price is not None:
            is_there = ~to_text_cells(columns[mapping.price]).is_missing[taken.rows]
            is_odd = is_there & ~(taken.prices >= 0)
            self.log.problems.add("unreadable_prices", int(is_odd.sum()))
        if mapping.at is not None:
            n_timeless = int(np.isnan(taken.times).sum())
            self.log.problems.add("calls_without_time", n_timeless)
        return taken

    def _read_orders(self, column: Column, cases: IntArray) -> Calls:
        """Return the calls of rows that name their vendors in one cell."""
        cells = to_text_cells(column)
        separator, offers = self.log.mapping.separator, self.log.vendor_offers
        lists = [
            [] if word is None else [name.strip() for name in word.split(separator)]
            for word in cells.words
        ]
        counts = np.bincount(cells.numbers[cases >= 0], minlength=len(lists))
        for names, count in zip(lists, counts.tolist(), strict=True):
            for name in {*names} - {*offers, ""}:
                self.log.problems.add("unknown_vendors", count, name)
        rows, called = [], []
        for row in np.flatnonzero(cases >= 0).tolist():
            own = [offers[name] for name in lists[cells.numbers[row]] if name in offers]
            rows += [row] * len(own)
            called += own
        row_idxs = np.array(rows, np.int64)
        nothing = np.full(row_idxs.size, np.nan)
        offer_idxs = np.array(called, np.int64)
        return Calls(cases[row_idxs], offer_idxs, nothing, row_idxs, nothing, nothing)

    def finish(self) -> LogIndex:
        """Return the index; calls are in the order of cases and times."""
        log = self.log
        log.problems.add("cases_twice", len(self.twice))
        n_cases = len(self.numbers)
        for name, known in self.facts.items():
            lacking = np.full(n_cases - known.size, np.nan)
            self.facts[name] = np.append(known, lacking)
        facts = {}
        for name in ("decision", "outcome"):
            numbers = np.nan_to_num(self.facts[name], nan=UNKNOWN).astype(np.int64)
            log.problems.add("unknown_labels", int((numbers < UNKNOWN).sum()), name)
            facts[name] = np.maximum(numbers, UNKNOWN)
        columns = [vars(calls) for calls in self.calls]
        joined = Calls(
            **{
                name: np.concatenate([column[name] for column in columns])
                for name in columns[0]
            }
        )
        self.calls = []
        row_cases = np.concatenate(self.row_cases)
        decided = self.facts["decided_at"]
        return LogIndex(
            *(decided, facts["decision"], facts["outcome"]),
            calls=settle_calls(log, joined, decided),
            called=(joined.offers, joined.rows),
            row_cases=row_cases,
        )


def settle_calls(log: LogFile, calls: Calls, decided: FloatArray) -> Calls:
    """Return the calls before decisions, by case and time; name all others."""
    names = {number: name for name, number in log.vendor_offers.items()}
    is_late = calls.times > decided[calls.cases]
    for offer in np.unique(calls.offers[is_late]).tolist():
        n_late = int((calls.offers[is_late] == offer).sum())
        log.problems.add("late_answers", n_late, names[offer])
    calls = calls.take(~is_late)
    times = np.where(np.isnan(calls.times), -np.inf, calls.times)
    calls = calls.take(np.lexsort((calls.rows, times, calls.cases)))
    spec_prices = price_offers(log.catalogue) / MICROS_PER_UNIT
    # A call that came back empty may have cost nothing.
    is_other = (calls.prices > 0) & ~np.isclose(calls.prices, spec_prices[calls.offers])
    pairs = zip(calls.offers[is_other], calls.prices[is_other], strict=True)
    for (offer, price), count in Counter(pairs).items():
        shown = f"{names[offer]} {price:g}, not {spec_prices[offer]:g}"
        log.problems.add("price_changes", count, shown)
    return calls


def index_log(log: LogFile) -> LogIndex:
    """Read all columns of a part but those of features."""
    builder = IndexBuilder(log)
    names = list(dict.fromkeys(log.mapping.roles.values()))
    for start, columns in log.read_chunks(names):
        builder.add(start, columns)
    return builder.finish()


def order_calls(index: LogIndex, n_offers: int) -> tuple[Wholes, Wholes, BoolArray]:
    """Return places of vendors by case, the row of each last answer, and what repeats.

    Places are (n_cases, n_offers), from 1 by the first call of a vendor, 0: not asked.
    Rows likewise, -1: none. What repeats is (n_calls,): a vendor is asked again.
    """
    calls, n_cases = index.calls, index.decided.size
    keys = calls.cases.astype(np.int64) * n_offers + calls.offers
    by_key = np.argsort(keys, kind="stable")
    is_again = np.ones(keys.size, np.bool_)
    is_again[by_key[number_firsts(keys[by_key])]] = False
    last_rows = np.full((n_cases, n_offers), -1, np.int32)
    # In the order of time, so that the last one stays.
    last_rows[calls.cases, calls.offers] = calls.rows
    first = calls.take(~is_again)
    starts = number_firsts(first.cases)
    lengths = np.diff(np.append(starts, first.cases.size))
    places = np.arange(first.cases.size) - np.repeat(starts, lengths) + 1
    orders = np.zeros((n_cases, n_offers), np.int16)
    orders[first.cases, first.offers] = places
    return orders, last_rows, is_again
