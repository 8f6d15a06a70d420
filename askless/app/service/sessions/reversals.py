"""Reverse a charge, in sessions of any state."""

from dataclasses import replace

from askless.app.errors import ConflictError
from askless.app.records import LedgerEntry
from askless.app.service.sessions.opened import SessionCall, lock_open, save
from askless.app.store import ledger, sessions
from askless.app.store.database.transactions import Transaction
from askless.core.session.machine import reverse as reverse_charge


def reverse(
    db: Transaction, charge: tuple[str, int], call: SessionCall, reason: str
) -> LedgerEntry:
    """Reverse a charge; lower `spent`, and update the session's state.

    `charge` is a session and the position of an entry in it; `call` has no id yet.
    Raises ConflictError for a reversal, or a charge that is reversed already.
    """
    entry = ledger.get(db, *charge)
    if entry.kind == "reversal":
        raise ConflictError("not-a-charge", f"Entry {entry.id} is a reversal itself.")
    opened = lock_open(db, call._replace(id=entry.session_id))
    # The session is locked, so a concurrent reversal is visible by now.
    if ledger.find_reversal(db, entry) is not None:
        raise ConflictError("already-reversed", f"Entry {entry.id} is reversed.")
    sessions.refund(db, entry.session_id, entry.amount)
    if opened is None:
        # An erased session has no state to change; its version shows that `spent` has.
        erased = sessions.get_locked(db, entry.session_id)
        version = erased.version + 1
        sessions.save(db, replace(erased, version=version, updated_at=call.at.now))
    else:
        ensemble = opened.model.ensemble
        feature_idx = ensemble.catalogue.feature_idxs[entry.feature]
        state = reverse_charge(
            ensemble, opened.state, feature_idx, entry.kind, entry.provider
        )
        save(db, replace(opened, state=state), call.at.now)
    reversal = replace(
        entry, at=call.at.now, kind="reversal", reverses=entry.position, reason=reason
    )
    ledger.append(db, reversal)
    stored = ledger.find_reversal(db, entry)
    assert stored is not None, "just written"
    return stored
