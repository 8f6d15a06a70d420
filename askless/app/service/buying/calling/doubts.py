"""Settle calls in doubt, after an operator has asked the provider."""

from dataclasses import replace

from askless.app.errors import ConflictError
from askless.app.records import StoredCall
from askless.app.service.sessions import reversals
from askless.app.service.sessions.opened import SessionCall, lock_open, save
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
        pending = [
            Answer(idx, "unknown") for idx in idxs if idx in opened.state.pending
        ]
        state = machine.observe(opened.model.ensemble, opened.state, pending)
        if state is not opened.state:
            save(db, replace(opened, state=state), at_session.at.now)
    if not was_charged:
        if session_id is not None:
            reverse_charge(db, session_id, call.provider, at_session)
        providers.settle(db, call.provider, call.day, 0, -call.price)
    calls.change(
        db,
        call_id,
        state="missed" if was_charged else "released",
        charged=call.price if was_charged else 0,
        reason=CHARGED if was_charged else NOT_CHARGED,
    )
    return calls.get(db, call_id)


def reverse_charge(
    db: Transaction, session_id: str, provider: str, at_session: SessionCall
) -> None:
    """Reverse the charge of a provider, unless somebody has done so already."""
    entries = ledger.list_of_session(db, session_id)
    reversed_positions = {entry.reverses for entry in entries}
    for entry in entries:
        is_its = entry.provider == provider and entry.kind == "charge"
        if is_its and entry.position not in reversed_positions:
            place = entry.session_id, entry.position
            reversals.reverse(db, place, at_session, NOT_CHARGED)
            return
