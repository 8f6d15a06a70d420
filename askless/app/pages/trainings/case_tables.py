"""The page that makes a table of closed cases, to train on."""

from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from askless.app.documents.http.datasets import CasesRequest
from askless.app.documents.shape import read_shape
from askless.app.errors import LimitError, NotFoundError
from askless.app.http.datasets import CASE_SCOPE, collect_cases
from askless.app.http.plumbing.auth import Called, needs
from askless.app.http.plumbing.days import day_end, day_start
from askless.app.http.plumbing.deps import (
    At,
    Changes,
    Loaded,
    Now,
    ReadDb,
    Uploads,
    show_now,
)
from askless.app.http.plumbing.turns import read_in_turn
from askless.app.pages.plumbing.callers import Typed
from askless.app.pages.plumbing.frame import field_errors, redirect, render
from askless.app.pages.plumbing.inputs import field_text, read_days
from askless.app.pages.trainings.datasets import WRITE
from askless.app.records import Caller
from askless.app.service import datasets
from askless.app.service.loop.cases import count_known
from askless.core.errors import Refusal, RefusedError

router = APIRouter(prefix="/ui/datasets", include_in_schema=False)
FIELDS = ("of", "from", "to")
#: Fields of the request by those of the form.
NAMES = {"cases_of": "of", "since": "from", "until": "to"}


@router.get("/cases", dependencies=[needs("datasets")])
def show_form(request: Request, db: ReadDb, caller: Called) -> HTMLResponse:
    return render_form(request, db, caller)


def render_form(
    request: Request, db: Any, caller: Caller, status: int = 200, **more: Any
) -> HTMLResponse:
    """Show the form, with the number of cases of each model's name."""
    may_make = {WRITE, CASE_SCOPE} <= caller.scopes
    counts = count_known(db) if CASE_SCOPE in caller.scopes else {}
    known = {
        "may_make": may_make,
        "choices": [(name, choice_text(name, n)) for name, n in counts.items()],
    }
    return render(request, "case_table.html", status, **known, **more)


def choice_text(name: str, n_cases: int) -> str:
    return f"{name}: {n_cases:,} closed case{'' if n_cases == 1 else 's'}"


def parse_request(typed: dict[str, str]) -> CasesRequest:
    """Return the request that a form makes; raise RefusedError by its fields."""
    refusals: list[Refusal] = []
    if not typed.get("of"):
        refusals.append(Refusal("of", "must be chosen"))
    days = read_days(typed, refusals)
    if refusals:
        raise RefusedError(refusals)
    raw = {"cases_of": typed["of"]}
    if "from" in days:
        raw["since"] = day_start(days["from"]).isoformat()
    if "to" in days:
        raw["until"] = day_end(days["to"]).isoformat()
    return read_shape(CasesRequest, raw, "of")


@router.post("/cases", dependencies=[needs("datasets")])
async def store_case_table(
    request: Request,
    form: Typed,
    loaded: Loaded,
    at: At,
    blobs: Uploads,
    changes: Changes,
    now: Now,
) -> Response:
    """Make and store a table; show a refusal at its field."""
    caller = changes.caller
    typed = {name: field_text(form, name) for name in FIELDS}
    typed = {name: text for name, text in typed.items() if text}
    try:
        read = parse_request(typed)
        act = partial(collect_cases, request, caller, loaded, read, at)
        table = await read_in_turn(request, act)
        return await changes(
            lambda db: datasets.store(db, blobs, table, now),
            lambda made: redirect(f"/ui/datasets/{made.id}?done=stored"),
        )
    except RefusedError as error:
        errors = field_errors(rename_fields(error))
        status = 422
    except NotFoundError:
        errors, status = {"of": "There is no such model any more."}, 404
    except LimitError as error:
        errors, status = {"of": str(error)}, 409
    more = {"typed": typed, "errors": errors}
    return await show_now(
        request,
        caller.tenant_id,
        lambda db: render_form(request, db, caller, status, **more),
    )


def rename_fields(error: RefusedError) -> RefusedError:
    """Return a refusal by the fields of the form."""
    return RefusedError(
        [
            Refusal(NAMES.get(refusal.field, refusal.field), refusal.rule)
            for refusal in error.refusals
        ]
    )
