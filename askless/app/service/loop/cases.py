"""Find closed cases: their sessions are closed, and their outcomes recorded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from askless.app.documents.session.state import Texts
from askless.app.records import ModelHead, Moment, PredictSession
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions.expiry import apply_expiry
from askless.app.service.sessions.opened import SessionCall, open_session
from askless.app.store import models, outcomes
from askless.app.store.database.transactions import Transaction
from askless.app.store.outcomes import ClosedCaseRow, ModelCases, StoredOutcome
from askless.core.errors import Refusal, RefusedError
from askless.core.model.model import Model
from askless.core.session.state import State

#: Most cases that are found at once.
MOST_CASES = 20_000
# Their documents are read so many at a time.
SOME = 500
EARLIEST = datetime.min.replace(tzinfo=UTC)


class CaseSpan(NamedTuple):
    """When cases became known: from `since` on and before `until`; None: any time.

    A case is known once its session is closed and its outcome is recorded, so at the
    later of these times; an outcome that is corrected makes it known anew. So the
    cases of two spans that meet are all cases, none of them twice unless it was
    corrected in between.
    """

    since: datetime | None = None
    until: datetime | None = None

    def has(self, at: datetime) -> bool:
        is_late_enough = self.since is None or at >= self.since
        return is_late_enough and (self.until is None or at < self.until)


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A closed case as it is stored: session, model at its prices, and outcome."""

    session: PredictSession
    model: Model
    state: State
    #: categories that training did not see, by feature
    texts: Texts
    outcome: StoredOutcome
    #: when it was closed and had its outcome
    known_at: datetime


class CaseQuery(NamedTuple):
    """Which closed cases: of a model, or of all versions of its name, within a span.

    The sessions at prices of their own are among them, also those that another training
    at these prices decided.
    """

    head: ModelHead
    is_by_name: bool
    span: CaseSpan = CaseSpan()
    #: the newest of them only, at most `MOST_CASES`; None: all, and more are refused
    newest: int | None = None


def query_of(db: Transaction, key: str, span: CaseSpan) -> CaseQuery:
    """Return a query by a model's id or name; raise NotFoundError."""
    head = models.get_head(db, key)
    is_by_name = key == head.name and key != head.id
    return CaseQuery(head, is_by_name, span)


def find_cases(
    db: Transaction, loaded: LoadedModels, query: CaseQuery, at: Moment
) -> Iterator[StoredCase]:
    """Return an iterator over closed cases, the one known for the longest time first.

    Erased sessions have no case, and open ones not yet. Raises RefusedError at the call
    for a span that ends before it begins or has more than `MOST_CASES`.
    """
    return read_cases(db, loaded, find_rows(db, query, at), at)


def count_known(db: Transaction) -> dict[str, int]:
    """Count the closed cases with an outcome by the name of their model.

    Sessions that have expired count once that is stored. Names in their order.
    """
    return outcomes.count_by_name(db)


def find_rows(db: Transaction, query: CaseQuery, at: Moment) -> list[ClosedCaseRow]:
    """Return the rows of closed cases, or refuse the query."""
    span, newest = query.span, query.newest
    if span.since is not None and span.until is not None and span.since > span.until:
        raise RefusedError([Refusal("until", "must not be before since")])
    model_ids = models.list_related_ids(db, query.head, is_by_name=query.is_by_name)
    sought = ModelCases(model_ids, *span, open_since=find_open_since(span.since, at))
    known = outcomes.list_known_cases(db, sought, MOST_CASES + 1)
    if len(known) > MOST_CASES and newest is None:
        rule = f"must leave at most {MOST_CASES} cases: ask for a shorter span"
        raise RefusedError([Refusal("since", rule)])
    closed = [case for case in known if case.state == "closed"]
    expired = find_expired(db, [case for case in known if case.state != "closed"], at)
    rows = sorted([*closed, *(case for case in expired if span.has(case.known_at))])
    if newest is None:
        return rows
    return rows[max(len(rows) - min(newest, MOST_CASES), 0) :]


def find_open_since(since: datetime | None, at: Moment) -> datetime | None:
    """Return since when a session was changed that has expired since a moment."""
    # It may wait for results after its idle time.
    longest = at.ttl + at.waiting_ttl
    return since and max(since, EARLIEST + longest) - longest


def find_expired(
    db: Transaction, rows: Sequence[ClosedCaseRow], at: Moment
) -> Iterator[ClosedCaseRow]:
    """Yield the rows whose session has expired, with the time of that."""
    for batch in read_in_batches(rows):
        for session, outcome in outcomes.list_with_sessions(db, ids_of(batch)):
            current = apply_expiry(session, at)
            if current.state == "closed":
                known_at = max(current.updated_at, outcome.at)
                yield ClosedCaseRow(known_at, session.id, current.state)


def read_cases(
    db: Transaction, loaded: LoadedModels, rows: Sequence[ClosedCaseRow], at: Moment
) -> Iterator[StoredCase]:
    """Yield cases with their models and states; those erased meanwhile are left out."""
    for batch in read_in_batches(rows):
        listed = outcomes.list_with_sessions(db, ids_of(batch))
        pairs = {pair[0].id: pair for pair in listed}
        for row in batch:
            # On PostgreSQL each statement sees what was committed before it.
            if row.session_id not in pairs:
                continue
            session, outcome = pairs[row.session_id]
            call = SessionCall(session.id, loaded, at)
            opened = open_session(db, session, call)
            assert opened is not None, "what is erased has no outcome either"
            yield StoredCase(
                session=opened.session,
                model=opened.model,
                state=opened.state,
                texts=opened.texts,
                outcome=outcome,
                known_at=row.known_at,
            )


def read_in_batches(rows: Sequence[ClosedCaseRow]) -> Iterator[Sequence[ClosedCaseRow]]:
    """Yield rows, `SOME` at a time."""
    for start in range(0, len(rows), SOME):
        yield rows[start : start + SOME]


def ids_of(rows: Sequence[ClosedCaseRow]) -> list[str]:
    return [row.session_id for row in rows]
