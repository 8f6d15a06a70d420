"""Routes of the ledger."""

from fastapi import APIRouter

from app.documents.bodies import ledger as schemas
from app.http.deps import After, Limit, LogFields, ReadDb
from app.service import ledger as service

router = APIRouter(tags=["ledger"])


@router.get(
    "/predict/{id}/ledger",
    operation_id="list_session_charges",
    summary="Charges of a session, oldest first",
)
def of_session(id: str, db: ReadDb, fields: LogFields) -> schemas.LedgerPage:
    """Every charge and reversal of a session, erased ones included."""
    fields["session"] = id
    return service.of_session(db, id)


@router.get("/ledger", operation_id="list_charges", summary="All charges, newest first")
def page(db: ReadDb, limit: Limit = 50, after: After = None) -> schemas.LedgerPage:
    return service.page(db, limit, after)
