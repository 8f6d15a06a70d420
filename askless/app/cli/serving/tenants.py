"""Commands of tenants: list them, and set how long their sessions are kept."""

from typing import Annotated

import typer
from rich.table import Column, Table

from askless.app.cli.options import output
from askless.app.cli.serving.keys import open_database, require_tenant_id
from askless.app.service import keys as service
from askless.app.store.database.engine import transaction
from askless.core.errors import Refusal, RefusedError

commands = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="List tenants, and say how long their sessions are kept.",
)
MAX_DAYS = 36_500


@commands.command("list")
def list_tenants() -> None:
    """List all tenants, and after how many days their closed sessions are erased."""
    table = Table("tenant", Column("id", no_wrap=True), "sessions are kept")
    with open_database() as engine, transaction(engine, None, is_read=True) as db:
        for tenant_id, name, days in service.all_tenants(db):
            table.add_row(name, tenant_id, "for good" if days is None else f"{days} d")
    output.print(table)


@commands.command("keep")
def set_retention(
    tenant: Annotated[str, typer.Argument(help="The name of the tenant.")],
    days: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_DAYS, help="Days after which closed sessions are erased."
        ),
    ] = None,
    is_forever: Annotated[
        bool, typer.Option("--forever", help="Erase none but on request.")
    ] = False,
) -> None:
    """Set how long the closed sessions of a tenant are kept.

    A worker erases them as DELETE /predict/{id} does; the ledger's amounts stay.
    """
    if (days is None) != is_forever:
        raise RefusedError([Refusal("--days", "is required, or --forever")])
    with open_database() as engine:
        tenant_id = require_tenant_id(engine, tenant)
        with transaction(engine, None) as db:
            service.set_retention(db, tenant_id, days)
    period = "for good" if days is None else f"{days} days once they are closed"
    output.print(f"Sessions of {tenant} are kept {period}.")
