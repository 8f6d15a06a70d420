"""Routes of the ledger."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse
from sqlalchemy import Engine as SqlEngine

from askless.app.documents.fields import WITHOUT_NUL
from askless.app.documents.http import ledger as schemas
from askless.app.http.plumbing.auth import Called
from askless.app.http.plumbing.contract import problem_docs
from askless.app.http.plumbing.days import Day, day_end, day_parameter, day_start
from askless.app.http.plumbing.deps import (
    AfterEntry,
    At,
    Db,
    Engine,
    Limit,
    Loaded,
    LogFields,
    Raw,
    ReadDb,
    read_db,
    require_distinct,
)
from askless.app.http.plumbing.retries import RetriedRoute
from askless.app.records import LedgerFilter
from askless.app.service import ledger as service
from askless.app.service.sessions.opened import SessionCall
from askless.app.service.sessions.reversals import reverse

router = APIRouter(tags=["ledger"], route_class=RetriedRoute)
CSV = "text/csv"
# Entries of a file that are read at a time.
CHUNK = 1000
AS_FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {CSV: {"schema": {"type": "string"}}}}
}


Key = Annotated[str, Query(min_length=1, max_length=40, pattern=WITHOUT_NUL)]


async def get_ledger_filter(
    model: Key | None = None,
    session: Key | None = None,
    key: Key | None = None,
    unit: Annotated[str | None, Query(max_length=200, pattern=WITHOUT_NUL)] = None,
    since: Annotated[Day | None, day_parameter("from")] = None,
    until: Annotated[Day | None, day_parameter("to")] = None,
) -> LedgerFilter:
    """Return the filter of entries for which all of these parameters hold."""
    first = None if since is None else day_start(since)
    last = None if until is None else day_end(until)
    return LedgerFilter(model, session, key, unit, first, last)


Filters = Annotated[LedgerFilter, Depends(get_ledger_filter)]


@router.get(
    "/predict/{id}/ledger",
    operation_id="list_session_charges",
    summary="Charges of a session, oldest first",
)
def list_session_charges(id: str, db: ReadDb, fields: LogFields) -> schemas.LedgerPage:
    """List all charges and reversals of a session, erased or not."""
    entries = service.list_of_session(db, id)
    # Only now is it known to be an id, and safe to log.
    fields["session"] = id
    return entries


@router.get(
    "/ledger",
    response_model=schemas.LedgerPage,
    responses=AS_FILE,
    operation_id="list_charges",
    summary="All charges, newest first",
)
def list_charges(
    request: Request,
    db: ReadDb,
    engine: Engine,
    caller: Called,
    filters: Filters,
    format: Annotated[
        Literal["json", "csv"] | None,
        Query(description="`csv`: a file of all entries. Or ask by `Accept`."),
    ] = None,
    limit: Limit = 50,
    after: AfterEntry = None,
    raw: Raw = False,
) -> schemas.LedgerPage | Response:
    """List charges and reversals by model, session, key, unit and day, with sums."""
    wants_file = format is None and CSV in request.headers.get("accept", "")
    if format != "csv" and not wants_file:
        return service.get_page_with_sums(db, limit, after, filters)
    headers = {"Content-Disposition": 'attachment; filename="ledger.csv"'}
    lines = write_csv(engine, caller.tenant_id, filters, is_raw=raw)
    return StreamingResponse(lines, media_type=CSV, headers=headers)


def write_csv(
    engine: SqlEngine, tenant_id: str, filters: LedgerFilter, *, is_raw: bool
) -> Iterator[str]:
    """Yield all entries of a filter as parts of a CSV, each in its own transaction."""
    yield service.csv_header()
    after = None
    while True:
        with read_db(engine, tenant_id) as db:
            entries = service.get_page(db, CHUNK, after, filters)
        yield service.csv_entries(entries.items, is_raw=is_raw)
        after = entries.next
        if after is None:
            return


@router.post(
    "/ledger/{id}/reverse",
    status_code=201,
    dependencies=[Depends(require_distinct)],
    openapi_extra=problem_docs("already-reversed", "not-a-charge"),
    operation_id="reverse_charge",
    summary="Reverse a charge",
)
def reverse_charge(
    id: str,
    body: schemas.ReversalRequest,
    db: Db,
    loaded: Loaded,
    at: At,
    fields: LogFields,
) -> schemas.LedgerEntry:
    """Reverse one charge in full; this lowers what its session has spent.

    The session may be in any state, also erased. Its answers stay. The feature can be
    charged again.
    """
    call = SessionCall("", loaded, at)
    reversal = reverse(db, service.read_entry_id(id), call, body.reason)
    fields["session"] = reversal.session_id
    return schemas.LedgerEntry.of(reversal)
