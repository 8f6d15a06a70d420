"""Routes of keys: a tenant's own, and never more than the caller's."""

from datetime import timedelta

from fastapi import APIRouter, Depends, Response

from askless.app.documents.http import keys as schemas
from askless.app.http.plumbing.auth import Called
from askless.app.http.plumbing.deps import (
    After,
    Db,
    Limit,
    Now,
    ReadDb,
    require_distinct,
)
from askless.app.http.plumbing.retries import RetriedRoute
from askless.app.service import keys as service

router = APIRouter(prefix="/keys", tags=["keys"], route_class=RetriedRoute)


@router.post(
    "",
    status_code=201,
    dependencies=[Depends(require_distinct)],
    operation_id="create_key",
    summary="Make a key",
)
def create_key(
    body: schemas.KeyRequest, caller: Called, db: Db, now: Now, response: Response
) -> schemas.NewKey:
    """Make a key of the caller's tenant. Only this response has its secret."""
    expires_at = None if body.days is None else now + timedelta(days=body.days)
    request = service.Wish(
        body.name,
        tuple(body.scopes),
        {str(name): most for name, most in body.limits.items()},
        expires_at,
    )
    created = service.create_delegated_key(db, caller, request, now)
    response.headers["Location"] = f"/keys/{created.key.id}"
    response.headers["Cache-Control"] = "no-store"
    return schemas.NewKey.of(created.key, token=created.token)


@router.get("", operation_id="list_keys", summary="List keys, newest first")
def list_keys(db: ReadDb, limit: Limit = 50, after: After = None) -> schemas.KeyPage:
    return schemas.KeyPage.model_validate(service.page(db, limit, after))


@router.get("/{id}", operation_id="get_key", summary="Show a key")
def get_key(id: str, db: ReadDb) -> schemas.Key:
    return schemas.Key.model_validate(service.get(db, id))


@router.delete(
    "/{id}",
    status_code=204,
    response_class=Response,
    operation_id="revoke_key",
    summary="Revoke a key",
)
def revoke_key(id: str, db: Db, now: Now, caller: Called) -> None:
    """End a key's validity, within seconds in every process; it stays in the list.

    Only a key that the caller could have made: 403 if it has a scope more.
    """
    service.revoke_delegated_key(db, caller, id, now)
