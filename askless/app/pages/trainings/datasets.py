"""Pages of tables: list, upload, facts of one table, deletion."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool

from askless.app.errors import ConflictError, LimitError
from askless.app.http.plumbing.auth import Called, needs
from askless.app.http.plumbing.deps import (
    After,
    Changes,
    Now,
    ReadDb,
    Reader,
    Uploads,
    show_now,
)
from askless.app.http.plumbing.turns import read_in_turn
from askless.app.pages.plumbing.callers import Typed
from askless.app.pages.plumbing.frame import redirect, render
from askless.app.pages.plumbing.inputs import get_uploaded_table
from askless.app.records import Caller, StoredDataset
from askless.app.service import datasets
from askless.core.errors import Refusal, RefusedError

router = APIRouter(prefix="/ui/datasets", include_in_schema=False)
MOST = 50
# Most broken rules of a table that are shown at once.
MOST_RULES = 5
FIELD = "dataset"
WRITE, TRAIN = "datasets:write", "train:write"
NOTICES = {
    "stored": "The table is stored.",
    "deleted": "The table is deleted. Models that were trained on it stay.",
}
Done = Annotated[str | None, Query()]


@router.get("", dependencies=[needs("datasets")])
def list_datasets(
    request: Request, db: ReadDb, caller: Called, after: After = None, done: Done = None
) -> HTMLResponse:
    return render_list(request, db, caller, after, notice=NOTICES.get(done or ""))


def render_list(
    request: Request,
    db: Any,
    caller: Caller,
    after: str | None = None,
    status: int = 200,
    **more: Any,
) -> HTMLResponse:
    page = datasets.page(db, MOST, after)
    known: dict[str, Any] = {
        "found": page,
        "may_write": WRITE in caller.scopes,
        "most_bytes": request.app.state.settings.max_upload_bytes,
        "notice": None,
    }
    return render(request, "datasets.html", status, **{**known, **more})


@router.post("", dependencies=[needs("datasets")])
async def upload(
    request: Request,
    form: Typed,
    reader: Reader,
    blobs: Uploads,
    changes: Changes,
    now: Now,
) -> Response:
    """Store a table; show a refusal at its field."""
    try:
        part = get_uploaded_table(form, "table")
        act = partial(datasets.read_upload, reader, part.filename, part.file)
        table = await read_in_turn(request, act)
        return await changes(
            lambda db: datasets.store(db, blobs, table, now),
            lambda made: redirect(f"/ui/datasets/{made.id}?done=stored"),
        )
    except RefusedError as error:
        errors, status = {FIELD: refusal_sentences(error.refusals)}, 422
    except LimitError as error:
        errors, status = {FIELD: str(error)}, 409
    caller = changes.caller
    return await show_now(
        request,
        caller.tenant_id,
        lambda db: render_list(request, db, caller, status=status, errors=errors),
    )


def refusal_sentences(refusals: Sequence[Refusal]) -> str:
    sentences = [refusal_sentence(refusal) for refusal in refusals[:MOST_RULES]]
    n_more = len(refusals) - len(sentences)
    sentences += [f"And {n_more} more."] if n_more > 0 else []
    return " ".join(sentences)


def refusal_sentence(refusal: Refusal) -> str:
    start = f"{refusal.field}: "
    if refusal.field == "table":
        start = "The table " if refusal.told.startswith("must ") else ""
    text = f"{start}{refusal.told}."
    return text[0].upper() + text[1:]


@router.get("/{id}", dependencies=[needs("datasets")])
def show_dataset(
    request: Request, id: str, db: ReadDb, caller: Called, done: Done = None
) -> HTMLResponse:
    return render(
        request,
        "dataset.html",
        dataset=datasets.get(db, id),
        may_write=WRITE in caller.scopes,
        may_train=TRAIN in caller.scopes,
        notice=NOTICES.get(done or ""),
    )


@router.get("/{id}/delete", dependencies=[needs("datasets")])
def show_deletion(request: Request, id: str, db: ReadDb) -> HTMLResponse:
    return render_deletion(request, id, db)


def render_deletion(
    request: Request, id: str, db: Any, refusal: str | None = None
) -> HTMLResponse:
    """Ask for confirmation, or say with status 409 why it is refused."""
    dataset = datasets.get(db, id)
    status = 200 if refusal is None else 409
    return render(
        request, "dataset_delete.html", status, dataset=dataset, refusal=refusal
    )


@router.post("/{id}/delete", dependencies=[needs("datasets")])
async def delete_dataset(
    request: Request, id: str, db: ReadDb, changes: Changes, blobs: Uploads
) -> Response:
    def respond(deleted: StoredDataset) -> Response:
        answer = redirect("/ui/datasets?done=deleted")
        # After the response, and so after the commit.
        answer.background = BackgroundTask(blobs.remove, deleted.blob)
        return answer

    try:
        return await changes(lambda db: datasets.delete(db, id), respond)
    except ConflictError as error:
        return await run_in_threadpool(render_deletion, request, id, db, str(error))
