"""The events of runs, made of their calls: one for each that has ended."""

from collections import defaultdict
from collections.abc import Mapping

from askless.app.records import JobEvent, StoredCall
from askless.app.store.buying import calls, runs
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.prices import from_micros

list_ended = runs.list_ended
CALL, ENDED = "call", "ended"
SHOWN = (
    *("number", "provider", "features", "state", "unit", "reason", "latency_ms"),
    *("before", "after"),
)


def list_events(
    db: Transaction, numbers: Mapping[str, int]
) -> dict[str, tuple[JobEvent, ...]]:
    """Return the events of runs of any tenant after known numbers.

    Numbers have no gap: a run has one call on its way at a time, so that its ended
    calls come in order, and its end comes last.
    """
    ids = list(numbers)
    events: dict[str, list[JobEvent]] = defaultdict(list)
    for call in calls.list_ended(db, ids):
        assert call.session_id is not None, "calls of sessions"
        listed = events[call.session_id]
        at = call.ended_at or call.created_at
        listed.append(JobEvent(len(listed) + 1, at, CALL, show_call(call)))
    for session_id, at in runs.list_ended(db, ids).items():
        listed = events[session_id]
        listed.append(JobEvent(len(listed) + 1, at, ENDED, {}))
    return {key: tuple(events[key][number:]) for key, number in numbers.items()}


def show_call(call: StoredCall) -> dict[str, object]:
    """Return what an event says of a call: no value, no key."""
    shown = {name: getattr(call, name) for name in SHOWN}
    return shown | {"charged": from_micros(call.charged)}
