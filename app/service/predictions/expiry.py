"""Sessions that were idle for too long: seen as expired, stored so on a change."""

from dataclasses import replace

from app.records import Moment, PredictSession, SessionState


def is_due(session: PredictSession, at: Moment) -> bool:
    """Whether an open session was idle for too long.

    The row and the time say it to every reader alike; it is stored on the next change.
    """
    idle = at.now - session.updated_at
    return session.state == "open" and idle > at.ttl


def expired_row(
    session: PredictSession, state: SessionState, at: Moment
) -> PredictSession:
    return replace(
        session,
        state=state,
        version=session.version + 1,
        updated_at=session.updated_at + at.ttl,
    )
