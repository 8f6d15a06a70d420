"""Limits of keys: refused before anything is stored. Calls without a key have none.

Uploads alone may pass theirs together: one that is written is not yet counted.
"""

from app.errors import LimitError
from app.records import Limits, Moment
from app.store import usage
from app.store.database.transactions import Transaction
from core.errors import Refusal, RefusedError
from core.pipeline.spec import TrainingSpec

# More sessions of a key than are ever being started at a time.
AT_A_TIME = 500


def limits_of(db: Transaction) -> Limits:
    return Limits() if db.caller is None else db.caller.limits


def check_table(db: Transaction, n_rows: int, n_columns: int) -> None:
    """Refuse a table of more rows or columns than the key may send."""
    limits = limits_of(db)
    refusals = [
        Refusal("table", f"must have at most {most} {noun}, the limit of this key")
        for noun, found, most in (
            ("rows", n_rows, limits.rows),
            ("columns", n_columns, limits.columns),
        )
        if most is not None and found > most
    ]
    if refusals:
        raise RefusedError(refusals)


def check_spec(db: Transaction, spec: TrainingSpec) -> None:
    """Refuse a spec of more rounds than the key may ask for.

    By default too: a spec need not name them, and `auto` tries up to a number of ours.
    """
    most = limits_of(db).rounds
    if most is not None and spec.boost.rounds > most:
        rule = f"must be at most {most}, the limit of this key"
        raise RefusedError([Refusal("params.rounds", rule)])


def check_upload(db: Transaction, n_bytes: int) -> None:
    """Refuse a dataset that would make a key's datasets too large together."""
    most = limits_of(db).dataset_bytes
    if most is not None and usage.dataset_bytes(db) + n_bytes > most:
        raise LimitError("dataset_bytes", most)


def check_training(db: Transaction) -> None:
    """Refuse a training more than a key may have in progress."""
    most = limits_of(db).trainings
    if most is None:
        return
    usage.wait_turn(db, "trainings")
    if usage.count_trainings(db) >= most:
        raise LimitError("trainings", most)


def check_session(db: Transaction, at: Moment) -> None:
    """Refuse a session more than a key may have open or waiting.

    For the transaction that stores it, which does not end before.
    """
    most = limits_of(db).sessions
    if most is None:
        return
    # Far below the limit nobody waits for another.
    near = most - AT_A_TIME
    if near > 0 and not usage.has_sessions(db, near):
        return
    usage.wait_turn(db, "sessions")
    if usage.has_sessions(db, most) and usage.has_sessions_now(db, most, at):
        raise LimitError("sessions", most)
