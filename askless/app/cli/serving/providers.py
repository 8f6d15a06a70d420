"""Commands of providers: list, show, put, delete, test, and draft from OpenAPI."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import sqlalchemy as sa
import typer
from rich.markup import escape
from rich.table import Column, Table

from askless.app.cli.options import errors, output, print_warnings
from askless.app.cli.serving.keys import open_database, require_tenant_id
from askless.app.cli.serving.tenant_option import FIRST, Tenant
from askless.app.documents import files
from askless.app.documents.buying.openapi import draft_providers
from askless.app.documents.buying.provider_bodies import ProviderBody, ProviderTest
from askless.app.documents.buying.providers import PROVIDER_NAME, Provider
from askless.app.documents.buying.report_bodies import ProviderReport
from askless.app.documents.shape import read_shape
from askless.app.documents.text import parse_json
from askless.app.errors import ConflictError, NotFoundError
from askless.app.service.buying import providers as service
from askless.app.service.buying import reports
from askless.app.service.buying.calling import trials
from askless.app.service.buying.calling.sending import Sender
from askless.app.service.loaded import LoadedModels
from askless.app.settings.environment import read_settings
from askless.app.store.database.engine import transaction
from askless.app.store.database.transactions import Transaction
from askless.app.words.wording import money
from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.errors import Refusal, RefusedError

commands = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="List, put, test and delete the providers that runs buy from; draft some.",
)
COLUMNS = ("fills", "price", "state", "spent today", "of at most")
YAML_RULE = "must be JSON; convert YAML first, such as by: yq -o=json api.yaml"
PAGE = 200
COUNTED = ("calls", "answers", "misses", "failures", "in_doubt", "cached")
Name = Annotated[str, typer.Argument(help="The provider's name.")]


@commands.command("list")
def list_providers(tenant: Tenant = FIRST) -> None:
    """List a tenant's providers, with what they have cost today."""
    table = Table(Column("name", no_wrap=True), *COLUMNS)
    now = datetime.now(UTC)
    with open_tenant(tenant) as (engine, tenant_id):
        after: str | None = None
        while True:
            with transaction(engine, tenant_id, is_read=True) as db:
                page = service.page(db, PAGE, after, now)
            for provider in page.items:
                table.add_row(*map(escape, write_cells(provider, now)))
            after = page.next
            if after is None:
                break
    output.print(table)


def write_cells(provider: ProviderBody, now: datetime) -> Iterator[str]:
    yield provider.name
    yield provider.fills
    yield "the model's" if provider.price is None else money(provider.price)
    yield provider.describe_state(now)
    yield money(provider.spent * MICROS_PER_UNIT)
    day = provider.ceilings.day
    yield "–" if day is None else money(day)


@commands.command("show")
def show_provider(name: Name, tenant: Tenant = FIRST) -> None:
    """Print a provider as it was put, as `put` and `decide` read it."""
    now = datetime.now(UTC)
    with provider_transaction(tenant, name, is_read=True) as db:
        shown = service.get(db, name, now)
    typer.echo(format_json({name: shown.strip_state()}))
    amounts = shown.spent, shown.held
    spent, held = (money(units * MICROS_PER_UNIT) for units in amounts)
    errors.print(f"spent today: {spent}, held for calls on their way: {held}")


@commands.command("report")
def report_on_provider(
    name: Name,
    tenant: Tenant = FIRST,
    is_json: Annotated[
        bool, typer.Option("--json", help="Print the report of the API.")
    ] = False,
) -> None:
    """Print a provider's calls by day, what has changed, and what it is worth."""
    now = datetime.now(UTC)
    with provider_transaction(tenant, name, is_read=True) as db:
        report = reports.report(db, LoadedModels(), name, now)
    if is_json:
        typer.echo(report.model_dump_json(indent=1))
        return
    unit = report.unit or ""
    table = Table("day", *(name.replace("_", " ") for name in COUNTED), "spent")
    for title, sums in (
        *((f"{day.day}", day) for day in report.days),
        ("all", report.totals),
    ):
        counts = [f"{getattr(sums, column):,}" for column in COUNTED]
        table.add_row(title, *counts, money(sums.spent * MICROS_PER_UNIT, unit))
    output.print(table)
    for line in say_worth(report):
        output.print(escape(line))
    print_warnings([change.describe(unit) for change in report.changes])


def say_worth(report: ProviderReport) -> Iterator[str]:
    """Yield latencies, and what the provider's answers have changed."""
    newest, without = report.newest, report.without
    if newest.p50_ms is not None:
        times = f"p50 {newest.p50_ms:.0f} ms, p95 {newest.p95_ms:.0f} ms"
        yield f"{times}, of the newest {newest.calls:,} calls"
    if newest.cases:
        yield f"labels changed: {newest.labels_changed:,} of {newest.cases:,} cases"
    if without.cases:
        saved = money(without.saved * MICROS_PER_UNIT, report.unit or "")
        yield (
            f"without it: {without.labels_changed:,} of {without.cases:,} labels would "
            f"be others, and {saved} would be saved"
        )


@commands.command("put")
def put_provider(
    name: Name,
    file: Annotated[
        Path, typer.Argument(help="JSON of the provider, or of several by name.")
    ],
    tenant: Tenant = FIRST,
) -> None:
    """Add a provider, or replace it."""
    if not re.fullmatch(PROVIDER_NAME, name):
        rule = "must be of a-z, 0-9, _, . and -, at most 100 characters"
        raise RefusedError([Refusal("NAME", rule, repr(name[:100]))])
    provider = read_provider(name, file)
    now, settings = datetime.now(UTC), read_settings()
    rules = service.CallRules(settings.secrets, settings.provider_hosts)
    with open_tenant(tenant) as (engine, tenant_id):
        with transaction(engine, tenant_id) as db:
            made = service.put(db, rules, name, provider, now)
        with transaction(engine, tenant_id, is_read=True) as db:
            print_warnings(service.warn(db, LoadedModels(), made.provider.document))
    output.print(f"{escape(name)} is {'added' if made.is_new else 'replaced'}")


def read_provider(name: str, file: Path) -> Provider:
    """Read a provider from a file of one, or of several by name; RefusedError."""
    raw = parse_json(files.read_text(file), str(file))
    is_single = isinstance(raw, Mapping) and "fills" in raw and "request" in raw
    if not is_single:
        if not isinstance(raw, Mapping) or name not in raw:
            known = ", ".join(map(str, raw)) if isinstance(raw, Mapping) else ""
            rule = "must be a provider, or an object that has it by its name"
            raise RefusedError([Refusal(str(file), rule, known[:200])])
        raw = raw[name]
    return read_shape(Provider, raw, name)


@commands.command("delete")
def delete_provider(name: Name, tenant: Tenant = FIRST) -> None:
    """Delete a provider; what its calls cost stays."""
    with provider_transaction(tenant, name) as db:
        service.delete(db, name)
    output.print(f"{escape(name)} is deleted")


@commands.command("test")
def try_provider(
    name: Name,
    key: Annotated[
        list[str] | None,
        typer.Option(
            help="What the case is known by; again for more.", metavar="NAME=TEXT"
        ),
    ] = None,
    tenant: Tenant = FIRST,
) -> None:
    """Call a provider once, which costs its price; print what was read."""
    keys = read_keys(key or ())
    with open_tenant(tenant) as (engine, tenant_id):
        tried = asyncio.run(call_provider(engine, tenant_id, name, keys))
    call = tried.call
    typer.echo(format_json(tried.values))
    for feature, rule in tried.refusals.items():
        print_warnings([f"{feature}: {rule}"])
    status = "no answer" if call.status is None else f"HTTP {call.status}"
    reason = f", {call.reason}" if call.reason else ""
    charged = money(call.charged, call.unit)
    errors.print(f"{call.state} ({status}{reason}), charged {charged}")
    if call.state != "settled":
        raise typer.Exit(1)


async def call_provider(
    engine: sa.Engine, tenant_id: str, name: str, keys: Mapping[str, str]
) -> trials.TriedCall:
    """Reserve a call, send it and settle it; raise RefusedError."""
    settings = read_settings()
    place = trials.TrialPlace(LoadedModels(), settings.secrets, datetime.now(UTC))

    async def work(change: Callable[[Transaction], Any]) -> Any:
        with transaction(engine, tenant_id) as db:
            return change(db)

    sender = Sender(settings.provider_hosts)
    try:
        order = await work(lambda db: trials.prepare(db, place, name, keys))
        return await trials.call_once(order, sender, work, lambda: datetime.now(UTC))
    except (ConflictError, NotFoundError) as error:
        raise RefusedError([Refusal("NAME", str(error))]) from None


def read_keys(texts: list[str] | tuple[()]) -> dict[str, str]:
    """Return the keys of a case from texts such as domain=acme.com."""
    keys: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            rule = "must be NAME=TEXT, such as domain=acme.example"
            raise RefusedError([Refusal("--key", rule)])
        keys[name] = value
    return read_shape(ProviderTest, {"keys": keys}, "--key").keys


@commands.command("init")
def draft_from_openapi(
    api: Annotated[Path, typer.Argument(help="An OpenAPI file of the vendor, JSON.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where the drafts go; standard output."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Draft a provider for each suitable operation of an OpenAPI file."""
    if out is not None:
        files.check_writable(out, "--out")
        if out.exists() and not force:
            rule = "must not be there yet; --force overwrites it"
            raise RefusedError([Refusal("--out", rule, str(out))])
    text = files.read_text(api)
    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        raise RefusedError([Refusal(str(api), YAML_RULE)])
    drafted = draft_providers(parse_json(text, str(api)))
    for note in drafted.notes:
        errors.print(f"[yellow]note[/yellow] {escape(note)}")
    document = format_json(drafted.providers)
    if out is None:
        typer.echo(document)
    else:
        files.replace_file(out, f"{document}\n")
        output.print(f"wrote {escape(str(out))}")
    errors.print(
        "Fill in `price` and `fills` (a bundle or a feature of your model), and name "
        "what is `read` as its features; then: askless providers put"
    )


def format_json(document: object) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False)


@contextmanager
def open_tenant(tenant: str) -> Iterator[tuple[sa.Engine, str]]:
    """Open the database of the settings for a tenant."""
    with open_database() as engine:
        yield engine, require_tenant_id(engine, tenant)


@contextmanager
def provider_transaction(
    tenant: str, name: str, *, is_read: bool = False
) -> Iterator[Transaction]:
    """Open a transaction of a tenant; refuse a provider that it does not have."""
    with open_tenant(tenant) as (engine, tenant_id):
        try:
            with transaction(engine, tenant_id, is_read=is_read) as db:
                yield db
        except NotFoundError:
            rule = "must be a provider of this tenant; askless providers list has them"
            raise RefusedError([Refusal("NAME", rule, repr(name))]) from None
