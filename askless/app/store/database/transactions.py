"""A database transaction. It takes a connection at its first statement."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import sqlalchemy as sa

from askless.app.records import Caller

Params = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class Transaction:
    """Statements that take effect together, for one tenant and caller.

    It wraps a connection. SQLAlchemy's `Session` is for mapped objects; we have none,
    and it took a third of the time of a statement.
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
        self.rollback_acts: list[Callable[[], object]] = []

    @property
    def dialect(self) -> str:
        return self.engine.dialect.name

    def connection(self) -> sa.Connection:
        """Return the connection; the first call takes it from the pool."""
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
        """Undo all statements so far. Later statements are another transaction."""
        opened, self.opened = self.opened, None
        if opened is not None:
            # Closing undoes what was not committed.
            opened.close()

    def on_rollback(self, act: Callable[[], object]) -> None:
        """Call `act` after the rollback if the block fails.

        It undoes changes outside of the database. It is not called if the commit itself
        fails, since the commit may have taken effect.
        """
        self.rollback_acts.append(act)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Commit, or undo everything if the block has failed."""
        try:
            if kind is None and self.opened is not None:
                self.opened.commit()
        finally:
            self.rollback()
        if kind is not None:
            for act in reversed(self.rollback_acts):
                act()
