"""Verify receipts, and the chain of digests through the ledger."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from askless.app.documents.buying.receipts import (
    Receipt,
    digest_receipt,
)
from askless.app.documents.http.ledger import SessionEntry
from askless.app.records import LedgerEntry
from askless.app.store import ledger, sessions
from askless.app.store.buying import runs
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.prices import to_micros

HASH_FAULT = "hash: the receipt is not the one that was hashed"
UNKNOWN = "session: the database has none of this id"
SHAPE_FAULT = "it is no receipt"


def check_receipt(document: dict[str, Any]) -> list[str]:
    """Return what is wrong with a receipt by itself: hash, chain of rows, sum."""
    if document.get("hash") != digest_receipt(document):
        return [HASH_FAULT]
    entries = document.get("ledger")
    try:
        Receipt.model_validate({**document, "ledger": []}, by_name=True)
        rows = [read_entry(document["session"], row) for row in entries or []]
    except (ValidationError, ValueError, KeyError, TypeError):
        return [SHAPE_FAULT]
    faults = list(check_chain(rows))
    signs = {"charge": 1, "miss": 1, "reversal": -1}
    total = sum(signs[row.kind] * row.amount for row in rows)
    if total != to_micros(document["budget"]["spent"]):
        faults.append("budget.spent: is not the sum of the ledger's rows")
    return faults


def read_entry(session_id: str, row: dict[str, Any]) -> LedgerEntry:
    """Return a row of a receipt as the ledger has it."""
    amount = to_micros(row["amount"])
    entry = SessionEntry.model_validate(row | {"amount": amount}, by_name=True)
    values: dict[str, Any] = entry.model_dump(exclude={"id"}) | {"amount": amount}
    values["position"] = read_position(entry.id)
    values["reverses"] = entry.reverses and read_position(entry.reverses)
    return LedgerEntry(session_id=session_id, **values)


def read_position(entry_id: str) -> int:
    return int(entry_id.rpartition("-")[2])


def check_chain(rows: Sequence[LedgerEntry]) -> Iterator[str]:
    """Yield the first row of a session that is not what was written."""
    before = ""
    for row in rows:
        if ledger.chain_digest(before, row) != row.digest:
            yield f"ledger {row.id}: is not what was written"
            return
        before = row.digest


def check_stored(db: Transaction, document: dict[str, Any]) -> list[str]:
    """Return where a receipt differs from what the service has of its session."""
    session_id = str(document.get("session"))
    if sessions.find(db, session_id) is None:
        return [UNKNOWN]
    run = runs.find(db, session_id)
    faults = []
    if run is not None and run.digest not in (None, document.get("hash")):
        faults.append("hash: is not the one that the run's end has written")
    stored = ledger.list_of_session(db, session_id)
    digests = [row.get("digest") for row in document.get("ledger", [])]
    if [row.digest for row in stored][: len(digests)] != digests:
        faults.append("ledger: its rows are not those of the service")
    return [*faults, *check_chain(stored)]


def check_ledger(db: Transaction) -> Iterator[str]:
    """Yield the rows of a tenant's ledger that are not what was written."""
    for session_id in ledger.list_sessions(db):
        yield from check_chain(ledger.list_of_session(db, session_id))
