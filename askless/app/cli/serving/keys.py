"""Commands of keys: create, list, revoke, restore, directly in the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated

import sqlalchemy as sa
import typer
from rich.table import Column, Table

from askless.app.cli.options import errors, output
from askless.app.cli.serving.tenant_option import FIRST, Tenant
from askless.app.service import keys as service
from askless.app.settings.environment import read_settings
from askless.app.settings.home import keep_files_private
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import create_engine, transaction
from askless.app.store.database.transactions import Transaction
from askless.core.errors import Refusal, RefusedError

commands = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Make, list, revoke and restore the keys that callers of the service need.",
)
COLUMNS = ("name", "last used", "valid", "scopes")


@commands.command("create")
def create_key(
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    tenant: Tenant = FIRST,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help="What it may do, such as predict:write; again for more. All if none."
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            help="Such as requests_per_minute=600; again for more.", metavar="NAME=N"
        ),
    ] = None,
    days: Annotated[
        int | None, typer.Option(min=1, max=3650, help="How long it is valid.")
    ] = None,
) -> None:
    """Make a key, and a tenant if there is none of the name; show the key once."""
    now = datetime.now(UTC)
    wish = service.Wish(
        name=name,
        scopes=tuple(scope) if scope else service.SCOPES,
        limits=dict(map(read_limit, limit or ())),
        expires_at=None if days is None else now + timedelta(days=days),
    )
    refusals = service.check_request(wish, now)
    if refusals:
        # Refuse it before its tenant is made.
        raise RefusedError(refusals)
    with open_database() as engine:
        with transaction(engine, None) as db:
            tenant_id = service.get_or_create_tenant(db, tenant, now)
        with transaction(engine, tenant_id) as db:
            new_key = service.create(db, wish, now)
    # The key alone on standard output, so that it can be piped into a file.
    errors.print(f"{new_key.key.id}, of the tenant {tenant}; this is shown once:")
    typer.echo(new_key.token)


@commands.command("list")
def list_keys(tenant: Tenant = FIRST) -> None:
    """List a tenant's keys, newest first, without their secrets."""
    # An id must be whole, to be copied.
    table = Table(Column("key", no_wrap=True, min_width=28), *COLUMNS)
    now = datetime.now(UTC)
    with open_database() as engine:
        tenant_id = require_tenant_id(engine, tenant)
        after: str | None = None
        while True:
            with transaction(engine, tenant_id, is_read=True) as db:
                page = service.page(db, 200, after)
            for key in page.items:
                used = key.last_used_at
                table.add_row(
                    key.id,
                    key.name,
                    "never" if used is None else f"{used:%Y-%m-%d %H:%M}",
                    service.describe_validity(key, now),
                    "all" if key.scopes == service.SCOPES else " ".join(key.scopes),
                )
            after = page.next
            if after is None:
                break
    output.print(table)


@commands.command("revoke")
def revoke_key(
    key: Annotated[str, typer.Argument(help="The key's id, such as key_9a1b….")],
    tenant: Tenant = FIRST,
) -> None:
    """End a key's validity, within seconds in every process."""
    with key_transaction(tenant, key) as db:
        service.revoke(db, key, datetime.now(UTC))
    output.print(f"{key} is revoked")


@commands.command("restore")
def restore_key(
    key: Annotated[str, typer.Argument(help="The key's id, such as key_9a1b….")],
    tenant: Tenant = FIRST,
) -> None:
    """Let a person sign in again whose key was revoked."""
    with key_transaction(tenant, key) as db:
        service.restore(db, key)
    output.print(f"{key} is valid again")


@contextmanager
def key_transaction(tenant: str, key: str) -> Iterator[Transaction]:
    """Open a transaction of a tenant; refuse a key that is not its own."""
    with open_database() as engine:
        tenant_id = require_tenant_id(engine, tenant)
        with transaction(engine, tenant_id) as db:
            if service.find(db, key) is None:
                rule = "must be a key of this tenant; askless keys list shows them"
                raise RefusedError([Refusal("KEY", rule)])
            yield db


@contextmanager
def open_database() -> Iterator[sa.Engine]:
    """Open the database of the settings, at its present schema."""
    from askless.app.service import operations

    settings = read_settings()
    with keep_files_private(settings):
        if settings.is_embedded:
            operations.migrate(settings.url)
        with open_engine(settings) as engine:
            yield engine


@contextmanager
def open_engine(settings: Settings) -> Iterator[sa.Engine]:
    engine = create_engine(settings.url)
    try:
        yield engine
    finally:
        engine.dispose()


def require_tenant_id(engine: sa.Engine, name: str) -> str:
    """Return the id of a tenant by its name; raise RefusedError if there is none."""
    with transaction(engine, None, is_read=True) as db:
        tenant_id = service.find_tenant(db, name)
    if tenant_id is None:
        raise RefusedError([Refusal("--tenant", "must be the name of a tenant")])
    return tenant_id


def read_limit(text: str) -> tuple[str, int]:
    name, _, most = text.partition("=")
    if not most.isascii() or not most.isdigit() or len(most) > 15:
        raise RefusedError([Refusal("--limit", "must be NAME=N, a whole number")])
    return name, int(most)
