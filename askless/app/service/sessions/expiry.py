"""Expire sessions that were idle for too long; the next change stores that.

An open session then waits for ordered results, and is closed after another idle time.
"""

from dataclasses import replace
from datetime import datetime

from askless.app.documents.session.state import has_pending
from askless.app.records import Moment, PredictSession, SessionState
from askless.core.catalogue.catalogue import Catalogue
from askless.core.session import machine
from askless.core.session.answers import give_up_pending
from askless.core.session.state import State


def is_due(session: PredictSession, at: Moment) -> bool:
    """Return whether a session was idle for too long.

    It follows from the row and the time, so all readers agree before it is stored.
    """
    before = list_due(at).get(session.state)
    return before is not None and session.updated_at < before


def list_due(at: Moment) -> dict[str, datetime]:
    """Return by state the moment before which an idle session was changed last."""
    return {"open": at.now - at.ttl, "waiting": at.now - at.waiting_ttl}


def expire(catalogue: Catalogue, session: PredictSession, state: State) -> State:
    """Return the state of a session after it has expired."""
    if session.state == "waiting":
        state = give_up_pending(catalogue, state)
    return machine.stop(state, "expired")


def expired_row(
    session: PredictSession, state: SessionState, at: Moment
) -> PredictSession:
    """Return a session's row in a new state, changed at the time it expired."""
    ttl = at.ttl if session.state == "open" else at.waiting_ttl
    return replace(
        session,
        state=state,
        version=session.version + 1,
        updated_at=session.updated_at + ttl,
    )


def apply_expiry(session: PredictSession, at: Moment) -> PredictSession:
    """Return a session's row, expired as often as it is due."""
    while session.document is not None and is_due(session, at):
        waits = session.state == "open" and has_pending(session.document)
        session = expired_row(session, "waiting" if waits else "closed", at)
    return session
