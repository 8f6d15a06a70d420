"""Settle calls in doubt, after an operator has asked the provider."""

from collections.abc import Sequence
from dataclasses import replace

from askless.app.errors import ConflictError
from askless.app.records import StoredCall
from askless.app.service.buying.calling.settling import answers_of, write_end
from askless.app.service.buying.calling.verdicts import Verdict
from askless.app.service.sessions import reversals
from askless.app.service.sessions.opened import (
    OpenSession,
    SessionCall,
    lock_open,
    save,
)
from askless.app.store import ledger
from askless.app.store.buying import calls, providers
from askless.app.store.database.transactions import Transaction
from askless.core.session import machine
from askless.core.session.state import Answer

CHARGED, NOT_CHARGED = "charged, by the operator", "not charged, by the operator"


def settle_doubt(
    db: Transaction, call_id: str, was_charged: bool, at_session: SessionCall
) -> StoredCall:
    """Write that a provider has charged a call in doubt, or that it has not.

    The charge stands or is reversed, and pending features become unknown. Values that
    somebody knows must be answered before, as results of orders. `at_session` gets its
    session here. Raises ConflictError for a call that is not in doubt.
    """
    session_id = calls.get(db, call_id).session_id
    # A test of a provider has no session.
    opened = session_id and lock_open(db, at_session._replace(id=session_id))
    call = calls.get_locked(db, call_id)
    if call.state != "in_doubt":
        raise ConflictError("conflict", f"The call is {call.state}, not in doubt.")
    if opened:
        catalogue = opened.model.ensemble.catalogue
        idxs = [catalogue.feature_idxs[name] for name in call.features]
        answers = [Answer(idx, "unknown") for idx in idxs]
        take_pending(db, opened, answers, at_session)
    if not was_charged:
        take_back(db, call, NOT_CHARGED, at_session._replace(id=session_id or ""))
    calls.change(
        db,
        call_id,
        state="missed" if was_charged else "released",
        charged=call.price if was_charged else 0,
        reason=CHARGED if was_charged else NOT_CHARGED,
    )
    return calls.get(db, call_id)


def settle_late(
    db: Transaction, call: StoredCall, verdict: Verdict, at_session: SessionCall
) -> None:
    """Take an answer for which the run did not wait, as the result of an order.

    What it costs was charged when the run ended, and is reversed if it costs nothing.
    Without an answer the call stays in doubt.
    """
    opened = lock_open(db, at_session)
    if opened is not None and verdict.state != "in_doubt":
        catalogue = opened.model.ensemble.catalogue
        idxs = tuple(catalogue.feature_idxs[name] for name in call.features)
        answers = answers_of(opened, verdict, idxs)
        texts = {} if verdict.answer is None else verdict.answer.texts
        opened = replace(opened, texts=opened.texts | texts)
        take_pending(db, opened, answers, at_session)
    if not verdict.amount:
        take_back(db, call, verdict.reason or verdict.state, at_session)
    write_end(db, call, verdict, at_session.at.now)


def take_pending(
    db: Transaction,
    opened: OpenSession,
    answers: Sequence[Answer],
    at_session: SessionCall,
) -> None:
    """Answer features that are still pending; others are known by now."""
    state = opened.state
    pending = [answer for answer in answers if answer.feature_idx in state.pending]
    after = machine.observe(opened.model.ensemble, state, pending, is_insistent=True)
    if after is not state:
        save(db, replace(opened, state=after), at_session.at.now)


def take_back(
    db: Transaction, call: StoredCall, reason: str, at_session: SessionCall
) -> None:
    """Reverse the charge of a call that costs nothing after all."""
    if call.session_id is not None:
        reverse_charge(db, call, reason, at_session)
    providers.settle(db, call.provider, call.day, 0, -call.price)


def reverse_charge(
    db: Transaction, call: StoredCall, reason: str, at_session: SessionCall
) -> None:
    """Reverse the charge of a provider, unless somebody has done so already."""
    entries = ledger.list_of_session(db, at_session.id)
    reversed_positions = {entry.reverses for entry in entries}
    for entry in entries:
        is_its = entry.provider == call.provider and entry.kind == "charge"
        if is_its and entry.position not in reversed_positions:
            place = entry.session_id, entry.position
            reversals.reverse(db, place, at_session, reason)
            return
