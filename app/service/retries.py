"""Answers a repeated request with its stored answer, so that nothing is done twice.

An answer is stored in the transaction that made it. So a request that failed leaves
none, and may be tried again.
"""

from app.errors import ConflictError, InProgressError, ReplayedError
from app.records import StoredAnswer
from app.store import retries
from app.store.database.transactions import Transaction

MISMATCH = "The Idempotency-Key was sent before, with another request."
forget_before = retries.remove_before


def claim(db: Transaction, key: str, digest: str) -> None:
    """Claim a request, unless it is answered already or being answered.

    Raises ReplayedError with the answer, InProgressError, or ConflictError where the
    key is that of another request.
    """
    if not retries.lock(db, key):
        raise InProgressError
    look(db, key, digest)


def look(db: Transaction, key: str, digest: str) -> None:
    """Raise as `claim` does if the request was answered; only reads."""
    found = retries.find(db, key)
    if found is None:
        return
    if found.digest != digest:
        raise ConflictError("idempotency-mismatch", MISMATCH)
    raise ReplayedError(found)


def keep(db: Transaction, answer: StoredAnswer) -> None:
    """Store an answer with what it did.

    Who ends a transaction to parse a model loses the claim. If another one has answered
    meanwhile, this raises what `look` does, and nothing of the request is done.
    """
    if not retries.insert(db, answer):
        look(db, answer.key, answer.digest)
