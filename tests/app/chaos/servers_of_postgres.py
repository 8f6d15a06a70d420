"""A PostgreSQL server of a test's own, which it may crash: its commits are durable."""

import os
import pwd
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import sqlalchemy as sa

from askless.app.store.database.migrate import migrate
from tests.app.conftest import admin


class OwnPostgres:
    """One server, with one migrated database."""

    def __init__(self, wheel: Any, folder: Path) -> None:
        self.server: Any = wheel.get_server(folder, cleanup_mode="delete")
        uri = sa.make_url(self.server.get_uri()).set(drivername="postgresql+psycopg")
        self.url = uri.render_as_string(hide_password=False)
        migrate(self.url)

    def crash(self) -> None:
        """Restart it as after a crash: connections break, what was open is undone."""
        self.restart("immediate")

    def restart(self, mode: str) -> None:
        words = ["-w", "-D", self.server.pgdata, "-m", mode, "restart"]
        user = {} if os.geteuid() else {"user": pwd.getpwnam("pgserver").pw_uid}
        with (self.server.pgdata / "restarts.log").open("ab") as log:
            subprocess.run(
                [self.server.bin_path / "pg_ctl", *words],
                check=True,
                stdout=log,
                stderr=log,
                **user,
            )

    def change(self, statement: str) -> None:
        """Change a setting of the server; all who are connected connect anew."""
        with admin(self.url) as connection:
            connection.exec_driver_sql("SET default_transaction_read_only = off")
            connection.exec_driver_sql(f"ALTER SYSTEM {statement}")
        self.restart("fast")


@contextmanager
def own_postgres(wheel: Any, below: Path) -> Iterator[OwnPostgres]:
    """Start a server below a folder whose path is short; `wheel` is the module."""
    made = OwnPostgres(wheel, below / f"own{uuid4().hex[:6]}")
    try:
        yield made
    finally:
        made.server.cleanup()
