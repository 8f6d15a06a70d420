"""Erase sessions that are older than their tenant keeps them."""

from datetime import timedelta

from app.records import Moment
from app.service.sessions.expiry import see
from app.store import retries, sessions
from app.store.database.transactions import Transaction

SOME = 200


def erase_old(db: Transaction, at: Moment, kept: timedelta) -> int:
    """Erase the tenant's sessions that were closed so long ago; return how many.

    The oldest ones first, some at a time; a session that expired was closed then.
    """
    before, after, n_erased = at.now - kept, None, 0
    while True:
        found = sessions.unchanged_since(db, before, after, SOME)
        for session in found:
            seen = see(session, at)
            if seen.state == "closed" and seen.updated_at < before:
                sessions.erase(db, seen, at.now)
                retries.remove_of_session(db, session.id)
                n_erased += 1
        if len(found) < SOME:
            return n_erased
        after = found[-1]
