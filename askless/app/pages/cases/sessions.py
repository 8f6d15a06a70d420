"""Cases: the list of sessions, and one question on each page."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import FormData

from askless.app.documents.http.doubts import Doubt
from askless.app.documents.http.sessions import AnswersRequest, GivenAnswer
from askless.app.documents.http.terms import TermsRequest
from askless.app.errors import ConflictError, NotFoundError
from askless.app.http.plumbing.auth import needs
from askless.app.http.plumbing.deps import (
    At,
    Changer,
    Changes,
    Loaded,
    ReadDb,
    show_now,
)
from askless.app.pages.cases.asking import describe_session
from askless.app.pages.cases.results import render_result
from askless.app.pages.cases.start import parse_money
from askless.app.pages.plumbing.callers import Typed
from askless.app.pages.plumbing.frame import field_errors, redirect, render
from askless.app.pages.plumbing.inputs import field_text, read_typed
from askless.app.service import sessions as service
from askless.app.service.sessions import answering, checks
from askless.app.service.sessions.opened import (
    ErasedSession,
    OpenSession,
    SessionCall,
    find,
    find_open,
)
from askless.app.store.database.transactions import Transaction
from askless.app.words.wording import money
from askless.core.errors import (
    ClosedError,
    CoreError,
    OverBudgetError,
    Refusal,
    RefusedError,
    UselessAnswerError,
)
from askless.core.session.uses import sort_open_features

GIVEN = ("value", "unavailable", "refused", "unknown", "ordered")
EMPTY_RULE = 'Choose an answer, or press "Refused" or another button'


def read_answers(
    form: FormData, call: SessionCall, db: Transaction
) -> list[GivenAnswer]:
    """Return the answers of a form: of its feature, and of others in its bundle.

    Other features that are left empty are still pending. If a button gives an outcome
    without a value, that is the only answer. Raises ClosedError for an erased session,
    NotFoundError for an unknown feature or outcome, and RefusedError with every value
    that can't be read.
    """
    opened = find_open(db, call)
    catalogue = opened.model.ensemble.catalogue
    asked = first_feature(form)
    outcome = field_text(form, "insist") or field_text(form, "outcome")
    if asked not in catalogue.feature_idxs or outcome not in GIVEN:
        raise NotFoundError("feature" if outcome in GIVEN else "outcome")
    if outcome != "value":
        return [GivenAnswer(feature=asked, outcome=outcome)]  # type: ignore[arg-type]  # one of GIVEN
    answers, refusals = [], []
    for name in dict.fromkeys((asked, *form.getlist("feature"))):
        if name not in catalogue.feature_idxs:
            continue
        field = f"value.{name}"
        # `other` is the field to type a category that is not among the choices.
        text = field_text(form, f"other.{name}") or field_text(form, field)
        if not text and name != asked:
            continue
        feature = catalogue.features[catalogue.feature_idxs[str(name)]]
        if not text:
            refusals.append(Refusal(field, EMPTY_RULE))
            continue
        try:
            value = read_typed(feature, text, field)
            answers.append(GivenAnswer(feature=name, outcome="value", value=value))
        except RefusedError as error:
            refusals += error.refusals
    if refusals:
        raise RefusedError(refusals)
    return answers


def is_insistent(form: FormData) -> bool:
    """Return whether `insist` repeats the outcome of a useless answer."""
    return bool(field_text(form, "insist"))


def first_feature(form: FormData) -> str:
    """Return a form's first feature, the asked one; others of its bundle follow."""
    names = form.getlist("feature")[:1]
    return names[0] if names and isinstance(names[0], str) else ""


def sign_answers(answers: list[GivenAnswer]) -> str:
    """Return a signature of answers; a form that holds it confirms them."""
    return ";".join(answer.model_dump_json() for answer in answers)


router = APIRouter(prefix="/ui/sessions", include_in_schema=False)
STALE = (
    "This form was out of date: the case has changed since. Nothing was taken or "
    "charged. Here is what is asked now."
)
UNREAD = "Not taken from the record, since the form of the result can't be read"
CLOSED = "The session takes no more answers. Nothing was taken or charged."
OR_ANOTHER = ", or answer another feature"
USELESS = (
    "This answer can't be used: nothing that the model asks depends on it. It was not "
    "charged."
)


class OddError(Exception):
    """Doubtful values, which a user must confirm before they are charged.

    A form that sends the answers' `signature` back confirms them.
    """

    def __init__(self, doubts: list[Doubt], signature: str) -> None:
        super().__init__()
        self.doubts, self.signature = doubts, signature


FIELDS = ("budget",)


async def get_page_call(id: str, loaded: Loaded, at: At) -> SessionCall:
    return SessionCall(id, loaded, at)


Call = Annotated[SessionCall, Depends(get_page_call)]


@router.get("/{id}", dependencies=[needs("predict")])
def show_question(
    request: Request,
    db: ReadDb,
    call: Call,
    unread: Annotated[tuple[str, ...], Query()] = (),
    feature: str = "",
    on: str = "",
) -> Response:
    """Show the current question; with `on` also past the advice to stop.

    A case that is over, or should be, shows its result. A session that buys by itself
    has a page of its own until a person answers. `unread` are features whose results a
    record has in a form that can't be read.
    """
    opened = find(db, call)
    if isinstance(opened, ErasedSession):
        return render(request, "erased.html", view=opened.view)
    is_run = opened.run is not None and opened.run.state != "released"
    if is_run and not feature and not on:
        return redirect(f"/ui/sessions/{call.id}/receipt")
    catalogue = opened.model.ensemble.catalogue
    if feature and feature not in catalogue.feature_idxs:
        raise NotFoundError("feature")
    if not feature and (has_ended(opened) or (opened.view.should_stop and not on)):
        return redirect(f"/ui/sessions/{call.id}/result")
    titles = [item.title for item in catalogue.features if item.name in unread]
    notice = f"{UNREAD}: {', '.join(titles)}." if titles else None
    return show_case(
        request, opened, feature or None, is_going_on=bool(on), said=notice
    )


def has_ended(opened: OpenSession) -> bool:
    return opened.session.state == "closed" or opened.state.is_ended


def show_case(
    request: Request,
    opened: OpenSession,
    feature: str | None,
    status: int = 200,
    *,
    is_going_on: bool = False,
    **more: Any,
) -> HTMLResponse:
    """Show a question and the case so far; `more` overrides the context."""
    described = describe_session(opened, feature)
    known: dict[str, Any] = {
        "model_note": opened.model.card.get("note"),
        "is_ended": has_ended(opened),
        "is_going_on": is_going_on,
        "doubts": {},
        "confirmed": "",
        "insists": False,
        "useless": "",
        "said": None,
        "labels": {"budget": "Budget"}
        | {
            f"value.{facts.name}": facts.title
            for facts in described["features"].values()
        },
    }
    return render(request, "question.html", status, **{**known, **described, **more})


@router.post("/{id}/answers", dependencies=[needs("predict")])
async def answer_question(
    request: Request, form: Typed, changes: Changes, call: Call
) -> Any:
    """Store answers; a doubtful value must be confirmed before it is charged."""

    def store_answers(db: Any) -> object:
        answers = read_answers(form, call, db)
        # The page asks again for what training did not see.
        body = AnswersRequest(
            answers=answers, insist=is_insistent(form), accept_unseen=True
        )
        signed = sign_answers(answers)
        if form.get("confirmed") != signed:
            doubts = checks.check(db, call, body).warnings
            version = field_text(form, "version")
            # If the session has changed since, the version is refused below instead.
            if doubts and str(find(db, call).view.version) == version:
                raise OddError(list(doubts), signed)
        return answering.answer(db, limit_to_version(call, form), body)

    return await change_or_show_refusal(request, form, changes, call, store_answers)


@router.post("/{id}/stop", dependencies=[needs("predict")])
async def stop_session(
    request: Request, form: Typed, changes: Changes, call: Call
) -> Any:
    def end(db: Any) -> object:
        return service.stop(db, limit_to_version(call, form))

    return await change_or_show_refusal(request, form, changes, call, end)


@router.post("/{id}/terms", dependencies=[needs("predict")])
async def change_terms(
    request: Request, form: Typed, changes: Changes, call: Call
) -> Any:
    """Raise or lower the budget, never below what is spent."""

    def set_terms(db: Any) -> object:
        is_free = field_text(form, "unlimited") == "yes"
        budget = None if is_free else parse_money(field_text(form, "budget"))
        terms = TermsRequest.model_validate({"budget": budget})
        return service.change_terms(db, limit_to_version(call, form), terms)

    return await change_or_show_refusal(request, form, changes, call, set_terms)


def limit_to_version(call: SessionCall, form: FormData) -> SessionCall:
    """Return a call that may change only the version that the form shows."""
    text = field_text(form, "version")
    is_number = text.isascii() and text.isdecimal() and len(text) < 10
    return call._replace(versions=frozenset({int(text)} if is_number else ()))


async def change_or_show_refusal(
    request: Request,
    form: FormData,
    changes: Changer,
    call: SessionCall,
    act: Callable[[Any], object],
) -> Response:
    """Change a session and redirect to it; if refused, show its page as it is now."""
    # `on`: the user goes on past the advice to stop; stopping ends that.
    is_going_on = field_text(form, "on") and not request.url.path.endswith("/stop")
    address = f"/ui/sessions/{call.id}" + ("?on=1" if is_going_on else "")
    try:
        return await changes(act, lambda _: redirect(address))
    except (CoreError, OddError) as error:
        # Python forgets `error` after the clause.
        caught: Exception = error
    except ConflictError as error:
        # Only another answer that came first can be seen on the page.
        if error.kind != "version-mismatch":
            raise
        caught = error
    return await show_now(
        request,
        changes.caller.tenant_id,
        lambda db: show_refusal(request, db, call, form, caught),
    )


def show_refusal(
    request: Request,
    db: Transaction,
    call: SessionCall,
    form: FormData,
    error: Exception,
) -> Response:
    """Show the session as it is now, with the reason why nothing was changed."""
    opened = find(db, call)
    if isinstance(opened, ErasedSession):
        return render(request, "erased.html", 409, view=opened.view)
    if isinstance(error, ConflictError | ClosedError):
        notice = STALE if isinstance(error, ConflictError) else CLOSED
        if has_ended(opened):
            return render_result(
                request, db, call, may_change=True, status=409, said=notice
            )
        return show_case(request, opened, None, 409, said=notice)
    feature = first_feature(form)
    is_known = feature in opened.model.ensemble.catalogue.feature_idxs
    return show_case(
        request,
        opened,
        feature if is_known else None,
        422,
        typed=form,
        is_going_on=bool(field_text(form, "on")),
        **describe_refusal(error, form, opened),
    )


def describe_refusal(
    error: Exception, form: FormData, opened: OpenSession
) -> dict[str, Any]:
    """Return the template's context for a refused answer or budget."""
    if isinstance(error, OddError):
        return {
            "doubts": {doubt.feature: doubt for doubt in error.doubts},
            "confirmed": error.signature,
            "insists": is_insistent(form),
        }
    if isinstance(error, UselessAnswerError):
        return {
            "confirmed": field_text(form, "confirmed"),
            "said": USELESS,
            "useless": field_text(form, "outcome"),
        }
    if isinstance(error, OverBudgetError):
        return {"said": describe_over_budget(error, opened)}
    assert isinstance(error, RefusedError), "nothing else is caught"
    return {"errors": errors_by_field(error, form)}


def describe_over_budget(error: OverBudgetError, opened: OpenSession) -> str:
    """Return a message with the price, the remaining budget and a way out."""
    unit = opened.session.unit
    others = sort_open_features(opened.model.ensemble, opened.state).offered
    return (
        f"This costs {money(error.price, unit)}, and {money(error.remaining, unit)} of "
        "the budget is left. Nothing was charged. Raise the budget below"
        f"{OR_ANOTHER if others else ''}."
    )


def errors_by_field(error: RefusedError, form: FormData) -> dict[str, str]:
    """Return broken rules by the field of the page that shows them.

    A rule about no field of the page is shown at the question.
    """
    by_field = {}
    for name, rule in field_errors(error).items():
        is_field = name in FIELDS or name.startswith("value.")
        by_field[name if is_field else f"value.{first_feature(form)}"] = rule
    return by_field
