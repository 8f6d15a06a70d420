"""List sessions; those that are due to expire are shown as expired."""

from collections.abc import Iterator
from itertools import islice

from app.documents.http import sessions as bodies
from app.records import Moment, PredictSession, SessionFilter
from app.service.sessions.expiry import apply_expiry
from app.service.sessions.views import summary_of
from app.store import models, sessions
from app.store.database.transactions import Transaction


def page(
    db: Transaction, limit: int, after: str | None, at: Moment, filters: SessionFilter
) -> bodies.SessionPage:
    """Return a page of a filter's sessions, newest first."""
    found = list(islice(find_sessions(db, limit + 1, after, at, filters), limit + 1))
    names = models.names(db, {session.model_id for session in found})
    shown = found[:limit]
    return bodies.SessionPage(
        items=[summary_of(one, names[one.model_id]) for one in shown],
        next=sessions.cursor(shown[-1]) if len(found) > limit else None,
    )


def find_sessions(
    db: Transaction, n_rows: int, after: str | None, at: Moment, filters: SessionFilter
) -> Iterator[PredictSession]:
    """Yield a filter's sessions, reading `n_rows` at a time.

    A session that is due to expire has another state than its row says.
    """
    # The shorter time, so that no session which may have expired is left out.
    is_due_since = at.now - min(at.ttl, at.waiting_ttl)
    while True:
        found = sessions.page(db, n_rows, after, filters, is_due_since)
        for session in found.items:
            current = apply_expiry(session, at)
            if filters.state in (None, current.state):
                yield current
        after = found.next
        if after is None:
            return
