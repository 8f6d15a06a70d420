"""Check the limits of keys before anything is stored. Calls without a key have none.

Only uploads at the same time may exceed theirs: one in progress is not counted.
"""

from askless.app.errors import LimitError
from askless.app.records import Limits, Moment
from askless.app.store import usage
from askless.app.store.database.transactions import Transaction
from askless.core.errors import Refusal, RefusedError
from askless.core.pipeline.spec import TrainingSpec

# More sessions than one key ever starts at the same time.
MAX_CONCURRENT_STARTS = 500


def limits_of_key(db: Transaction) -> Limits:
    return Limits() if db.caller is None else db.caller.limits


def check_table(db: Transaction, n_rows: int, n_columns: int) -> None:
    """Refuse a table of more rows or columns than the key may send."""
    limits = limits_of_key(db)
    refusals = [
        Refusal("table", f"must have at most {limit} {noun}, the limit of this key")
        for noun, count, limit in (
            ("rows", n_rows, limits.rows),
            ("columns", n_columns, limits.columns),
        )
        if limit is not None and count > limit
    ]
    if refusals:
        raise RefusedError(refusals)


def check_spec(db: Transaction, spec: TrainingSpec) -> None:
    """Refuse a spec of more rounds, given or default, than the key may ask for."""
    most = limits_of_key(db).rounds
    if most is not None and spec.boost.rounds > most:
        rule = f"must be at most {most}, the limit of this key"
        raise RefusedError([Refusal("params.rounds", rule)])


def check_upload(db: Transaction, n_bytes: int) -> None:
    """Refuse an upload that would exceed the key's limit on bytes of all datasets."""
    most = limits_of_key(db).dataset_bytes
    if most is not None and usage.sum_dataset_bytes(db) + n_bytes > most:
        raise LimitError("dataset_bytes", most)


def check_training(db: Transaction) -> None:
    """Raise LimitError if the key has its limit of trainings in progress."""
    most = limits_of_key(db).trainings
    if most is None:
        return
    usage.lock_limit(db, "trainings")
    if usage.count_trainings(db) >= most:
        raise LimitError("trainings", most)


def check_session(db: Transaction, at: Moment) -> None:
    """Raise LimitError if the key has its limit of open sessions."""
    most = limits_of_key(db).sessions
    if most is None:
        return
    # Far below the limit, callers need not wait for each other.
    threshold = most - MAX_CONCURRENT_STARTS
    if threshold > 0 and not usage.has_unclosed_sessions(db, threshold):
        return
    usage.lock_limit(db, "sessions")
    if usage.has_unclosed_sessions(db, most) and usage.has_unexpired_sessions(
        db, most, at
    ):
        raise LimitError("sessions", most)
