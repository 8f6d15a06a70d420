"""Routes of challenges: train a challenger on new cases, see how it stands."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from askless.app.documents.http import challenges as schemas
from askless.app.http.plumbing.auth import Called, require_scope
from askless.app.http.plumbing.contract import problem_docs
from askless.app.http.plumbing.deps import (
    At,
    Db,
    Loaded,
    Now,
    ReadDb,
    Reader,
    ReplaysEarly,
    Uploads,
    read_db,
    require_distinct,
)
from askless.app.http.plumbing.retries import RetriedRoute
from askless.app.http.plumbing.turns import read_in_turn
from askless.app.records import Caller, Moment
from askless.app.service.datasets import IsWanted
from askless.app.service.loop import challenges as service
from askless.app.service.loop import refreshes, standings

router = APIRouter(prefix="/models", tags=["challenges"], route_class=RetriedRoute)
# Beside models:write, since a refresh makes a table of sessions and trains on it.
REFRESH_SCOPES = ("train:write", "predict:read")


async def get_workplace(
    loaded: Loaded, reader: Reader, blobs: Uploads
) -> refreshes.Workplace:
    return refreshes.Workplace(loaded, reader, blobs)


Workplace = Annotated[refreshes.Workplace, Depends(get_workplace)]


async def prepare_order(
    id: str,
    body: schemas.RefreshRequest,
    request: Request,
    caller: Called,
    place: Workplace,
    at: At,
) -> refreshes.PreparedRefresh:
    """Join the tables of a refresh before its transaction begins."""
    order = make_refresh_order(id, body)
    return await read_in_turn(
        request, partial(prepare_refresh, request, caller, place, order, at)
    )


def make_refresh_order(
    key: str, body: schemas.RefreshRequest
) -> refreshes.RefreshOrder:
    rule, is_by_rule = body.rule, body.rule.promote == "by_rule"
    stated = refreshes.StatedRule(rule.alpha, rule.margin, is_by_rule)
    return refreshes.RefreshOrder(key, stated, body.since)


def prepare_refresh(
    request: Request,
    caller: Caller,
    place: refreshes.Workplace,
    order: refreshes.RefreshOrder,
    at: Moment,
    is_wanted: IsWanted,
) -> refreshes.PreparedRefresh:
    """Prepare a refresh; the caller must be allowed all that it does."""
    for scope in REFRESH_SCOPES:
        require_scope(caller, scope)
    with read_db(request.app.state.engine, caller.tenant_id) as db:
        return refreshes.prepare_refresh(db, place, order, at, is_wanted)


@router.post(
    "/{id}/refresh",
    status_code=202,
    dependencies=[ReplaysEarly, Depends(require_distinct)],
    openapi_extra=problem_docs("conflict", "limit-reached"),
    operation_id="refresh_model",
    summary="Train a challenger on the cases since",
)
def refresh_model(
    prepared: Annotated[refreshes.PreparedRefresh, Depends(prepare_order)],
    db: Db,
    blobs: Uploads,
    now: Now,
    response: Response,
) -> schemas.StartedRefresh:
    """Train by the champion's spec on its first table and the cases of its name since.

    An id stands for its name. What the name means becomes its champion and keeps the
    name; the new model is its challenger, which plays the champion's next cases
    silently. 409 without new cases, without the champion's first table, or while a
    challenge of the name is open. A key needs `train:write` and `predict:read`, too.
    """
    begun = refreshes.begin_refresh(db, blobs, prepared, now)
    response.headers["Location"] = f"/train/{begun.training.id}"
    champion = prepared.champion
    meaning = (
        f"{champion.name} goes on meaning version {champion.version}, its champion, "
        "until the challenger that this training makes is promoted."
    )
    return schemas.StartedRefresh.of(
        begun.training,
        name_will_mean=meaning,
        challenge=begun.challenge.id,
        champion=champion.id,
        cases=prepared.n_new,
    )


@router.get(
    "/{id}/challenge",
    operation_id="get_challenge",
    summary="How a challenger stands against its champion",
)
def get_challenge(id: str, db: ReadDb, loaded: Loaded) -> schemas.Challenge:
    """Show the open challenge of the model's name, else the one that ended last.

    A worker counts a case within seconds after it is closed and has an outcome. `PUT
    /models/{id}/champion` promotes the challenger, at any time.
    """
    return standings.show_challenge(db, loaded, id)


@router.delete(
    "/{id}/challenge",
    status_code=204,
    response_class=Response,
    operation_id="end_challenge",
    summary="End a challenge",
)
def end_challenge(id: str, db: Db, now: Now) -> None:
    """Keep the champion; the challenger stays as a version of the name.

    Its training is cancelled where it goes on. 404 without an open challenge.
    """
    service.stop_challenge(db, id, now)
