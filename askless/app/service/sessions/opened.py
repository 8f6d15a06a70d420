"""Read, lock, parse and save sessions.

Every change reads a locked row, lets `askless.core.session.machine` find the next
state, and writes charges, ledger and state in the caller's transaction: all of it or
nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from askless.app.documents.http import sessions as bodies
from askless.app.documents.session.state import Texts, parse_state, write_state
from askless.app.errors import ConflictError
from askless.app.records import (
    LedgerEntry,
    Moment,
    PredictSession,
    SessionState,
    StoredRun,
)
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions.expiry import expire, expired_row, is_due
from askless.app.service.sessions.views import erased_view, run_view, view_of
from askless.app.store import ledger, sessions
from askless.app.store.buying import runs
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.catalogue import Catalogue
from askless.core.errors import ClosedError, OverBudgetError
from askless.core.model.model import Model
from askless.core.session import machine
from askless.core.session.state import Charge, State
from askless.core.session.steps import add_step_chances


def find_refusal(
    db: Transaction,
    session: PredictSession,
    catalogue: Catalogue,
    charges: Sequence[Charge],
) -> OverBudgetError:
    """Return the error for the first charge that exceeds the remaining budget."""
    # None, an unlimited budget, refuses no charge and does not occur here.
    remaining = sessions.get_locked(db, session.id).remaining or 0
    sums = [*accumulate(charge.amount for charge in charges)]
    over = next(place for place, amount in enumerate(sums) if amount > remaining)
    amount = charges[over].amount
    name = catalogue.features[charges[over].feature_idx].name
    # The last amount is what was left before this charge.
    return OverBudgetError(name, amount, remaining - sums[over] + amount)


def write_charges(
    db: Transaction,
    session: PredictSession,
    catalogue: Catalogue,
    charges: Sequence[Charge],
) -> None:
    """Write the charges of a saved session into the ledger."""
    for charge in charges:
        feature = catalogue.features[charge.feature_idx]
        entry = LedgerEntry(
            # The store counts it when the entry is read.
            position=0,
            at=session.updated_at,
            session_id=session.id,
            feature=feature.name,
            group=feature.group,
            kind=charge.kind,
            amount=charge.amount,
            unit=session.unit,
            provider=charge.provider,
        )
        ledger.append(db, entry)


class SessionCall(NamedTuple):
    """A request about one session: its id, its time, and the versions it may have."""

    id: str
    loaded: LoadedModels
    at: Moment
    #: the session is changed only if it has one of these; None: any
    versions: frozenset[int] | None = None


@dataclass(frozen=True)
class OpenSession:
    """A session with its parsed model and state."""

    session: PredictSession
    model: Model
    state: State
    texts: Texts
    #: the buying of the session; None: it is no run
    run: StoredRun | None = None

    @cached_property
    def view(self) -> bodies.Session:
        return view_of(self.session, self.model, self.state, self.texts, self.run)


@dataclass(frozen=True, slots=True)
class ErasedSession:
    """A session whose answers were erased."""

    session: PredictSession
    model_name: str
    run: StoredRun | None = None

    @property
    def view(self) -> bodies.Session:
        view = erased_view(self.session, self.model_name)
        return view.model_copy(update={"run": run_view(self.session, self.run)})


def find(db: Transaction, call: SessionCall) -> OpenSession | ErasedSession:
    session = sessions.get(db, call.id)
    opened = open_session(db, session, call)
    if opened is None:
        name = call.loaded.get(db, session.model_id).name
        return ErasedSession(session, name, find_run(db, session))
    return opened


def find_open(db: Transaction, call: SessionCall) -> OpenSession:
    """Return a session; raise ClosedError if its answers were erased."""
    opened = open_session(db, sessions.get(db, call.id), call)
    if opened is None:
        raise ClosedError("the session was erased")
    return opened


def lock_open(db: Transaction, call: SessionCall) -> OpenSession | None:
    """Lock and parse a session; one that is due to expire is stored as expired."""
    session = sessions.get_locked(db, call.id)
    # Parsing the model ends the transaction, and with it the lock.
    if session.document is not None and call.loaded.load(db, session.model_id):
        session = sessions.get_locked(db, call.id)
    opened = open_session(db, session, call)
    if opened is not None and opened.session is not session:
        # Already under another version, or two: as everybody sees it.
        return store(db, opened)
    return opened


def open_session(
    db: Transaction, session: PredictSession, call: SessionCall
) -> OpenSession | None:
    """Parse a session, expired where it is due; None if its answers were erased."""
    if session.document is None:
        return None
    model = call.loaded.get(db, session.model_id, session.price_list_id)
    state, texts = parse_state(session.document, model.ensemble.catalogue)
    if session.held:
        state = state.change(held=session.held)
    while is_due(session, call.at):
        state = expire(model.ensemble.catalogue, session, state)
        session = expired_row(session, row_state(state), call.at)
    return OpenSession(session, model, state, texts, find_run(db, session))


def open_stored(session: PredictSession, model: Model) -> State:
    """Return the state of a session that is not erased, as it is stored."""
    assert session.document is not None, "it has one"
    return parse_state(session.document, model.ensemble.catalogue)[0]


def find_run(db: Transaction, session: PredictSession) -> StoredRun | None:
    return runs.find(db, session.id) if session.is_run else None


def row_state(state: State) -> SessionState:
    if machine.is_closed(state):
        return "closed"
    has_question = state.next_feature_idx is not None
    return "open" if has_question or not state.pending else "waiting"


def require_version(session: PredictSession, versions: frozenset[int] | None) -> None:
    if versions is not None and session.version not in versions:
        detail = f"The session is at version {session.version}."
        raise ConflictError("version-mismatch", detail)


def save(
    db: Transaction,
    opened: OpenSession,
    now: datetime,
    charges: Sequence[Charge] = (),
    released: int = 0,
) -> OpenSession:
    """Store what a session has come to as its next version, and charge.

    `released` is what was reserved for a call that has ended.
    """
    return store(db, next_version(opened, now), charges, released)


def next_version(opened: OpenSession, now: datetime) -> OpenSession:
    before, state = opened.session, row_state(opened.state)
    version = before.version + 1
    changed = replace(before, state=state, version=version, updated_at=now)
    return replace(opened, session=changed)


def store(
    db: Transaction,
    opened: OpenSession,
    charges: Sequence[Charge] = (),
    released: int = 0,
) -> OpenSession:
    """Store a locked session and charge it; raise OverBudgetError."""
    catalogue = opened.model.ensemble.catalogue
    state = add_step_chances(opened.model.ensemble, opened.state)
    document = write_state(state, catalogue, opened.texts)
    amount = sum(charge.amount for charge in charges)
    row = replace(opened.session, document=document)
    saved = sessions.save(db, row, amount, released)
    if saved is None:
        raise find_refusal(db, opened.session, catalogue, charges)
    write_charges(db, saved, catalogue, charges)
    return replace(opened, session=saved, state=state)
