"""List calls to providers, and show one."""

from typing import NamedTuple

from askless.app.documents.buying import calls as bodies
from askless.app.records import CallState
from askless.app.store.buying import calls
from askless.app.store.database.transactions import Transaction


class CallFilter(NamedTuple):
    """A filter of calls; None: any."""

    provider: str | None = None
    session_id: str | None = None
    state: CallState | None = None


def get(db: Transaction, call_id: str) -> bodies.CallBody:
    return bodies.CallBody.model_validate(calls.get(db, call_id), by_alias=True)


def page(
    db: Transaction, limit: int, after: str | None, filters: CallFilter
) -> bodies.CallPage:
    listed = calls.page(db, limit, after, *filters)
    return bodies.CallPage.model_validate(listed)
