"""Answer a repeated request with its stored answer, so that nothing is done twice.

An answer is stored in the transaction of its change. A failed request leaves none and
may be repeated.
"""

from askless.app.errors import ConflictError, InProgressError, ReplayedError
from askless.app.records import StoredAnswer
from askless.app.store import retries
from askless.app.store.database.transactions import Transaction

MISMATCH = "The Idempotency-Key was sent before, with another request."
forget_before = retries.remove_before


def claim_request(db: Transaction, key: str, digest: str) -> None:
    """Claim a request that was not answered yet, and is not being answered.

    Raises ReplayedError with the answer, InProgressError, or ConflictError if the key
    belongs to another request.
    """
    if not retries.lock(db, key):
        raise InProgressError
    raise_if_answered(db, key, digest)


def raise_if_answered(db: Transaction, key: str, digest: str) -> None:
    """Raise as `claim_request` does if the request was answered; only reads."""
    answer = retries.find(db, key)
    if answer is None:
        return
    if answer.digest != digest:
        raise ConflictError("idempotency-mismatch", MISMATCH)
    raise ReplayedError(answer)


def store_answer(db: Transaction, answer: StoredAnswer) -> None:
    """Store an answer in the transaction of its change.

    A request that ended its transaction to parse a model has lost its claim. If another
    one has answered since, this raises as `raise_if_answered` does.
    """
    if not retries.insert(db, answer):
        raise_if_answered(db, answer.key, answer.digest)
