"""What a transaction does outside of the database, undone where it is given up."""

from collections.abc import Callable

from sqlalchemy.orm import Session

UNDOINGS = "undoings"


def if_given_up(db: Session, act: Callable[[], object]) -> None:
    """Have `act` called where the block of a transaction fails, once that is over.

    Not where the commit itself fails, of which nobody knows whether it was done.
    """
    db.info.setdefault(UNDOINGS, []).append(act)


def undo(db: Session) -> None:
    """Undo what a transaction did outside, the last first."""
    for act in reversed(db.info.pop(UNDOINGS, [])):
        act()
