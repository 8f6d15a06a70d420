"""The command `verify`: whether receipts and the ledger are what was written."""

from pathlib import Path
from typing import Annotated

import sqlalchemy as sa
import typer
from rich.markup import escape

from askless.app.cli.options import errors, output
from askless.app.cli.serving.keys import open_database
from askless.app.documents import files
from askless.app.documents.text import parse_json
from askless.app.service import keys
from askless.app.service.buying import verifying
from askless.app.store.database.engine import transaction
from askless.core.errors import Refusal, RefusedError

ReceiptFile = Annotated[
    Path | None,
    typer.Argument(help="Receipt, JSON; without one the whole ledger is verified."),
]
Alone = Annotated[
    bool,
    typer.Option(
        "--alone", help="Verify the file by itself, without the service's database."
    ),
]


def verify_receipt(receipt: ReceiptFile = None, alone: Alone = False) -> None:
    faults = verify_ledger() if receipt is None else verify_file(receipt, alone=alone)
    for fault in faults:
        errors.print(f"[red]changed[/red] {escape(fault)}")
    if faults:
        raise typer.Exit(1)
    output.print("as it was written" if receipt else "the ledger is as it was written")


def verify_file(path: Path, *, alone: bool) -> list[str]:
    """Return what is wrong with a receipt by itself, then beside the database."""
    document = parse_json(files.read_text(path), str(path))
    if not isinstance(document, dict):
        raise RefusedError([Refusal(str(path), "must be a receipt: an object")])
    faults = verifying.check_receipt(document)
    if faults or alone:
        return faults
    with open_database() as engine:
        for tenant_id in list_tenant_ids(engine):
            with transaction(engine, tenant_id, is_read=True) as db:
                faults = verifying.check_stored(db, document)
            if faults != [verifying.UNKNOWN]:
                break
    return faults


def verify_ledger() -> list[str]:
    """Return the rows of all tenants that are not what was written."""
    faults: list[str] = []
    with open_database() as engine:
        for tenant_id in list_tenant_ids(engine):
            with transaction(engine, tenant_id, is_read=True) as db:
                faults += verifying.check_ledger(db)
    return faults


def list_tenant_ids(engine: sa.Engine) -> list[str]:
    with transaction(engine, None, is_read=True) as db:
        return [tenant_id for tenant_id, _, _ in keys.all_tenants(db)]
