"""List sessions; those that are due to expire are shown as expired."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from askless.app.documents.http import sessions as bodies
from askless.app.documents.session.state import parse_state
from askless.app.records import Moment, Page, PredictSession, SessionFilter
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions.expiry import apply_expiry
from askless.app.service.sessions.views import summary_of
from askless.app.store import models, sessions
from askless.app.store.database.transactions import Transaction
from askless.app.words.wording import describe_prediction
from askless.core.session import machine


def page(
    db: Transaction, limit: int, after: str | None, at: Moment, filters: SessionFilter
) -> bodies.SessionPage:
    """Return a page of a filter's sessions, newest first."""
    stored = rows(db, limit, after, at, filters)
    names = models.map_names(db, {session.model_id for session in stored.items})
    return bodies.SessionPage(
        items=[
            summary_of(session, names[session.model_id]) for session in stored.items
        ],
        next=stored.next,
    )


def rows(
    db: Transaction, limit: int, after: str | None, at: Moment, filters: SessionFilter
) -> Page[PredictSession]:
    """Return a page of a filter's sessions as they are stored, newest first."""
    rows_and_next = list(
        islice(find_sessions(db, limit + 1, after, at, filters), limit + 1)
    )
    following = (
        sessions.write_session_cursor(rows_and_next[limit - 1])
        if len(rows_and_next) > limit
        else None
    )
    return Page(tuple(rows_and_next[:limit]), following)


def find_referred(
    db: Transaction, client_ref: str, at: Moment
) -> PredictSession | None:
    """Return the newest session of a reference, which is locked in any case.

    If several callers start a session of one reference at once, only one is started.
    """
    sessions.lock_reference(db, client_ref)
    referred = rows(db, 1, None, at, SessionFilter(None, None, client_ref)).items
    return referred[0] if referred else None


class ListedSession(NamedTuple):
    """A session in a list for people."""

    summary: bodies.SessionSummary
    #: class and its chance, as things stand; "" once the answers are erased
    now: str
    #: titles of the features whose results are still to come
    pending: tuple[str, ...]


def list_with_predictions(
    db: Transaction, loaded: LoadedModels, listed: Sequence[PredictSession]
) -> list[ListedSession]:
    """Return sessions with what they predict.

    A model is parsed once for all its sessions, and not at all if it is in memory.
    """
    names = models.map_names(db, {session.model_id for session in listed})
    listed_sessions = []
    for session in listed:
        summary = summary_of(session, names[session.model_id])
        if session.document is None:
            listed_sessions.append(ListedSession(summary, "", ()))
            continue
        ensemble = loaded.get(db, session.model_id, session.price_list_id).ensemble
        features = ensemble.catalogue.features
        state, _ = parse_state(session.document, ensemble.catalogue)
        prediction = describe_prediction(ensemble, machine.forecast(ensemble, state))
        pending = tuple(features[idx].title for idx in state.pending)
        listed_sessions.append(
            ListedSession(
                summary, prediction, pending if session.state != "closed" else ()
            )
        )
    return listed_sessions


def summaries(db: Transaction, ids: Iterable[str]) -> dict[str, bodies.SessionSummary]:
    listed = sessions.list_by_ids(db, ids)
    names = models.map_names(db, {session.model_id for session in listed})
    return {
        session.id: summary_of(session, names[session.model_id]) for session in listed
    }


def find_sessions(
    db: Transaction, n_rows: int, after: str | None, at: Moment, filters: SessionFilter
) -> Iterator[PredictSession]:
    """Yield a filter's sessions, reading `n_rows` at a time.

    A session that is due to expire has another state than its row says.
    """
    # The shorter time, so that no session which may have expired is left out.
    is_due_since = at.now - min(at.ttl, at.waiting_ttl)
    while True:
        page_rows = sessions.page(db, n_rows, after, filters, is_due_since)
        for session in page_rows.items:
            current = apply_expiry(session, at)
            if filters.state in (None, current.state):
                yield current
        after = page_rows.next
        if after is None:
            return
