"""The list of cases, with what each of them predicts now."""

from collections.abc import Sequence

from fastapi import APIRouter, Request
from fastapi.responses import Response

from askless.app.documents.fields import STORABLE_RULE, is_storable
from askless.app.http.plumbing.auth import needs
from askless.app.http.plumbing.deps import After, At, Loaded, ReadDb
from askless.app.pages.plumbing.frame import render
from askless.app.records import PredictSession, SessionFilter
from askless.app.service.sessions import lists
from askless.app.words.wording import describe_age
from askless.core.errors import Refusal, RefusedError

router = APIRouter(prefix="/ui/sessions", include_in_schema=False)
STATES = ("open", "waiting", "closed")
FILTERED = ("state", "model", "client_ref")
MOST = 25


@router.get("", dependencies=[needs("predict")])
def show_sessions(
    request: Request, db: ReadDb, loaded: Loaded, at: At, after: After = None
) -> Response:
    """List sessions, newest first; an empty field filters nothing.

    On the first page those that wait for results stand on top.
    """
    typed = {
        filter_name: request.query_params.get(filter_name, "").strip()
        for filter_name in FILTERED
    }
    wrong = [name for name, text in typed.items() if not is_storable(text)]
    if wrong:
        raise RefusedError(Refusal(name, STORABLE_RULE) for name in wrong)
    state = typed["state"] if typed["state"] in STATES else None
    filters = SessionFilter(state, typed["model"] or None, typed["client_ref"] or None)  # type: ignore[arg-type]  # one of STATES
    page = lists.rows(db, MOST, after, at, filters)
    waiting: Sequence[PredictSession] = ()
    if after is None and state is None:
        only = filters._replace(state="waiting")
        waiting = lists.rows(db, MOST, None, at, only).items
    ids = {session.id for session in waiting}
    others = [session for session in page.items if session.id not in ids]
    following = None
    if page.next is not None:
        following = str(request.url.include_query_params(after=page.next).query)
    return render(
        request,
        "sessions.html",
        waiting=lists.list_with_predictions(db, loaded, waiting),
        cases=lists.list_with_predictions(db, loaded, others),
        age=lambda since: describe_age(at.now - since),
        typed=typed,
        next=following,
    )
