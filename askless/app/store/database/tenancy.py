"""Add the tenant to every statement on users' rows; nothing else does.

A transaction belongs to one tenant, or to the service itself, which can't run these
statements. Queries over all tenants (the queue, the sweep, the event poller, orphaned
uploads, the lookup of a key) are plain statements in the store;
`tests/app/test_tenants.py` lists them all.
"""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from askless.app.store.database.transactions import Transaction

TENANT = sa.bindparam("tenant", type_=sa.String(40))
TENANT_ID, KEY_ID = "tenant_id", "key_id"


class Unlikely(FunctionElement[bool]):
    """A condition that SQLite's planner takes to hold for one row in sixteen.

    Without the hint it expects ten rows for any equality.
    """

    #: SQLAlchemy writes a truth value as `unlikely(...) = 1`, which hides the hint
    type: Any = sa.types.NullType()
    inherit_cache = True


@compiles(Unlikely)
def write_condition(condition: Unlikely, compiler: SQLCompiler, **options: Any) -> str:
    """Write the condition, in a hint where the planner takes one."""
    written = compiler.process(condition.clauses, **options)
    hint = "unlikely" if compiler.dialect.name == "sqlite" else ""
    return f"{hint}({written})"


def is_own(table: sa.Table) -> sa.ColumnElement[bool]:
    """Return the condition that a row belongs to the transaction's tenant."""
    is_owned: sa.ColumnElement[bool] = table.c.tenant_id == TENANT
    return is_owned


def is_own_too(table: sa.Table) -> sa.ColumnElement[bool]:
    """Return the condition of `is_own` for where another condition finds the rows.

    Without the hint SQLite read all charges of a tenant to find those of a session.
    """
    return Unlikely(is_own(table))


def tenant_of(db: Transaction) -> str:
    """Return the id of a transaction's tenant."""
    assert db.tenant_id is not None, "the transaction belongs to no tenant"
    return db.tenant_id


def owner_values(db: Transaction, table: sa.Table) -> dict[str, str | None]:
    """Return the columns with the tenant and the key of a new row."""
    values: dict[str, str | None] = {TENANT_ID: tenant_of(db)}
    return values | ({KEY_ID: key_of(db)} if KEY_ID in table.c else {})


def key_of(db: Transaction) -> str | None:
    return None if db.caller is None else db.caller.key_id


def execute(
    db: Transaction, statement: sa.Executable, params: Mapping[str, Any] | None = None
) -> sa.CursorResult[Any]:
    """Execute a statement with the condition `is_own` for the transaction's tenant."""
    values = {**(params or {}), TENANT.key: tenant_of(db)}
    return db.execute(statement, values)
