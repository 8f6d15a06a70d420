"""The result of a case: prediction, reasons, bill, and confirmed outcome."""

from decimal import Decimal
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import FormData

from askless.app.documents.http.ledger import LedgerPage
from askless.app.documents.http.sessions import Session
from askless.app.documents.http.terms import TermsRequest
from askless.app.documents.shape import read_shape
from askless.app.errors import NotFoundError
from askless.app.http.plumbing.auth import Called, needs
from askless.app.http.plumbing.deps import At, Changes, Loaded, ReadDb
from askless.app.pages.cases.start import parse_money
from askless.app.pages.plumbing.callers import Typed
from askless.app.pages.plumbing.frame import download, field_errors, redirect, render
from askless.app.pages.plumbing.inputs import field_text
from askless.app.service import ledger
from askless.app.service import sessions as service
from askless.app.service.sessions import outcomes
from askless.app.service.sessions.opened import (
    ErasedSession,
    OpenSession,
    SessionCall,
    find,
)
from askless.app.store.database.transactions import Transaction
from askless.app.words import case_words, trust
from askless.app.words.stops import describe_stop
from askless.core.catalogue.prices import from_micros, to_micros
from askless.core.errors import RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.session.position import Position
from askless.core.session.state import State
from askless.core.session.uses import sort_open_features

router = APIRouter(prefix="/ui/sessions", include_in_schema=False)
READS, WRITES = needs("predict"), "predict:write"


@router.get("/{id}/result", dependencies=[READS])
def show_result(
    request: Request, id: str, db: ReadDb, loaded: Loaded, at: At, caller: Called
) -> HTMLResponse:
    """Show the result of a case so far, also of an open one."""
    call = SessionCall(id, loaded, at)
    return render_result(request, db, call, may_change=WRITES in caller.scopes)


def render_result(
    request: Request,
    db: Transaction,
    call: SessionCall,
    *,
    may_change: bool,
    status: int = 200,
    **more: Any,
) -> HTMLResponse:
    """Render the page of a result; `more` is added to its context."""
    opened = find(db, call)
    bill = ledger.list_of_session(db, call.id)
    known = build_result_context(opened) | {
        "bill": bill,
        "fees": {} if isinstance(opened, ErasedSession) else map_fees(bill, opened),
        "payers": sorted({entry.key or "local user" for entry in bill.items}),
        "shown_at": call.at.now,
        "outcome": find_outcome(db, call),
        "may_change": may_change,
        "said": None,
    }
    return render(request, "result.html", status, **known | more)


def build_result_context(opened: OpenSession | ErasedSession) -> dict[str, Any]:
    """Return a session's part of the page's context."""
    session: Session = opened.view
    if isinstance(opened, ErasedSession):
        return {"session": session, "is_erased": True}
    model, state = opened.model, opened.state
    assert session.prediction is not None, "its answers were erased"
    return {
        "session": session,
        "is_erased": False,
        "model_note": model.card.get("note"),
        "meaning": case_words.explain_chance(session),
        "reasons": case_words.list_reasons(session, model),
        "unasked": case_words.list_missing(model, state),
        "error_now": trust.error_under(model, Position.of(model.ensemble, state).limit),
        "lacks_any": trust.lacks_any(model.ensemble, state),
        "reliability": trust.describe_reliability(model, state, session.prediction),
        "aim_told": trust.describe_aim(model, session),
        "larger": case_words.list_larger_budgets(model, state),
        "is_ended": state.is_ended,
        "has_others": has_other_open(model.ensemble, state),
        "stop_words": describe_stop(model.ensemble, state),
        "target": model.target_title,
        "titles": {
            feature.name: feature.title for feature in model.ensemble.catalogue.features
        },
        "classes": [(label.label, label.display) for label in model.ensemble.classes],
        "displays": {label.label: label.display for label in model.ensemble.classes},
    }


def has_other_open(ensemble: Ensemble, state: State) -> bool:
    """Return whether a feature other than the asked one may be answered."""
    return any(
        idx != state.next_feature_idx
        for idx in sort_open_features(ensemble, state).offered
    )


def map_fees(bill: LedgerPage, opened: OpenSession) -> dict[str, tuple[str, float]]:
    """Return the group and the fee that a charge includes, by the entry's id.

    If a charge with a fee is reversed, the next charge of its group has the fee.
    """
    catalogue = opened.model.ensemble.catalogue
    groups = {priced.name: priced for priced in catalogue.groups if priced.fee}
    fees = {}
    for entry in bill.items:
        group = groups.get(entry.group or "")
        if group is None or entry.kind != "charge":
            continue
        cost = catalogue.features[catalogue.feature_idxs[entry.feature]].cost
        if to_micros(entry.amount) >= cost + group.fee:
            fees[entry.id] = (group.label or group.name, from_micros(group.fee))
    return fees


def find_outcome(db: Transaction, call: SessionCall) -> Any:
    """Return the confirmed outcome of a case; None if there is none."""
    try:
        return outcomes.get(db, call)
    except NotFoundError:
        return None


@router.get("/{id}/session.json", dependencies=[READS])
def download_session(id: str, db: ReadDb, loaded: Loaded, at: At) -> Response:
    """Return the document of `GET /predict/{id}` as a download."""
    view = service.get(db, SessionCall(id, loaded, at))
    return download(f"{view.id}.json", view.model_dump_json(indent=1))


@router.post("/{id}/more", dependencies=[READS])
async def raise_budget(
    request: Request, id: str, form: Typed, change: Changes, loaded: Loaded, at: At
) -> Response:
    """Raise the budget, and continue the session."""
    call = SessionCall(id, loaded, at)
    try:
        terms = read_shape(TermsRequest, {"budget": read_budget(form)}, "terms")
        return await change(
            lambda db: service.change_terms(db, call, terms),
            lambda opened: redirect(f"/ui/sessions/{opened.session.id}"),
        )
    except RefusedError as error:
        errors = {"budget": error.refusals[0].told}
        return await show_refusal(request, change, call, typed=form, errors=errors)


def read_budget(form: FormData) -> Decimal | None:
    """Return the budget in units; None: no limit."""
    text = field_text(form, "budget")
    return None if text == "none" else parse_money(text)


@router.post("/{id}/outcome", dependencies=[READS])
async def record_outcome(
    request: Request, id: str, form: Typed, change: Changes, loaded: Loaded, at: At
) -> Response:
    """Record the confirmed outcome of a case, or correct it."""
    call, label = SessionCall(id, loaded, at), str(form.get("label", ""))
    try:
        return await change(
            lambda db: outcomes.store_outcome(db, call, label),
            lambda _: redirect(f"/ui/sessions/{id}/result#outcome"),
        )
    except RefusedError as error:
        return await show_refusal(
            request, change, call, typed=form, errors=field_errors(error)
        )


async def show_refusal(
    request: Request, change: Changes, call: SessionCall, **more: Any
) -> Response:
    """Show the page again with the typed values and their errors."""
    return await change(
        lambda db: render_result(
            request, db, call, may_change=True, status=422, **more
        ),
        lambda made: made,
    )
