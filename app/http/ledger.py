"""Routes of the ledger."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse
from sqlalchemy import Engine as SqlEngine

from app.documents.http import ledger as schemas
from app.http.plumbing.auth import Called
from app.http.plumbing.contract import problems
from app.http.plumbing.days import Day, begin, day, end
from app.http.plumbing.deps import (
    AfterEntry,
    At,
    Db,
    Engine,
    Limit,
    Loaded,
    LogFields,
    ReadDb,
    reading,
    require_distinct,
)
from app.http.plumbing.retries import RetriedRoute
from app.records import LedgerFilter
from app.service import ledger as service
from app.service.sessions.opened import SessionCall
from app.service.sessions.reversals import reverse as reverse_charge

router = APIRouter(tags=["ledger"], route_class=RetriedRoute)
CSV = "text/csv"
# Entries that a file is written by at a time.
CHUNK = 1000
AS_FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {CSV: {"schema": {"type": "string"}}}}
}


Key = Annotated[str, Query(min_length=1, max_length=40, pattern=r"^[^\x00]*$")]


async def get_meant(
    model: Key | None = None,
    session: Key | None = None,
    key: Key | None = None,
    unit: Annotated[str | None, Query(max_length=200, pattern=r"^[^\x00]*$")] = None,
    since: Annotated[Day | None, day("from")] = None,
    until: Annotated[Day | None, day("to")] = None,
) -> LedgerFilter:
    """Filter entries: those for which all of these hold."""
    first = None if since is None else begin(since)
    last = None if until is None else end(until)
    return LedgerFilter(model, session, key, unit, first, last)


Meant = Annotated[LedgerFilter, Depends(get_meant)]


@router.get(
    "/predict/{id}/ledger",
    operation_id="list_session_charges",
    summary="Charges of a session, oldest first",
)
def of_session(id: str, db: ReadDb, fields: LogFields) -> schemas.LedgerPage:
    """Every charge and reversal of a session, erased ones included."""
    found = service.of_session(db, id)
    # Now it is known to be an id.
    fields["session"] = id
    return found


@router.get(
    "/ledger",
    response_model=schemas.LedgerPage,
    responses=AS_FILE,
    operation_id="list_charges",
    summary="All charges, newest first",
)
def page(
    request: Request,
    db: ReadDb,
    engine: Engine,
    caller: Called,
    filters: Meant,
    format: Annotated[
        Literal["json", "csv"] | None,
        Query(description="`csv`: a file of all entries. Or ask by `Accept`."),
    ] = None,
    limit: Limit = 50,
    after: AfterEntry = None,
) -> schemas.LedgerPage | Response:
    """Charges and reversals, by model, session, key, unit and day, with their sums."""
    wants_file = format is None and CSV in request.headers.get("accept", "")
    if format != "csv" and not wants_file:
        return service.page(db, limit, after, filters)
    headers = {"Content-Disposition": 'attachment; filename="ledger.csv"'}
    lines = write_file(engine, caller.tenant_id, filters)
    return StreamingResponse(lines, media_type=CSV, headers=headers)


def write_file(
    engine: SqlEngine, tenant_id: str, filters: LedgerFilter
) -> Iterator[str]:
    """Yield all entries that pass as CSV; no transaction outlasts a part."""
    yield service.csv_head()
    after = None
    while True:
        with reading(engine, tenant_id) as db:
            found = service.entries(db, CHUNK, after, filters)
        yield service.csv_of(found.items)
        after = found.next
        if after is None:
            return


@router.post(
    "/ledger/{id}/reverse",
    status_code=201,
    dependencies=[Depends(require_distinct)],
    openapi_extra=problems("already-reversed", "not-a-charge"),
    operation_id="reverse_charge",
    summary="Reverse a charge",
)
def reverse(
    id: str,
    body: schemas.ReversalRequest,
    db: Db,
    loaded: Loaded,
    at: At,
    fields: LogFields,
) -> schemas.LedgerEntry:
    """Take back one charge, all of it; what its session has spent is lowered.

    Sessions of any state, erased ones too. What was answered stays. The feature can be
    charged again.
    """
    call = SessionCall("", loaded, at)
    made = reverse_charge(db, service.find_number(id), call, body.reason)
    fields["session"] = made.session_id
    return schemas.LedgerEntry.of(made)
