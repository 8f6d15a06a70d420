"""The challenge of a champion: how it stands, how one begins, and how it ends."""

from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from askless.app.documents.http.challenges import Challenge
from askless.app.documents.http.models import ModelHead as ModelBody
from askless.app.errors import ConflictError, NotFoundError
from askless.app.http.challenges import REFRESH_SCOPES, Workplace, prepare_refresh
from askless.app.http.plumbing.auth import Called, needs
from askless.app.http.plumbing.deps import At, Changes, Loaded, Now, ReadDb, show_now
from askless.app.http.plumbing.turns import read_in_turn
from askless.app.pages.plumbing.callers import Typed
from askless.app.pages.plumbing.frame import field_errors, redirect, render
from askless.app.service import models
from askless.app.service.loaded import LoadedModels
from askless.app.service.loop import challenges, refreshes, standings
from askless.app.store.database.transactions import Transaction
from askless.app.words.charts.book_charts import PlottedGap, draw_gap_chart
from askless.core.errors import RefusedError

router = APIRouter(prefix="/ui/models", include_in_schema=False)
WRITE = "models:write"
NOTICES = {
    "begun": "The training of a challenger is in the queue.",
    "ended": "The challenge has ended. The champion stays.",
}
# A chart of fewer looks says less than its sentence.
LEAST_LOOKS = 3
Done = Annotated[str | None, Query()]


@router.get("/{id}/challenge", dependencies=[needs("models")])
def show_challenge(
    request: Request,
    id: str,
    db: ReadDb,
    loaded: Loaded,
    caller: Called,
    done: Done = None,
) -> HTMLResponse:
    """Show the challenge of a model's name, and the form that begins one."""
    page = collect_page(db, loaded, id, caller.scopes)
    notice = NOTICES.get(done or "")
    return render(request, "challenge.html", notice=notice, **page)


def collect_page(
    db: Transaction, loaded: LoadedModels, key: str, scopes: frozenset[str]
) -> dict[str, Any]:
    """Return the context of the challenge page."""
    head = models.get_head(db, key)
    challenge: Challenge | None = None
    # Where there was none yet, the page says how one begins.
    with suppress(NotFoundError):
        challenge = standings.show_challenge(db, loaded, head.id)
    meant = refreshes.get_current_model(db, head.id)
    may_write = WRITE in scopes
    return {
        "head": ModelBody.model_validate(head),
        "champion": ModelBody.model_validate(meant),
        "found": challenge,
        "choice": choose_by_verdict(challenge),
        "chart": None if challenge is None else draw_gaps(challenge),
        "refusal": None,
        "may_write": may_write,
        "may_begin": may_write
        and all(refresh_scope in scopes for refresh_scope in REFRESH_SCOPES),
    }


def choose_by_verdict(challenge: Challenge | None) -> Literal["promote", "keep"] | None:
    """Return what the verdict of an open challenge speaks for; None while it is out."""
    if challenge is None or challenge.state != "playing" or challenge.loss is None:
        return None
    if challenge.better_after is not None:
        return "promote"
    _, high = challenge.loss.difference.interval
    return "keep" if high <= challenge.rule.margin else None


def draw_gaps(challenge: Challenge) -> str | None:
    if len(challenge.looks) < LEAST_LOOKS:
        return None
    gaps = [
        PlottedGap(look.cases, look.difference, look.low, look.high)
        for look in challenge.looks
    ]
    return draw_gap_chart(gaps, challenge.rule.margin)


async def prepare_from_form(
    id: str, request: Request, caller: Called, place: Workplace, at: At, form: Typed
) -> refreshes.PreparedRefresh | Exception:
    """Join the tables of a refresh, or return why that is refused."""
    rule = refreshes.StatedRule(0.05, 0.0, is_by_rule=form.get("promote") == "by_rule")
    order = refreshes.RefreshOrder(id, rule)
    act = partial(prepare_refresh, request, caller, place, order, at)
    try:
        return await read_in_turn(request, act)
    except (ConflictError, RefusedError) as error:
        return error


@router.post("/{id}/challenge", dependencies=[needs("models")])
async def begin_challenge(
    request: Request,
    id: str,
    changes: Changes,
    loaded: Loaded,
    caller: Called,
    place: Workplace,
    now: Now,
    prepared: Annotated[
        refreshes.PreparedRefresh | Exception, Depends(prepare_from_form)
    ],
) -> Response:
    """Begin the training of a challenger; say on the page what stands in the way."""
    try:
        if isinstance(prepared, Exception):
            raise prepared
        return await changes(
            lambda db: refreshes.begin_refresh(db, place.blobs, prepared, now),
            lambda _: redirect(f"/ui/models/{id}/challenge?done=begun"),
        )
    except (ConflictError, RefusedError) as error:
        refusal, status = str(error), 409
        if isinstance(error, RefusedError):
            rules = field_errors(error).items()
            refusal, status = " ".join(f"{name}: {rule}." for name, rule in rules), 422
        page = await show_now(
            request,
            caller.tenant_id,
            lambda db: collect_page(db, loaded, id, caller.scopes),
        )
        page["refusal"] = refusal
        return render(request, "challenge.html", status, **page)


@router.get("/{id}/challenge/end", dependencies=[needs("models")])
def confirm_end(request: Request, id: str, db: ReadDb, loaded: Loaded) -> HTMLResponse:
    challenge = standings.show_challenge(db, loaded, id)
    return render(request, "challenge_end.html", found=challenge, id=id)


@router.post("/{id}/challenge/end", dependencies=[needs("models")])
async def end_challenge(id: str, changes: Changes, now: Now) -> Response:
    address = f"/ui/models/{id}/challenge?done=ended"
    return await changes(
        lambda db: challenges.stop_challenge(db, id, now), lambda _: redirect(address)
    )


@router.get("/{id}/challenge/promote", dependencies=[needs("models")])
def confirm_promotion(
    request: Request, id: str, db: ReadDb, loaded: Loaded
) -> HTMLResponse:
    """Ask once more; the form goes to the address that makes any model champion."""
    challenge = standings.show_challenge(db, loaded, id)
    return render(
        request,
        "challenge_promote.html",
        found=challenge,
        choice=choose_by_verdict(challenge),
        id=id,
    )
