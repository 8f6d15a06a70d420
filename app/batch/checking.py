"""Checks the order of a job with its table, in a child process."""

from dataclasses import dataclass
from typing import IO, Any

from app.batch.labelled import columns_with_text, refuse_options
from app.batch.measuring import check_labelled, plan_measuring
from app.batch.orders import read_evaluate, read_predict
from app.batch.predicting import (
    NO_CELLS,
    check_source,
    find_text,
    plan_prediction,
    refuse_unknown,
)
from app.batch.sources import MemoryRows
from app.uploads import Bounds
from app.uploads.parsing import TableFacts, facts_of, read_bounded
from core.errors import RefusedError
from core.model.model import Model
from core.table.columns import unknown_column


@dataclass(frozen=True)
class CheckedOrder:
    """Facts of the table of an order, and warnings for the caller."""

    facts: TableFacts
    warnings: tuple[str, ...]


def check_file(
    file: IO[bytes], bounds: Bounds, kind: str, model: Model, raw: dict[str, Any]
) -> CheckedOrder:
    """Check an order and a table for a model; runs in a child process."""
    if kind == "predict":
        order = read_predict(raw, model)
        table = read_bounded(file, bounds)
        source = MemoryRows(table, find_text(model.ensemble, order))
        work = plan_prediction(model.ensemble, source, order, str)
        warnings = check_source(source, work)
    else:
        measure = read_evaluate(raw, model)
        table = read_bounded(file, bounds)
        rows = MemoryRows(table, columns_with_text(model))
        warnings = check_labelled(rows, plan_measuring(model, rows, measure, str), str)
    return CheckedOrder(facts_of(table), tuple(warnings))


def check_named(
    facts: TableFacts, kind: str, model: Model, raw: dict[str, Any]
) -> None:
    """Check an order and the names of a table's columns for a model."""
    columns = dict.fromkeys(facts.columns, NO_CELLS)
    if kind == "predict":
        refuse_unknown(columns, read_predict(raw, model), str)
        return
    table = read_evaluate(raw, model).table
    refusals = refuse_options(columns, table, str)
    if table.target not in columns and table.target.strip() not in columns:
        refusals.append(unknown_column("target", table.target, columns))
    if refusals:
        raise RefusedError(refusals)
