"""Read the ledger; sessions write it."""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from askless.app.documents.http import ledger as bodies
from askless.app.documents.sheets import quote_formula, write_lines
from askless.app.errors import NoPageError, NotFoundError
from askless.app.records import LedgerEntry, LedgerFilter, LedgerSum, Page
from askless.app.store import ledger, sessions
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.prices import MICROS_PER_UNIT

# The columns of a CSV file, with the fields of an entry that fill them.
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
    "reverses": "reversed_id",
    "reason": "reason",
    "amount": "amount",
    "unit": "unit",
}

ENTRY_ID = re.compile(r"[A-Za-z0-9_]{1,40}-[1-9][0-9]{0,8}", re.ASCII)


def list_of_session(db: Transaction, session_id: str) -> bodies.LedgerPage:
    """Return every entry of a session, oldest first."""
    sessions.get(db, session_id)
    items = ledger.list_of_session(db, session_id)
    sums = ledger.list_sums(db, LedgerFilter(session_id=session_id))
    return bodies.LedgerPage.of(items=items, next=None, sums=sums)


def get_page_with_sums(
    db: Transaction, limit: int, after: str | None, filters: LedgerFilter
) -> bodies.LedgerPage:
    """Return a page of a filter's entries, newest first, with the sums of all."""
    rows = get_page(db, limit, after, filters)
    return bodies.LedgerPage.of(rows, sums=ledger.list_sums(db, filters))


def get_page(
    db: Transaction, limit: int, after: str | None, filters: LedgerFilter
) -> Page[LedgerEntry]:
    """Return a page of a filter's entries, newest first.

    `after` is the `next` of the page before. Raises NoPageError if it is malformed.
    """
    return ledger.page(
        db, limit, None if after is None else parse_entry_id(after), filters
    )


class Books(NamedTuple):
    """Sums of charges and reversals by unit, with details of one unit."""

    sums: tuple[LedgerSum, ...]
    #: the unit of the sums below; amounts of different units are never added
    unit: str
    by_day: tuple[LedgerSum, ...]
    by_model: tuple[LedgerSum, ...]
    by_feature: tuple[LedgerSum, ...]


def sum_books(db: Transaction, filters: LedgerFilter) -> Books:
    """Return sums of a filter's entries; the dearest models and features first.

    Without a unit in the filter, details are of the unit with the most entries.
    """
    sums = ledger.list_sums(db, filters)
    if not sums:
        return Books((), filters.unit or "", (), (), ())
    unit = max(sums, key=lambda total: total.entries).unit
    filters = replace(filters, unit=unit)
    by_day, *others = (
        ledger.list_sums_by(db, filters, by) for by in ("day", "model", "feature")
    )
    by_model, by_feature = (
        tuple(sorted(other, key=lambda part: -part.net)) for other in others
    )
    return Books(sums, unit, by_day, by_model, by_feature)


def find_entry(
    db: Transaction, text: str
) -> tuple[bodies.LedgerEntry, bodies.LedgerEntry | None]:
    """Return the entry that a path names, and its reversal if there is one."""
    entry = ledger.get(db, *read_entry_id(text))
    reversal = ledger.find_reversal(db, entry)
    body = None if reversal is None else bodies.LedgerEntry.of(reversal)
    return bodies.LedgerEntry.of(entry), body


def parse_entry_id(text: str) -> tuple[str, int]:
    """Return session and position of an entry from its id; raise NoPageError."""
    if not ENTRY_ID.fullmatch(text):
        raise NoPageError
    session_id, _, position = text.rpartition("-")
    return session_id, int(position)


def read_entry_id(text: str) -> tuple[str, int]:
    """Return an entry's session and position by id; raise NotFoundError."""
    try:
        return parse_entry_id(text)
    except NoPageError:
        raise NotFoundError("entry") from None


def csv_header() -> str:
    return write_lines([COLUMNS])


def csv_entries(listed: Iterable[LedgerEntry], *, is_raw: bool) -> str:
    """Return entries as lines of CSV, their amounts with all decimals.

    With `is_raw` cells that begin as formulas are not quoted.
    """
    mend = str if is_raw else quote_formula
    return write_lines(
        [mend(format_cell(getattr(entry, name), name)) for name in COLUMNS.values()]
        for entry in listed
    )


def format_cell(value: object, name: str) -> str:
    if value is None:
        return ""
    if name == "amount":
        assert isinstance(value, int), "micro-units"
        return f"{value // MICROS_PER_UNIT}.{value % MICROS_PER_UNIT:06d}"
    return value.isoformat() if isinstance(value, datetime) else str(value)
