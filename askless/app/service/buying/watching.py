"""Watch the calls to providers: name what has changed, once."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

import numpy as np

from askless.app.logs import log
from askless.app.records import StoredCall
from askless.app.service.buying.calling.verdicts import CACHE, EMPTY, NOT_SENT
from askless.app.store.buying import calls, providers
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.prices import from_micros
from askless.core.model.shifts import MOST_CALLS, Shift, Trace, list_shifts

CallEnd = Literal["answer", "miss", "failure", "in_doubt", "cached"]
#: Reasons that say more of a call than its state does.
TELLING = (EMPTY, CACHE, NOT_SENT)
ANSWERED = ("answer", "miss")
#: A provider is looked at again so long after its last call.
LOOKED_FOR = timedelta(minutes=10)
Change = dict[str, Any]


def list_called(db: Transaction, now: datetime) -> list[tuple[str, str]]:
    """Return the tenants and names of providers that were called of late."""
    return calls.list_called(db, now - LOOKED_FOR)


def classify_call(state: str, reason: str | None, attempts: int) -> CallEnd | None:
    """Return how a call has ended; None: it never left."""
    if reason == NOT_SENT:
        return None
    if attempts == 0 and reason in (EMPTY, CACHE):
        return "cached"
    if state == "settled":
        return "answer"
    if state == "in_doubt":
        return "in_doubt"
    return "miss" if state == "missed" and reason == EMPTY else "failure"


class Latency(NamedTuple):
    """The times within which half of some answers came, and 95 % of them."""

    p50_ms: float
    p95_ms: float
    n_answers: int


def learn_latency(listed: Sequence[StoredCall]) -> Latency | None:
    """Return how long the answers of a provider take; None: none was timed.

    A call that failed at its time limit says nothing of how long answers take.
    """
    times = [
        call.latency_ms
        for call in listed
        if call.latency_ms is not None
        and classify_call(call.state, call.reason, call.attempts) in ANSWERED
    ]
    if not times:
        return None
    p50_ms, p95_ms = np.quantile(times, (0.5, 0.95)).tolist()
    return Latency(p50_ms, p95_ms, len(times))


def list_changes(listed: Sequence[StoredCall]) -> list[Change]:
    """Return what the calls of runs, the oldest first, say has changed.

    Tests are not cases, and calls that a crash has cut off (no attempt is known) say
    nothing of the provider.
    """
    made = [call for call in listed if call.session_id is not None and call.attempts]
    ends = [classify_call(call.state, call.reason, call.attempts) for call in made]
    pairs = [*zip(made, ends, strict=True)]
    answers = [(call, end) for call, end in pairs if end in ANSWERED]
    settled = [call for call, end in answers if end == "answer"]
    timed = [call for call, _ in answers if call.latency_ms is not None]
    trace = Trace(
        np.array([end not in ANSWERED for end in ends], dtype=bool),
        np.array([end == "miss" for _, end in answers], dtype=bool),
        np.array([call.latency_ms for call in timed], dtype=float),
        [call.charged for call in settled],
    )
    series = {
        "failures": made,
        "misses": [call for call, _ in answers],
        "latency": timed,
        "price": settled,
    }
    return [
        describe_shift(shift, series[shift.kind][-1 - shift.n_since])
        for shift in list_shifts(trace)
    ]


def describe_shift(shift: Shift, call: StoredCall) -> Change:
    """Return a change as it is stored and reported; money in units."""
    before, after = shift.before, shift.after
    if shift.kind == "price":
        before, after = from_micros(round(before)), from_micros(round(after))
    return {
        "kind": shift.kind,
        "before": before,
        "after": after,
        "calls_before": shift.n_before,
        "calls_after": shift.n_after,
        "named_at": (call.ended_at or call.created_at).isoformat(),
    }


def find_news(db: Transaction, name: str) -> list[Change] | None:
    """Return what has changed of a provider; None: that is stored already."""
    changes = list_changes(calls.list_newest(db, name, MOST_CALLS))
    stored = providers.find(db, name)
    is_known = stored is None or [*(stored.changes or ())] == changes
    return None if is_known else changes


def note(db: Transaction, name: str, changes: list[Change]) -> None:
    """Store what has changed of a provider, and log what was not named before."""
    stored = providers.find_locked(db, name)
    if stored is None:
        return
    known = {change["kind"] for change in stored.changes or ()}
    providers.change(db, stored.id, changes=changes or None)
    for change in changes:
        if change["kind"] not in known:
            log("provider.changed", logging.WARNING, provider=name, **change)
