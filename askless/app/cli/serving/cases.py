"""The command `cases`: closed cases of the service's database, as a table."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from askless.app.batch.writing import open_result, open_stdout
from askless.app.cli.options import output
from askless.app.cli.serving.keys import open_database, require_tenant_id
from askless.app.cli.serving.tenant_option import FIRST, Tenant
from askless.app.documents.http.datasets import read_time
from askless.app.errors import NotFoundError
from askless.app.service.loaded import LoadedModels
from askless.app.service.loop.case_tables import make_table
from askless.app.service.loop.cases import CaseSpan, find_cases, query_of
from askless.app.settings.environment import read_settings
from askless.app.store.database.engine import transaction
from askless.core.errors import Refusal, RefusedError


def parse_time(text: str) -> datetime:
    try:
        return read_time(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


Of = Annotated[
    str,
    typer.Option(
        help="Model: a name for all versions, name@2 or an id for one.", metavar="MODEL"
    ),
]
Since = Annotated[
    datetime | None,
    typer.Option(
        help="Cases known (closed, with an outcome) from this day or time on.",
        parser=parse_time,
        metavar="TIME",
    ),
]
Until = Annotated[
    datetime | None,
    typer.Option(help="Cases known before then.", parser=parse_time, metavar="TIME"),
]
Out = Annotated[
    Path | None,
    typer.Option("-o", help="CSV, or Parquet by its ending; default: print CSV."),
]


def write_cases(
    of: Of,
    since: Since = None,
    until: Until = None,
    out: Out = None,
    tenant: Tenant = FIRST,
) -> None:
    table = read_cases(of, CaseSpan(since, until), tenant)
    # Nothing is formatted: numbers must be read back to the same bits.
    n_kept = table.num_columns
    with open_stdout(n_kept) if out is None else open_result(out, n_kept) as file:
        file.add(table)
    if out is not None:
        output.print(f"wrote {table.num_rows} cases to {out}")


def read_cases(key: str, span: CaseSpan, tenant: str) -> Any:
    """Return the cases of the settings' database as an arrow table."""
    settings = read_settings()
    at = settings.moment_at(datetime.now(UTC))
    with open_database() as engine:
        tenant_id = require_tenant_id(engine, tenant)
        try:
            with transaction(engine, tenant_id, is_read=True) as db:
                query = query_of(db, key, span)
                return make_table(find_cases(db, LoadedModels(), query, at))
        except NotFoundError as error:
            rule = "must be a stored model"
            raise RefusedError([Refusal("--of", rule, str(error))]) from None
