"""Erase sessions that are older than their tenant keeps them."""

from datetime import timedelta

from askless.app.records import Moment
from askless.app.service.sessions.expiry import apply_expiry
from askless.app.store import retries, sessions
from askless.app.store.database.transactions import Transaction

SOME = 200


def erase_old(db: Transaction, at: Moment, kept: timedelta) -> int:
    """Erase the tenant's sessions closed for longer than `kept`; return how many.

    They are read oldest first, `SOME` at a time; an expired one was closed then.
    """
    before, after, n_erased = at.now - kept, None, 0
    while True:
        batch = sessions.unchanged_since(db, before, after, SOME)
        for session in batch:
            current = apply_expiry(session, at)
            if current.state == "closed" and current.updated_at < before:
                sessions.erase(db, current, at.now)
                retries.remove_of_session(db, session.id)
                n_erased += 1
        if len(batch) < SOME:
            return n_erased
        after = batch[-1]
