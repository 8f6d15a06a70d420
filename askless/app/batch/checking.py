"""Check orders of jobs with their tables in a child process."""

from dataclasses import dataclass
from typing import IO, Any

from askless.app.batch.kinds import TABLE_KINDS
from askless.app.batch.predicting import NO_CELLS
from askless.app.batch.sources import RowSource
from askless.app.uploads import Bounds
from askless.app.uploads.parsing import TableFacts, facts_of_table, open_bounded
from askless.core.model.model import Model


@dataclass(frozen=True)
class CheckedOrder:
    """Facts of an order's table, and warnings for the caller."""

    facts: TableFacts
    warnings: tuple[str, ...]


def check_order_and_table(
    file: IO[bytes], bounds: Bounds, kind: str, model: Model, raw: dict[str, Any]
) -> CheckedOrder:
    """Check an order and a table for a model; runs in a child process."""
    checks = TABLE_KINDS[kind]
    order = checks.read(raw, model)
    table = open_bounded(file, bounds)
    source = RowSource(table.with_text(checks.text_columns(model, order)))
    return CheckedOrder(
        facts_of_table(table), tuple(checks.check_rows(model, source, order))
    )


def check_order_names(
    facts: TableFacts, kind: str, model: Model, raw: dict[str, Any]
) -> None:
    """Check an order and the names of a table's columns for a model."""
    columns = dict.fromkeys(facts.columns, NO_CELLS)
    checks = TABLE_KINDS[kind]
    checks.check_names(model, columns, checks.read(raw, model))
