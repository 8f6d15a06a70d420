"""Reverse a charge, in sessions of any state."""

from dataclasses import replace

from app.errors import ConflictError
from app.records import LedgerEntry
from app.service.sessions.opened import SessionCall, lock_open, save
from app.store import ledger, sessions
from app.store.database.transactions import Transaction
from core.session.reversals import reverse as reverse_charge


def reverse(
    db: Transaction, entry_id: int, call: SessionCall, reason: str
) -> LedgerEntry:
    """Reverse a charge; lower `spent`, and update the session's state.

    `call` names no session yet: the entry does.
    """
    entry = ledger.get(db, entry_id)
    if entry.kind == "reversal":
        raise ConflictError("not-a-charge", f"Entry {entry_id} is a reversal itself.")
    opened = lock_open(db, call._replace(id=entry.session_id))
    # Whoever reverses it at the same time has waited for the session.
    if ledger.find_reversal(db, entry_id) is not None:
        raise ConflictError("already-reversed", f"Entry {entry_id} is reversed.")
    sessions.refund(db, entry.session_id, entry.amount)
    if opened is None:
        erased = sessions.get_locked(db, entry.session_id)
        version = erased.version + 1
        sessions.save(db, replace(erased, version=version, updated_at=call.at.now))
    else:
        ensemble = opened.model.ensemble
        feature_idx = ensemble.catalogue.feature_idxs[entry.feature]
        state = reverse_charge(ensemble, opened.state, feature_idx)
        save(db, replace(opened, state=state), call.at.now)
    made = replace(
        entry, at=call.at.now, kind="reversal", reverses=entry_id, reason=reason
    )
    ledger.append(db, made)
    found = ledger.find_reversal(db, entry_id)
    assert found is not None, "just written"
    return found
