"""Providers: the list with their state, a form of JSON, a paid test, and deleting."""

import json
import re
import secrets
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from askless.app.documents.buying.provider_bodies import ProviderTest
from askless.app.documents.buying.providers import EXAMPLE, PROVIDER_NAME, Provider
from askless.app.documents.buying.report_bodies import CallDay
from askless.app.documents.shape import read_shape
from askless.app.documents.text import parse_json
from askless.app.errors import ConflictError, ReplayedError
from askless.app.http.plumbing.auth import Called, needs, require_scope
from askless.app.http.plumbing.buying.trials import Trial
from askless.app.http.plumbing.deps import (
    After,
    Changes,
    Loaded,
    Now,
    ReadDb,
    show_now,
)
from askless.app.http.providers import Rules
from askless.app.pages.plumbing.callers import Typed, make_once
from askless.app.pages.plumbing.frame import field_errors, redirect, render
from askless.app.pages.plumbing.inputs import field_text
from askless.app.service.buying import providers as service
from askless.app.service.buying import reports
from askless.app.service.buying.calling import trials
from askless.app.service.loaded import LoadedModels
from askless.app.store.database.transactions import Transaction
from askless.app.words.charts.book_charts import draw_days_chart
from askless.app.words.wording import money
from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.errors import Refusal, RefusedError

router = APIRouter(prefix="/ui/providers", include_in_schema=False)
ADDRESS = "/ui/providers"
WRITE = "providers:write"
PAGE_SIZE = 50
LAST_CALLS = 10
# A chart of fewer days says less than their table.
LEAST_DAYS = 3
NAME_RULE = "must be of a-z, 0-9, _, . and -, and begin with a letter or digit"
NOTICES = {
    "put": "The provider is stored.",
    "deleted": "The provider is deleted. What its calls cost stays.",
    "sent": "That form was sent before, so nobody was called a second time. The list "
    "of calls says how the first call ended; its values are stored nowhere.",
}


@router.get("", dependencies=[needs("providers")])
def show_providers(
    request: Request,
    db: ReadDb,
    caller: Called,
    rules: Rules,
    now: Now,
    after: After = None,
) -> HTMLResponse:
    page = service.page(db, PAGE_SIZE, after, now)
    calls = service.page_of_calls(db, LAST_CALLS, None, service.CallFilter())
    return render(
        request,
        "providers.html",
        rows=[(provider, provider.describe_state(now)) for provider in page.items],
        next=page.next and f"{ADDRESS}?after={page.next}",
        calls=calls.items,
        hosts=rules.hosts,
        may_write=WRITE in caller.scopes,
        document=write_document(EXAMPLE),
        notice=NOTICES.get(request.query_params.get("done", "")),
    )


@router.post("", dependencies=[needs("providers")])
async def put_provider(
    request: Request, form: Typed, changes: Changes, rules: Rules, now: Now
) -> Response:
    """Add a provider, or replace the one that has the name."""
    name = field_text(form, "name")
    try:
        provider = read_provider(name, field_text(form, "document"))
        return await changes(
            lambda db: service.put(db, rules, name, provider, now),
            lambda _: redirect(f"{ADDRESS}/{name}?done=put"),
        )
    except RefusedError as error:
        errors = dict(field_errors(error))
        shown = {"name": errors.pop("name")} if "name" in errors else {}
        # All rules of the document stand at its one field.
        broken = [f"{field} {rule}" for field, rule in errors.items()]
        shown |= {"document": "; ".join(broken[:5])} if broken else {}
        return render(
            request,
            "provider_form.html",
            422,
            typed=form,
            document=field_text(form, "document"),
            errors=shown,
        )


def read_provider(name: str, text: str) -> Provider:
    """Read the provider of a form; RefusedError names the form's fields."""
    if not re.fullmatch(PROVIDER_NAME, name):
        raise RefusedError([Refusal("name", NAME_RULE)])
    return read_shape(Provider, parse_json(text, "document"), "")


@router.get("/{id}", dependencies=[needs("providers")])
def show_provider(
    request: Request, id: str, db: ReadDb, loaded: Loaded, caller: Called, now: Now
) -> HTMLResponse:
    view = make_view(db, loaded, id, now)
    view["may_write"] = WRITE in caller.scopes
    view["notice"] = NOTICES.get(request.query_params.get("done", ""))
    return render(request, "provider.html", **view)


def make_view(
    db: Transaction, loaded: LoadedModels, name: str, now: datetime
) -> dict[str, Any]:
    """Return the context of a provider's page, for somebody who may change it."""
    provider = service.get(db, name, now)
    filters, document = service.CallFilter(provider=name), provider.strip_state()
    report = reports.report(db, loaded, name, now)
    spent, unit = [(day.day, day.spent) for day in report.days], report.unit or ""
    return {
        "report": report,
        "changes": [change.describe(unit) for change in report.changes],
        "rows": [list_cells(day, unit) for day in reversed(report.days)],
        "svg": draw_days_chart(spent, unit, "day") if len(spent) >= LEAST_DAYS else "",
        "provider": provider,
        "state": provider.describe_state(now),
        "warnings": service.warn(db, loaded, document),
        "document": write_document(document),
        "keys": provider.request.keys,
        "calls": service.page_of_calls(db, LAST_CALLS, None, filters).items,
        "number": secrets.token_hex(16),
        "may_write": True,
        "notice": None,
        "conflict": None,
        "tried": None,
    }


def list_cells(day: CallDay, unit: str) -> list[str]:
    """Return the cells of a day in the table of its page."""
    counts = day.calls, day.answers, day.misses, day.failures, day.in_doubt, day.cached
    spent = money(day.spent * MICROS_PER_UNIT, unit)
    return [f"{day.day}", *(f"{count:,}" for count in counts), spent]


@router.post("/{id}/test", dependencies=[needs("providers")])
async def test_provider(
    request: Request,
    id: str,
    form: Typed,
    changes: Changes,
    loaded: Loaded,
    rules: Rules,
    now: Now,
) -> Response:
    """Call a provider once; show what was read in this response only."""
    number = field_text(form, "number")
    trial = Trial(changes, rules, trials.TrialPlace(loaded, rules.secrets, now))
    prefix = "keys."
    texts = {
        field.removeprefix(prefix): field_text(form, field)
        for field in form
        if field.startswith(prefix) and field_text(form, field)
    }
    more: dict[str, Any]
    try:
        body = read_shape(ProviderTest, {"keys": texts}, "")
        order = await changes.work_alone(
            lambda db: make_once(
                db, number, now, lambda: trials.prepare(db, trial.place, id, body.keys)
            )
        )
        tried = await trial.send(order, request.app.state.clock)
        status, more = 200, {"tried": tried, "values": list_values(tried)}
    except ReplayedError:
        return redirect(f"{ADDRESS}/{id}?done=sent")
    except RefusedError as error:
        status, more = 422, {"typed": form, "errors": field_errors(error)}
    except ConflictError as error:
        if error.kind != "conflict":
            raise
        status, more = 409, {"typed": form, "conflict": str(error)}
    view = await show_now(
        request,
        changes.caller.tenant_id,
        lambda db: make_view(db, loaded, id, now),
    )
    return render(request, "provider.html", status, **view | more)


def list_values(tried: trials.TriedCall) -> list[tuple[str, str, str]]:
    """Return feature, value as the provider wrote it, and what is wrong with it."""
    return [
        (
            name,
            json.dumps(value, ensure_ascii=False)[:200],
            tried.refusals.get(name, ""),
        )
        for name, value in tried.values.items()
    ]


@router.get("/{id}/delete", dependencies=[needs("providers")])
def show_deletion(
    request: Request, id: str, db: ReadDb, caller: Called, now: Now
) -> HTMLResponse:
    require_scope(caller, WRITE)
    return render(request, "provider_delete.html", provider=service.get(db, id, now))


@router.post("/{id}/delete", dependencies=[needs("providers")])
async def delete_provider(id: str, form: Typed, changes: Changes) -> Response:
    del form
    return await changes(
        lambda db: service.delete(db, id),
        lambda _: redirect(f"{ADDRESS}?done=deleted"),
    )


def write_document(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False)
