"""A transaction: statements on one connection, which is taken for the first of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import sqlalchemy as sa

from app.records import Caller

Params = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class Transaction:
    """What is done together, and in whose name.

    A connection alone: SQLAlchemy's `Session` is for mapped objects, of which there are
    none, and took a third of the time of a statement.
    """

    def __init__(
        self,
        engine: sa.Engine,
        tenant_id: str | None,
        caller: Caller | None,
        options: Mapping[str, Any],
    ) -> None:
        self.engine = engine
        #: whose rows it sees; None: the service itself
        self.tenant_id = tenant_id
        #: who makes new rows, and whose limits hold; None: the service itself
        self.caller = caller
        self.options = options
        self.opened: sa.Connection | None = None
        self.undoings: list[Callable[[], object]] = []

    @property
    def dialect(self) -> str:
        return self.engine.dialect.name

    def connection(self) -> sa.Connection:
        """Return the connection, which is taken from the pool by the first call."""
        if self.opened is None:
            opened = self.engine.connect()
            self.opened = (
                opened.execution_options(**self.options) if self.options else opened
            )
        return self.opened

    def execute(
        self, statement: sa.Executable, params: Params | None = None
    ) -> sa.CursorResult[*tuple[Any, ...]]:
        return self.connection().execute(statement, params)

    def scalar(self, statement: sa.Executable) -> Any:
        return self.execute(statement).scalar()

    def scalars(self, statement: sa.Executable) -> sa.ScalarResult[Any]:
        return self.execute(statement).scalars()

    def rollback(self) -> None:
        """Undo what was done so far; what follows is another transaction."""
        opened, self.opened = self.opened, None
        if opened is not None:
            # What was not committed is undone.
            opened.close()

    def if_given_up(self, act: Callable[[], object]) -> None:
        """Have `act` called where the block fails, once what it did is undone.

        For what was done outside of the database. Not where the commit itself fails, of
        which nobody knows whether it was done.
        """
        self.undoings.append(act)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Commit what the block did, or nothing of it."""
        try:
            if kind is None and self.opened is not None:
                self.opened.commit()
        finally:
            self.rollback()
        if kind is not None:
            for act in reversed(self.undoings):
                act()
