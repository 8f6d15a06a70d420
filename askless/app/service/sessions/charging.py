"""Write charges into the ledger, or refuse those that exceed the budget."""

from collections.abc import Sequence
from itertools import accumulate

from askless.app.records import LedgerEntry, PredictSession
from askless.app.store import ledger, sessions
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.catalogue import Catalogue
from askless.core.errors import OverBudgetError
from askless.core.session.state import Charge


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


def enter(
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
            kind="charge",
            amount=charge.amount,
            unit=session.unit,
        )
        ledger.append(db, entry)
