"""Ordering a training: choose a table and a target, set prices, check, start."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from io import BytesIO
from pathlib import PurePath
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from askless.app.documents.text import parse_spec
from askless.app.errors import ConflictError, LimitError
from askless.app.http.plumbing.auth import needs, require_scope
from askless.app.http.plumbing.deps import After, Changer, Changes, Now, read_again
from askless.app.http.plumbing.orders import Desk, OrderDesk, TableOrder
from askless.app.http.plumbing.retries import Retry
from askless.app.http.plumbing.turns import read_in_turn
from askless.app.pages.plumbing.callers import Typed
from askless.app.pages.plumbing.environment import TOKEN
from askless.app.pages.plumbing.frame import download, errors_of, render, see_other
from askless.app.pages.trainings.spec_forms import begin_form, fill_prices, read_form
from askless.app.pages.trainings.training_form import ask_target, plain_text, show_form
from askless.app.records import StoredDataset
from askless.app.service import datasets
from askless.app.service.datasets import IsWanted
from askless.app.service.jobs import trainings
from askless.app.uploads.parsing import DraftedTable, TableSource
from askless.app.uploads.price_tables import read_prices
from askless.core.errors import Refusal, RefusedError

router = APIRouter(prefix="/ui/train/new", include_in_schema=False)
MOST = 50
DEFAULT_NAME = "model"
# The form shows what a table holds, so callers need this scope.
SEES = "datasets:read"
# Actions on a spec as a text.
AS_TEXT = ("check-spec", "start-spec")


@router.get("", dependencies=[needs("train"), needs("datasets")])
async def show_page(
    request: Request,
    desk: Desk,
    dataset: str = "",
    target: str = "",
    after: After = None,
) -> Response:
    """Show the tables, the columns to predict of one of them, or the whole form."""
    if not dataset:
        page = await read_again(
            request, desk.tenant_id, lambda db: datasets.page(db, MOST, after)
        )
        return render(request, "train_tables.html", found=page)
    table = await read_again(
        request, desk.tenant_id, lambda db: datasets.get(db, dataset)
    )
    if not target:
        return ask_target(request, table)
    try:
        drafted = await draft_table(request, desk, table, target)
    except RefusedError as error:
        return ask_target(request, table, error)
    typed = begin_form(drafted, table.columns)
    return show_form(request, table, drafted, typed)


async def draft_table(
    request: Request, desk: OrderDesk, table: StoredDataset, target: str
) -> DraftedTable:
    """Draft a spec for a stored table; raise RefusedError if `target` can't be used."""
    name = PurePath(table.name).name.split(".")[0].strip() or DEFAULT_NAME

    def draft(is_wanted: IsWanted) -> DraftedTable:
        with desk.open_db() as db:
            stored = datasets.open_source(db, request.app.state.blobs, table.id)
        with stored as source:
            drafted: DraftedTable = desk.reader.draft(source, target, name, is_wanted)
            return drafted

    return await read_in_turn(request, draft)


@router.post("", dependencies=[needs("train")])
async def act_on_form(
    request: Request, form: Typed, desk: Desk, changes: Changes, now: Now
) -> Response:
    """Do the pressed button's action; show the form again, or redirect."""
    require_scope(changes.caller, SEES)
    typed = {name: text for name, text in form.items() if isinstance(text, str)}
    key = typed.get("dataset", "")
    table = await read_again(request, desk.tenant_id, lambda db: datasets.get(db, key))
    is_text = typed.get("action", "") in AS_TEXT
    change_once = changes._replace(retry=form_retry(request, typed))
    more: dict[str, Any] = {}
    status = 200
    done: trainings.Order | Response | None
    try:
        if is_text:
            more |= {"as_text": True, "spec": typed.get("spec", "")}
            done = await act_on_text(typed, table, desk, change_once, now)
        else:
            done = await act_on_fields(typed, table, desk, change_once, now)
        if isinstance(done, Response):
            return done
        more["checked"] = done and done.table
    except RefusedError as error:
        more["errors"], status = errors_of(error), 422
    except (LimitError, ConflictError) as error:
        more["refusal"], status = str(error), 409
    drafted = await draft_table(request, desk, table, typed.get("target", ""))
    begun = begin_form(drafted, table.columns) if is_text else {}
    return show_form(request, table, drafted, begun | typed, status, **more)


async def act_on_fields(
    typed: dict[str, str],
    table: StoredDataset,
    desk: OrderDesk,
    change_once: Changer,
    now: datetime,
) -> trainings.Order | Response | None:
    """Do the action of a button on the form's fields: fill in, save, check or start.

    Returns None once prices are filled into `typed`, a response for "save" and "start",
    and else the checked order. Raises RefusedError whose refusals name the form's
    fields.
    """
    action = typed.get("action")
    if action == "fill":
        fill_form_fields(typed, table)
        return None
    read = read_form(typed, table.columns)
    try:
        if action == "save" and not read.refusals:
            return download("spec.json", plain_text(read.spec))
        order = await check_order(desk, table, read.spec)
        if read.refusals:
            # The `except` clause below adds the refusals of unreadable fields.
            raise RefusedError(())
    except RefusedError as error:
        refusals = [
            replace(refusal, field=read.field_of(refusal.field))
            for refusal in error.refusals
        ]
        raise RefusedError([*read.refusals, *refusals]) from None
    if action == "start":
        return await start_training(change_once, order, table, now)
    return order


async def act_on_text(
    typed: Mapping[str, str],
    table: StoredDataset,
    desk: OrderDesk,
    change_once: Changer,
    now: datetime,
) -> trainings.Order | Response:
    """Check or start with a pasted spec; refusals are shown at its one field."""
    try:
        order = await check_order(desk, table, parse_spec(typed.get("spec", "")))
    except RefusedError as error:
        raise RefusedError([Refusal("spec", words_of(error))]) from None
    is_start = typed["action"] == "start-spec"
    return await start_training(change_once, order, table, now) if is_start else order


def words_of(error: RefusedError) -> str:
    return "; ".join(f"{refusal.field}: {refusal.told}" for refusal in error.refusals)


def fill_form_fields(typed: dict[str, str], table: StoredDataset) -> None:
    """Fill the pasted prices into their fields.

    `typed` is changed. Raises RefusedError at the field of the pasted prices.
    """
    text = typed.get("prices", "").strip()
    if not text:
        raise RefusedError([Refusal("prices", "must have a header and a row")])
    names = [name for name in table.columns if name != typed.get("target")]
    try:
        prices = read_prices(BytesIO(text.encode()), names)
    except RefusedError as error:
        raise RefusedError([Refusal("prices", words_of(error))]) from None
    fill_prices(typed, table.columns, prices)


async def check_order(
    desk: OrderDesk, table: StoredDataset, spec: Mapping[str, Any]
) -> trainings.Order:
    """Check a spec with its table.

    Raises RefusedError with every broken rule.
    """

    def check(stream: TableSource, is_wanted: IsWanted) -> Any:
        return trainings.check(desk.reader, raw, stream, is_wanted)

    # The desk takes the id out before the spec is checked.
    raw = {**spec, "dataset_id": table.id}
    prepared = await desk.read(TableOrder(b"", None), raw, check)
    order: trainings.Order = prepared.order
    return order


def form_retry(request: Request, typed: Mapping[str, str]) -> Retry:
    """Return the retry by which a form sent twice starts one training."""
    fields = sorted((name, text) for name, text in typed.items() if name != TOKEN)
    digest = sha256(repr(fields).encode()).hexdigest()
    return Retry(request, f"form {digest}", digest)


async def start_training(
    change_once: Changer, order: trainings.Order, table: StoredDataset, now: datetime
) -> Response:
    """Enqueue a training, once even if the form is sent twice; redirect to its page."""
    return await change_once(
        lambda db: trainings.start(db, order, table.id, now),
        lambda training: see_other(f"/ui/train/{training.id}"),
    )
