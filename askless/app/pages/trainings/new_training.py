"""Ordering a training: choose a table and a target, fill in the form, check, start."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from io import BytesIO
from pathlib import PurePath
from secrets import token_urlsafe
from typing import Any, get_args

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from askless.app.documents.text import parse_spec
from askless.app.errors import ConflictError, LimitError
from askless.app.http.plumbing.auth import needs, require_scope
from askless.app.http.plumbing.deps import After, Changer, Changes, Now, show_now
from askless.app.http.plumbing.orders import Desk, OrderDesk, TableOrder
from askless.app.http.plumbing.retries import Retry
from askless.app.http.plumbing.turns import read_in_turn
from askless.app.pages.plumbing.callers import Typed
from askless.app.pages.plumbing.environment import TOKEN
from askless.app.pages.plumbing.frame import download, field_errors, redirect, render
from askless.app.pages.trainings.spec_forms import (
    ROLES,
    add_groups,
    draft_form,
    fill_prices,
    group_rows,
    list_bundles,
    read_form,
)
from askless.app.records import StoredDataset
from askless.app.service import datasets
from askless.app.service.datasets import IsWanted
from askless.app.service.jobs import trainings
from askless.app.uploads.drafting import format_spec
from askless.app.uploads.parsing import DraftedTable, TableSource
from askless.app.uploads.price_tables import read_prices
from askless.core.catalogue.catalogue import FeatureType
from askless.core.errors import Refusal, RefusedError

# A line on each to choose from; more in docs/choosing.md.
ALGORITHM_WORDS = {
    "auto": "Panels; easy cases end early where that pays.",
    "panels": "For each budget the features that it buys, and how to weigh them.",
    "adaboost_bt_smoothed": "Stumps by gain and price, evened out by what was spent.",
    "adaboost_bt_greedy": "Stumps by gain for their price; cheap features first.",
    "hybrid": "Greedy at first, then smoothed.",
    "speedboost": "The loss that each unit of cost takes away decides.",
    "adaboost": "The largest edge; prices don't choose.",
    "adaboost_bt": "AdaBoost, paying each feature once; prices don't choose.",
    "adaboost_rs": "AdaBoost whose votes are drawn while the budget lasts.",
    "cascade": "Rejects most cases after cheap features; two classes.",
    "online": "Stumps from one pass over the rows; votes are drawn as above.",
    "decision_tree": "One tree that knows no prices: a yardstick.",
    "bagging": "Many trees that know no prices: a yardstick.",
    "random_forest": "Many random trees that know no prices: a yardstick.",
}
EFFORT_WORDS = {
    "fast": "Fast: a first look.",
    "standard": "Standard.",
    "thorough": "Thorough: validated on every fold.",
}
COLUMN_FIELD = re.compile(r"c(\d+)-(\w+)")
KINDS = {"fee": "a fee, once", "price": "one price for all"}
LABELS = {
    "dataset": "Table",
    "target": "What is predicted",
    "name": "Name of the model",
    "positive": "Positive class",
    "cost_unit": "Unit of costs",
    "rounds": "Rounds",
    "folds": "Folds",
    "seed": "Seed",
    "budgets": "Budgets",
    "note": "Note",
    "algorithm": "Algorithm",
    "effort": "Effort",
    "prices": "Prices",
    "spec": "Spec",
}
# Choices of the form, as pairs of value and text.
CHOICES = {
    "roles": list(ROLES.items()),
    "types": [(kind, kind) for kind in get_args(FeatureType)],
    "kinds": list(KINDS.items()),
    "algorithms": [
        (algorithm, f"{algorithm}: {text}")
        for algorithm, text in ALGORITHM_WORDS.items()
    ],
    "efforts": list(EFFORT_WORDS.items()),
}

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
        page = await show_now(
            request, desk.tenant_id, lambda db: datasets.page(db, MOST, after)
        )
        return render(request, "train_tables.html", found=page)
    table = await show_now(
        request, desk.tenant_id, lambda db: datasets.get(db, dataset)
    )
    if not target:
        return ask_target(request, table)
    try:
        drafted = await draft_table(request, desk, table, target)
    except RefusedError as error:
        return ask_target(request, table, error)
    typed = draft_form(drafted, table.columns)
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
async def handle_form(
    request: Request, form: Typed, desk: Desk, changes: Changes, now: Now
) -> Response:
    """Do the pressed button's action; show the form again, or redirect."""
    require_scope(changes.caller, SEES)
    typed = {name: text for name, text in form.items() if isinstance(text, str)}
    key = typed.get("dataset", "")
    table = await show_now(request, desk.tenant_id, lambda db: datasets.get(db, key))
    is_text = typed.get("action", "") in AS_TEXT
    change_once = changes._replace(retry=form_retry(request, typed))
    more: dict[str, Any] = {}
    status = 200
    done: trainings.Order | Response | None
    try:
        if is_text:
            more |= {"as_text": True, "spec": typed.get("spec", "")}
            done = await handle_spec_text(typed, table, desk, change_once, now)
        else:
            done = await handle_fields(typed, table, desk, change_once, now)
        if isinstance(done, Response):
            return done
        more["checked"] = done and done.table
    except RefusedError as error:
        more["errors"], status = field_errors(error), 422
    except (LimitError, ConflictError) as error:
        more["refusal"], status = str(error), 409
    drafted = await draft_table(request, desk, table, typed.get("target", ""))
    fields = draft_form(drafted, table.columns) if is_text else {}
    return show_form(request, table, drafted, fields | typed, status, **more)


async def handle_fields(
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


async def handle_spec_text(
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
        raise RefusedError([Refusal("spec", error_messages(error))]) from None
    is_start = typed["action"] == "start-spec"
    return await start_training(change_once, order, table, now) if is_start else order


def error_messages(error: RefusedError) -> str:
    return "; ".join(f"{refusal.field}: {refusal.told}" for refusal in error.refusals)


def fill_form_fields(typed: dict[str, str], table: StoredDataset) -> None:
    """Fill pasted prices into `typed`; raise RefusedError at their field."""
    text = typed.get("prices", "").strip()
    if not text:
        raise RefusedError([Refusal("prices", "must have a header and a row")])
    names = [name for name in table.columns if name != typed.get("target")]
    try:
        prices = read_prices(BytesIO(text.encode()), names)
    except RefusedError as error:
        raise RefusedError([Refusal("prices", error_messages(error))]) from None
    fill_prices(typed, table.columns, prices)


async def check_order(
    desk: OrderDesk, table: StoredDataset, spec: Mapping[str, Any]
) -> trainings.Order:
    """Check a spec with its table; raise RefusedError with every broken rule."""

    def check(stream: TableSource, is_wanted: IsWanted) -> Any:
        return trainings.check_training(desk.reader, raw, stream, is_wanted)

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
        lambda training: redirect(f"/ui/train/{training.id}"),
    )


def ask_target(
    request: Request, table: StoredDataset, error: RefusedError | None = None
) -> HTMLResponse:
    """Show the form to choose the column to predict, with errors if there are any."""
    errors = (
        {} if error is None else {"target": "; ".join(field_errors(error).values())}
    )
    typed = {"target": request.query_params.get("target", table.columns[-1])}
    return render(
        request,
        "train_target.html",
        200 if error is None else 422,
        table=table,
        pairs=[(name, name) for name in table.columns],
        typed=typed,
        errors=errors,
    )


def show_form(
    request: Request,
    table: StoredDataset,
    drafted: DraftedTable,
    typed: dict[str, str],
    status: int = 200,
    **more: Any,
) -> HTMLResponse:
    """Show the form as it was typed or drafted."""
    add_groups(typed, table.columns)
    drafts = {draft.name: (draft, sketch) for draft, sketch in drafted.columns}
    rows = [
        (number, name, *drafts[name])
        for number, name in enumerate(table.columns)
        if name in drafts
    ]
    errors = more.get("errors", {})
    known: dict[str, Any] = {
        "table": table,
        "target": typed["target"],
        "rows": rows,
        "groups": group_rows(typed, table.columns),
        "classes": drafted.labels,
        "typed": typed,
        "labels": LABELS | dict(label_fields(errors, table.columns)),
        "pairs": [(label, label) for label in drafted.labels],
        "missing_dropped": typed.get("missing_target") == "drop",
        "n_unpriced": count_unpriced(typed, table.columns),
        "shown_open": any(name.endswith("-shown") for name in errors),
        "as_text": False,
        "refusal": None,
        "once": typed.get("once") or token_urlsafe(16),
        "spec": plain_text(read_form(typed, table.columns).spec),
        "checked": None,
    }
    return render(request, "train_new.html", status, **{**CHOICES, **known, **more})


def count_unpriced(typed: Mapping[str, str], columns: Sequence[str]) -> int:
    """Return how many features have no price, bought with no bundle."""
    bundles = list_bundles(typed)
    return sum(
        typed.get(f"c{number}-role") == "feature"
        and not typed.get(f"c{number}-cost", "").strip()
        and typed.get(f"c{number}-group", "").strip() not in bundles
        for number in range(len(columns))
    )


def label_fields(
    fields: Iterable[str], columns: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the fields of columns, each with a label that names the column."""
    for field in fields:
        if match := COLUMN_FIELD.fullmatch(field):
            yield field, f"{columns[int(match[1])]}, {match[2]}"


def plain_text(spec: Mapping[str, Any]) -> str:
    """Return a spec as text, as the command line reads and writes it."""
    return format_spec(trainings.plain_spec(spec))
