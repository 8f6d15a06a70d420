"""Read the ledger; sessions write it."""

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from app.documents.http import ledger as bodies
from app.errors import NoPageError, NotFoundError
from app.records import LedgerEntry, LedgerFilter, LedgerSum, Page
from app.store import ledger, sessions
from app.store.database.transactions import Transaction
from core.table.prices import MICROS_PER_UNIT

# The columns of a CSV file, by what an entry calls them.
COLUMNS = {
    "id": "id",
    "at": "at",
    "session": "session_id",
    "model": "model_id",
    "key": "key_id",
    "feature": "feature",
    "group": "group",
    "kind": "kind",
    "number": "number",
    "reverses": "reverses",
    "reason": "reason",
    "amount": "amount",
    "unit": "unit",
}
# A spreadsheet takes a cell that begins so for a formula, with East Asian forms of the
# signs too; where the comma is decimal, each semicolon begins a cell.
FORMULA = re.compile("(^|;[ \"']*)(?=[=+\\-@\t\r\n\uff0b\uff0d\uff1d\uff20])")


def of_session(db: Transaction, session_id: str) -> bodies.LedgerPage:
    """Return every entry of a session, oldest first."""
    sessions.get(db, session_id)
    items = ledger.of_session(db, session_id)
    sums = ledger.sums(db, LedgerFilter(session_id=session_id))
    return bodies.LedgerPage.of(items=items, next=None, sums=sums)


def page(
    db: Transaction, limit: int, after: str | None, filters: LedgerFilter
) -> bodies.LedgerPage:
    """Return some of the entries that pass, newest first, and what all come to."""
    found = entries(db, limit, after, filters)
    return bodies.LedgerPage.of(found, sums=ledger.sums(db, filters))


def entries(
    db: Transaction, limit: int, after: str | None, filters: LedgerFilter
) -> Page[LedgerEntry]:
    """Return some of the entries that pass, newest first."""
    return ledger.page(db, limit, None if after is None else number(after), filters)


class Books(NamedTuple):
    """What charges and reversals come to: all of them, and of one unit more closely."""

    sums: tuple[LedgerSum, ...]
    #: the unit of what follows; money of several units is never added up
    unit: str
    by_day: tuple[LedgerSum, ...]
    by_model: tuple[LedgerSum, ...]
    by_feature: tuple[LedgerSum, ...]


def books(db: Transaction, filters: LedgerFilter) -> Books:
    """Return sums of the entries that pass; the dearest models and features first.

    Where no unit is asked for, the one with the most entries is looked at closely.
    """
    found = ledger.sums(db, filters)
    if not found:
        return Books((), filters.unit or "", (), (), ())
    unit = max(found, key=lambda one: one.entries).unit
    filters = replace(filters, unit=unit)
    by_day, *others = (
        ledger.sums_by(db, filters, by) for by in ("day", "model", "feature")
    )
    by_model, by_feature = (
        tuple(sorted(one, key=lambda part: -part.net)) for one in others
    )
    return Books(found, unit, by_day, by_model, by_feature)


def find_entry(
    db: Transaction, text: str
) -> tuple[bodies.LedgerEntry, bodies.LedgerEntry | None]:
    """Return the entry that a path names, and its reversal."""
    entry = ledger.get(db, find_number(text))
    reversal = ledger.find_reversal(db, entry.id)
    told = None if reversal is None else bodies.LedgerEntry.of(reversal)
    return bodies.LedgerEntry.of(entry), told


def number(text: str) -> int:
    """Return the id of an entry."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise NoPageError
    return int(text)


def find_number(text: str) -> int:
    """Return the id of an entry that a path names."""
    try:
        return number(text)
    except NoPageError:
        raise NotFoundError("entry") from None


def csv_head() -> str:
    return csv_lines([COLUMNS])


def csv_of(found: Iterable[LedgerEntry]) -> str:
    """Return entries as lines of CSV, their amounts with all decimals."""
    return csv_lines(
        [cell(getattr(entry, name), name) for name in COLUMNS.values()]
        for entry in found
    )


def csv_lines(rows: Iterable[Iterable[str]]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue()


def cell(value: object, name: str) -> str:
    """Return a cell that no spreadsheet runs: a quote makes a formula a text."""
    if value is None:
        return ""
    if name == "amount":
        assert isinstance(value, int), "micro-units"
        return f"{value // MICROS_PER_UNIT}.{value % MICROS_PER_UNIT:06d}"
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    return FORMULA.sub(r"\1'", text)
