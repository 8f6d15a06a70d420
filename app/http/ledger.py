"""Routes of the ledger."""

from fastapi import APIRouter

from app.http.deps import After, Limit, LogFields, ReadDb
from app.http.schemas import predictions as schemas
from app.service import ledger as service

router = APIRouter(tags=["ledger"])


@router.get("/predict/{id}/ledger", summary="Charges of a session, oldest first")
def of_session(id: str, db: ReadDb, fields: LogFields) -> schemas.LedgerPage:
    """Every charge and reversal of a session, erased ones included."""
    fields["session"] = id
    return schemas.LedgerPage.model_validate(service.of_session(db, id))


@router.get("/ledger", summary="All charges, newest first")
def page(db: ReadDb, limit: Limit = 50, after: After = None) -> schemas.LedgerPage:
    return schemas.LedgerPage.model_validate(service.page(db, limit, after))
