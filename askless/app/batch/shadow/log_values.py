"""Read a part of a log, case by case: answers, orders, what was decided."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from askless.app.batch.shadow.log_files import LogFile, Wholes, merge_missing
from askless.app.batch.shadow.log_index import LogIndex, index_log, order_calls
from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.shadow.logs import UNKNOWN, price_offers
from askless.core.table.cells import is_within_limits, read_cell
from askless.core.table.columns import Column, read_feature, to_text_cells

# Cases as an array of records; see `record_type`.
CaseRecords = npt.NDArray[np.void]


def record_type(catalogue: Catalogue) -> np.dtype[np.void]:
    """Return the type of a case's record.

    `row` is its first row in the log; labels are by number, `UNKNOWN` where there is
    none; `repeats` is in micro-units; `orders` has the place of each vendor, 0: not
    asked; `values` are NaN where nothing is known, and texts are numbers of
    `LogFile.words`.
    """
    return np.dtype(
        [
            *(("decided", np.float64), ("row", np.int64), ("repeats", np.int64)),
            *(("decision", np.int32), ("outcome", np.int32)),
            ("orders", np.int16, (len(catalogue.offers),)),
            ("values", np.float64, (len(catalogue.features),)),
        ]
    )


def read_part(log: LogFile, rows: IntArray, folder: Path) -> CaseRecords:
    """Return the cases of a part that count; name what is odd.

    `rows` are the numbers of its rows in the log. Latencies are added to a file of the
    folder for each vendor.
    """
    index, catalogue = index_log(log), log.catalogue
    n_offers, n_cases = len(catalogue.offers), index.decided.size
    orders, last_rows, is_again = order_calls(index, n_offers)
    log.problems.add("repeated_calls", int(is_again.sum()))
    records = np.zeros(n_cases, record_type(catalogue))
    records["decided"], records["orders"] = index.decided, orders
    records["decision"], records["outcome"] = index.decisions, index.outcomes
    named = np.flatnonzero(index.row_cases >= 0)
    _, firsts = np.unique(index.row_cases[named], return_index=True)
    records["row"] = rows[named[firsts]]
    records["values"] = np.nan
    for offer in range(n_offers):
        has_answer = read_answers(log, index, last_rows[:, offer], offer, records)
        again = index.calls.take(is_again & (index.calls.offers == offer))
        first = catalogue.offers[offer][0]
        is_charged = catalogue.is_per_call[first] | has_answer[again.rows]
        charges = np.where(is_charged, price_offers(catalogue)[offer], 0)
        np.add.at(records["repeats"], again.cases, charges)
        latencies = index.calls.latencies[index.calls.offers == offer]
        with latency_file(folder, offer).open("ab") as file:
            latencies[np.isfinite(latencies)].astype(np.float32).tofile(file)
    return records[select_cases(log, records)]


def latency_file(folder: Path, offer: int) -> Path:
    """Return the file with the latencies of an offer's calls, float32 each."""
    return folder / f"latencies {offer}"


def read_answers(
    log: LogFile,
    index: LogIndex,
    last_rows: Wholes,
    offer: int,
    out_records: CaseRecords,
) -> BoolArray:
    """Read the values of an offer; return the rows that have one, (n_rows,)."""
    members, is_sold = log.catalogue.offers[offer], price_offers(log.catalogue) > 0
    sources = list_sources(index, last_rows, bool(is_sold[offer]))
    has_answer = np.zeros(log.n_rows, np.bool_)
    for idx in members:
        values = out_records["values"][:, idx]
        for start, cells in read_cells_of(log, idx):
            place_cells(sources, start, cells, values)
            has_answer[start : start + cells.size] |= ~np.isnan(cells)
    if is_sold[offer]:
        # Rows that are left out are named already.
        has_answer &= index.row_cases >= 0
        called_offers, rows = index.called
        n_explained = int(has_answer[np.unique(rows[called_offers == offer])].sum())
        names = {number: name for name, number in log.vendor_offers.items()}
        n_odd = int(has_answer.sum()) - n_explained
        log.problems.add("unexplained_answers", n_odd, names[offer])
    return has_answer


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


def read_cells_of(log: LogFile, idx: int) -> Iterator[tuple[int, FloatArray]]:
    """Yield cells of a feature with the number of their first row.

    NaN: nothing is known. Texts are numbered by `LogFile.words`.
    """
    feature = log.catalogue.features[idx]
    feature = replace(feature, missing=merge_missing(log.spec, feature))
    is_typed = feature.name not in log.spec.table.untyped
    is_text = feature.type == "category" or not is_typed
    column = log.mapping.column_of(feature.name)
    for start, columns in log.read_chunks([column]):
        cells = columns[column]
        if is_text and (cells.dtype == np.object_ or is_typed):
            words = log.words.setdefault(idx, {})
            yield start, number_words(words, feature, cells)
        else:
            yield start, read_numbers(log, feature, cells)


def number_words(words: dict[str, int], feature: Feature, column: Column) -> FloatArray:
    """Return the number of each text, NaN for a gap; add those that are new."""
    cells, feature = to_text_cells(column), replace(feature, type="category")
    numbers = [
        np.nan
        if word is None or np.isnan(read_cell(feature, word) or 0.0)
        else words.setdefault(word, len(words))
        for word in cells.words
    ]
    values: FloatArray = np.array(numbers, np.float64)[cells.numbers]
    return values


def read_numbers(log: LogFile, feature: Feature, column: Column) -> FloatArray:
    """Return numbers; what the feature can't be is named, and counts as empty."""
    if column.dtype == np.object_:
        cells = to_text_cells(column)
        read = [read_cell(feature, word) for word in cells.words]
        numbers = np.array([np.inf if x is None else x for x in read], np.float64)
        values: FloatArray = numbers[cells.numbers]
    else:
        values = read_feature(feature, column)[0].copy()
    is_odd = np.isinf(values)
    if feature.type == "boolean":
        is_odd |= ~np.isin(values, (0.0, 1.0))
    else:
        is_odd |= ~is_within_limits(feature, values)
    is_odd &= ~np.isnan(values)
    log.problems.add("values_out_of_range", int(is_odd.sum()), feature.name)
    values[is_odd] = np.nan
    return values


def select_cases(log: LogFile, records: CaseRecords) -> BoolArray:
    """Return which cases count; name the others."""
    has_time = ~np.isnan(records["decided"])
    has_label = (records["decision"] != UNKNOWN) | (records["outcome"] != UNKNOWN)
    is_asked = np.any(records["orders"] > 0, axis=1)
    is_explained = is_asked | ~np.isnan(records["values"]).all(axis=1)
    problems = log.problems
    problems.add("cases_without_time", int((~has_time).sum()))
    problems.add("cases_without_decision", int((has_time & ~has_label).sum()))
    is_bare = has_time & has_label & ~is_explained
    problems.add("unexplained_decisions", int(is_bare.sum()))
    is_counted: BoolArray = has_time & has_label & is_explained
    return is_counted
