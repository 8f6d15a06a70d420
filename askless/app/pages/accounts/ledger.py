"""Pages of the ledger: sums, charts, entries, and reversals of charges."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from askless.app.documents.http.ledger import LedgerEntry, LedgerSum, ReversalRequest
from askless.app.documents.shape import read_shape
from askless.app.http.ledger import CSV, write_csv
from askless.app.http.plumbing.auth import Called, needs, require_scope
from askless.app.http.plumbing.days import day_end, day_start
from askless.app.http.plumbing.deps import At, Changes, Engine, Loaded, ReadDb
from askless.app.pages.plumbing.callers import Typed
from askless.app.pages.plumbing.frame import (
    download_headers,
    field_errors,
    redirect,
    render,
)
from askless.app.pages.plumbing.inputs import field_text, read_days, read_filters
from askless.app.records import LedgerEntry as Entry
from askless.app.records import LedgerFilter
from askless.app.records import LedgerSum as Sum
from askless.app.service import ledger, models
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions import lists
from askless.app.service.sessions.opened import SessionCall
from askless.app.service.sessions.reversals import reverse as reverse_charge
from askless.app.store.database.transactions import Transaction
from askless.app.words.charts.book_charts import draw_days_chart, draw_names_chart
from askless.core.catalogue.prices import from_micros
from askless.core.errors import Refusal, RefusedError

router = APIRouter(prefix="/ui/ledger", include_in_schema=False)
ADDRESS = "/ui/ledger"
WRITE = "ledger:write"
ASKED = ("from", "to", "unit", "model", "session", "key")
PREFIXES = {"model": "mdl_", "session": "ses_", "key": "key_"}
LIMIT = 50
# Most bars of a chart, whose table has all; above so many days, months are shown.
MOST_BARS, MOST_DAYS = 15, 120
# A chart has at least so many points.
LEAST_POINTS = 3
# Models whose labels are read for a page.
MOST_LABELLED = 12
MAX_TEXT = 200
TEXT_RULE = f"must have at most {MAX_TEXT} characters that can be printed"


@router.get("", dependencies=[needs("ledger")])
def show_ledger(
    request: Request, db: ReadDb, loaded: Loaded, caller: Called
) -> HTMLResponse:
    """Show sums, charts and entries; a wrong filter is refused at its field."""
    params = request.query_params
    asked, after = read_filters(params, ASKED), params.get("after")
    more: dict[str, Any] = {"asked": asked, "can_reverse": WRITE in caller.scopes}
    try:
        filters = read_filter(asked)
        page = ledger.get_page(db, LIMIT, after, filters)
    except RefusedError as error:
        return render(
            request,
            "ledger.html",
            422,
            **more,
            typed=asked,
            errors=field_errors(error),
            made=None,
        )
    books = None if after else ledger.sum_books(db, filters)
    known = collect_names(db, loaded, page.items, books)
    return render(
        request,
        "ledger.html",
        **more,
        typed=asked,
        books=books,
        shown={}
        if books is None
        else draw_charts(books, {**known["labels"], **known["titles"]}),
        **known,
        sums=[] if books is None else [LedgerSum.of(total) for total in books.sums],
        entries=[LedgerEntry.of(entry) for entry in page.items],
        has_keys=any(entry.key_id for entry in page.items),
        most_bars=MOST_BARS,
        is_first=not after,
        made=params.get("reversed"),
        query=urlencode(asked),
        next=page.next and f"{ADDRESS}?{urlencode(asked | {'after': page.next})}",
    )


def read_filter(asked: Mapping[str, str]) -> LedgerFilter:
    """Read the filter of entries; RefusedError names each wrong field."""
    refusals: list[Refusal] = []
    days = read_days(asked, refusals)
    for name, prefix in PREFIXES.items():
        # A field that is not filled in passes the check, as its bare prefix does.
        text = asked.get(name, prefix)
        if not text.startswith(prefix) or not is_plain_filter(text):
            refusals.append(Refusal(name, f"must be an id that begins with {prefix}"))
    if not is_plain_filter(asked.get("unit", "")):
        refusals.append(Refusal("unit", TEXT_RULE))
    if refusals:
        raise RefusedError(refusals)
    return LedgerFilter(
        model_id=asked.get("model"),
        session_id=asked.get("session"),
        key_id=asked.get("key"),
        unit=asked.get("unit"),
        since=day_start(days["from"]) if "from" in days else None,
        until=day_end(days["to"]) if "to" in days else None,
    )


def is_plain_filter(text: str) -> bool:
    return len(text) <= MAX_TEXT and text.isprintable()


def collect_names(
    db: Transaction,
    loaded: LoadedModels,
    entries: Sequence[Entry],
    books: ledger.Books | None,
) -> dict[str, Any]:
    """Return the displayed names of models, features and cases."""
    drawn = () if books is None else books.by_model
    used = {entry.model_id for entry in entries} | {total.common for total in drawn}
    named = models.titles(db, used).items()
    return {
        "titles": {id: f"{name}@{version}" for id, (name, version) in named},
        **label_books(db, loaded, used),
        "cases": lists.summaries(db, {entry.session_id for entry in entries}),
    }


def label_books(
    db: Transaction, loaded: LoadedModels, model_ids: Iterable[str]
) -> dict[str, dict[str, str]]:
    """Return what people read for features (`labels`) and groups, by name."""
    catalogues = [
        loaded.get(db, model_id).ensemble.catalogue
        for model_id in sorted(model_ids)[:MOST_LABELLED]
    ]
    features = (entry for catalogue in catalogues for entry in catalogue.features)
    groups = (entry for catalogue in catalogues for entry in catalogue.groups)
    return {
        "labels": merge_titles((feature.name, feature.title) for feature in features),
        "groups": merge_titles((group.name, group.label) for group in groups),
    }


def merge_titles(pairs: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Return titles by name; the name itself where it has several, or none."""
    titles: dict[str, str] = {}
    for name, title in pairs:
        shown = title or name
        titles[name] = shown if titles.setdefault(name, shown) == shown else name
    return titles


def draw_charts(books: ledger.Books, names: Mapping[str, str]) -> dict[str, Any]:
    """Return charts of one unit's sums, each with the rows of its table.

    A chart of fewer than `LEAST_POINTS` says less than its table: then it is None.
    """
    if not books.sums:
        return {}
    is_long = len(books.by_day) > MOST_DAYS
    part = "month" if is_long else "day"
    by_time = sum_by_month(books.by_day) if is_long else books.by_day
    days = [(parse_day(total.common), from_micros(total.net)) for total in by_time]
    svg = draw_days_chart(days, books.unit, part) if len(days) >= LEAST_POINTS else None
    shown: dict[str, Any] = {part: (svg, to_table_rows(by_time))}
    for noun, sums in ("model", books.by_model), ("feature", books.by_feature):
        titled = [
            replace(total, common=names.get(total.common, total.common))
            for total in sums
        ]
        # The features of a bundle beside its first one cost nothing.
        paid = [total for total in titled if total.charged or total.reversed]
        bars = [(total.common, from_micros(total.net)) for total in paid[:MOST_BARS]]
        is_drawn = len(bars) >= LEAST_POINTS
        svg = draw_names_chart(bars, books.unit, noun) if is_drawn else None
        shown[noun] = svg, to_table_rows(titled)
    return shown


def to_table_rows(sums: Iterable[Sum]) -> list[tuple[str, LedgerSum]]:
    return [(total.common, LedgerSum.of(total)) for total in sums]


def parse_day(text: str) -> date:
    """Return a day; for a month its first day."""
    return date.fromisoformat(text if len(text) > 7 else f"{text}-01")


def sum_by_month(sums: Iterable[Sum]) -> tuple[Sum, ...]:
    """Return sums by month from ordered sums by day."""
    sums_by_month: dict[str, Sum] = {}
    for total in sums:
        month = total.common[:7]
        before = sums_by_month.get(month, Sum(total.unit, 0, 0, 0, month))
        sums_by_month[month] = replace(
            before,
            entries=before.entries + total.entries,
            charged=before.charged + total.charged,
            reversed=before.reversed + total.reversed,
        )
    return tuple(sums_by_month.values())


@router.get("/ledger.csv", dependencies=[needs("ledger")])
def download(request: Request, engine: Engine, caller: Called) -> Response:
    """Return the filtered entries as CSV, as the API writes them."""
    filters = read_filter(read_filters(request.query_params, ASKED))
    lines = write_csv(engine, caller.tenant_id, filters, is_raw=False)
    return StreamingResponse(
        lines, media_type=CSV, headers=download_headers("ledger.csv")
    )


@router.get("/{id}/reverse", dependencies=[needs("ledger")])
def show_reversal(
    request: Request, id: str, db: ReadDb, caller: Called
) -> HTMLResponse:
    """Show the charge to reverse, with a form for the reason."""
    require_scope(caller, WRITE)
    return render_charge(request, db, id)


async def get_call(loaded: Loaded, at: At) -> SessionCall:
    """Return a call without a session's id: the entry to reverse names it."""
    return SessionCall("", loaded, at)


Call = Annotated[SessionCall, Depends(get_call)]


@router.post("/{id}/reverse", dependencies=[needs("ledger")])
async def reverse_entry(
    request: Request, id: str, form: Typed, db: ReadDb, changes: Changes, call: Call
) -> Response:
    """Reverse a charge, then show the entries of its session."""
    try:
        body = read_shape(ReversalRequest, {"reason": field_text(form, "reason")}, "")
    except RefusedError as error:
        more: dict[str, Any] = {
            "status": 422,
            "typed": form,
            "errors": field_errors(error),
        }
        return await run_in_threadpool(render_charge, request, db, id, **more)
    return await changes(
        lambda db: reverse_charge(db, ledger.read_entry_id(id), call, body.reason),
        lambda made: redirect(
            f"{ADDRESS}?{urlencode({'session': made.session_id, 'reversed': id})}"
        ),
    )


def render_charge(
    request: Request, db: Transaction, entry_id: str, status: int = 200, **more: Any
) -> HTMLResponse:
    entry, reversal = ledger.find_entry(db, entry_id)
    title, version = models.titles(db, [entry.model])[entry.model]
    return render(
        request,
        "reversal.html",
        status,
        entry=entry,
        reversal=reversal,
        title=f"{title}@{version}",
        **more,
    )
