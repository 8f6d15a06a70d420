"""Sessions that a tenant keeps no longer: erased as by their caller."""

from datetime import timedelta

from app.records import Moment, PredictSession
from app.service.predictions.expiry import see
from app.store import retries, sessions
from app.store.transactions import Transaction

SOME = 200


def erase_old(db: Transaction, at: Moment, kept: timedelta) -> int:
    """Erase the tenant's sessions that were closed so long ago; return how many.

    The oldest ones first, some at a time; a session that expired was closed then.
    """
    before, after, n_erased = at.now - kept, None, 0
    while True:
        found = sessions.unchanged_since(db, before, after, SOME)
        for session in found:
            if is_over(session, at, kept):
                sessions.erase(db, session.id, at.now)
                retries.remove_of_session(db, session.id)
                n_erased += 1
        if len(found) < SOME:
            return n_erased
        after = found[-1]


def is_over(session: PredictSession, at: Moment, kept: timedelta) -> bool:
    """Whether a session is closed, and was so long enough."""
    seen = see(session, at)
    return seen.state == "closed" and at.now - seen.updated_at > kept
