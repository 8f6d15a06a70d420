"""Models: the list, the card, downloads, which one is the champion, deletion."""

import json
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from starlette.concurrency import run_in_threadpool

from askless.app.errors import ConflictError, NotFoundError
from askless.app.http.plumbing.auth import Called, needs
from askless.app.http.plumbing.deps import After, At, Changes, Loaded, Now, ReadDb
from askless.app.pages.models.model_view import build_view
from askless.app.pages.plumbing.callers import Typed
from askless.app.pages.plumbing.frame import download, redirect, render
from askless.app.service import models
from askless.app.service.jobs import trainings
from askless.app.store.database.transactions import Transaction

router = APIRouter(prefix="/ui/models", include_in_schema=False)
MOST = 50
TRAIN, WRITE, TRAINS = "train:read", "models:write", "train:write"
NOTICES = {
    "champion": "It is the champion now: its name without a version means it.",
    "dethroned": "It is no champion any more: its name means the newest version.",
    "deleted": "The model is deleted. Its sessions and charges stay.",
}
Done = Annotated[str | None, Query()]


@router.get("", dependencies=[needs("models")])
def show_models(
    request: Request, db: ReadDb, after: After = None, done: Done = None
) -> HTMLResponse:
    page = models.page(db, MOST, after)
    notice = NOTICES.get(done or "")
    return render(
        request, "models.html", models=page.items, next=page.next, notice=notice
    )


@router.get("/{id}", dependencies=[needs("models")])
def show_model(
    request: Request,
    id: str,
    db: ReadDb,
    loaded: Loaded,
    caller: Called,
    done: Done = None,
) -> HTMLResponse:
    head, training = models.get_head(db, id), None
    model = models.load(db, loaded, head.id)
    if head.training_id is not None and TRAIN in caller.scopes:
        training = trainings.get(db, head.training_id)
    return render(
        request,
        "model.html",
        head=head,
        model_note=model.card.get("note"),
        view=build_view(model),
        maker=head.training_id and models.find_maker(db, head.training_id),
        versions=[
            version
            for version in models.versions(db, head.name)
            if version.id != head.id
        ],
        may_write=WRITE in caller.scopes,
        may_learn=model.learning is not None and TRAINS in caller.scopes,
        training=training,
        notice=NOTICES.get(done or ""),
    )


@router.get("/{id}/model.json", dependencies=[needs("models")])
def export_model(id: str, db: ReadDb) -> Response:
    """Return the model file, as the command line writes it."""
    stored = models.export(db, id)
    return download(f"{stored.name}-{stored.version}.model.json", stored.document)


@router.get("/{id}/spec.json", dependencies=[needs("models"), needs("train")])
def export_spec(id: str, db: ReadDb) -> Response:
    """Return the spec that a model was trained by; an imported model has none."""
    head = models.get_head(db, id)
    if head.training_id is None:
        raise NotFoundError("training")
    spec = trainings.get(db, head.training_id).spec
    text = json.dumps(spec, indent=2, ensure_ascii=False) + "\n"
    return download(f"{head.name}-{head.version}.spec.json", text)


@router.post("/{id}/champion", dependencies=[needs("models")])
async def change_champion(id: str, changes: Changes, form: Typed, now: Now) -> Response:
    """Make a model the champion of its name, or with `off` no longer."""
    is_off = "off" in form

    def change(db: Transaction) -> None:
        if is_off:
            models.dethrone(db, id)
        else:
            models.crown(db, id, now)

    done = "dethroned" if is_off else "champion"
    address = f"/ui/models/{id}?done={done}"
    return await changes(change, lambda _: redirect(address))


@router.get("/{id}/delete", dependencies=[needs("models")])
def show_deletion(request: Request, id: str, db: ReadDb) -> HTMLResponse:
    return render_deletion(request, id, db)


def render_deletion(
    request: Request, id: str, db: ReadDb, refusal: str | None = None
) -> HTMLResponse:
    """Ask for confirmation, or say with status 409 why it is refused."""
    head = models.get_head(db, id)
    status = 200 if refusal is None else 409
    return render(request, "model_delete.html", status, head=head, refusal=refusal)


@router.post("/{id}/delete", dependencies=[needs("models")])
async def delete_model(
    request: Request, id: str, db: ReadDb, changes: Changes, at: At
) -> Response:
    try:
        return await changes(
            lambda db: models.delete(db, id, at),
            lambda _: redirect("/ui/models?done=deleted"),
        )
    except ConflictError as error:
        return await run_in_threadpool(render_deletion, request, id, db, str(error))
