"""Check a spec and a table together; report every broken rule of both."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from askless.app.documents.mending import FRESH
from askless.app.documents.spec.spec import read_spec_parts
from askless.app.processes.memory import available_bytes
from askless.app.uploads import Bounds
from askless.app.uploads.silent import SilentCells, read_silent_cells
from askless.app.uploads.streams import HeldTable, StreamedTable, open_table
from askless.core.errors import Refusal, RefusedError
from askless.core.pipeline.check import check_training
from askless.core.pipeline.preparing import (
    PreparedTable,
    prepare_columns,
    prepare_table,
)
from askless.core.pipeline.spec import TrainingSpec
from askless.core.table.check import CheckedTable, choose_columns, list_unused_columns
from askless.core.table.columns import unknown_column
from askless.core.table.spec import CASE_COLUMN

# Fields of a spec that decide how columns are read: whole ones, and parts of others.
# If one is wrong, the table can't be checked.
WHOLES = {"spec", "target", "features", "groups", "weight", "group_by"}
PARTS = {"type", "ignore", "missing", "rare"}


AnyTable = TypeVar("AnyTable", CheckedTable, PreparedTable)


def check_spec_and_table(
    raw: object, read: Callable[[], StreamedTable]
) -> tuple[TrainingSpec, CheckedTable]:
    """Check a spec and the table that `read` returns; raise RefusedError."""
    spec, refusals = read_spec_parts(raw)
    try:
        table = read()
        # The `except` clause below adds the spec's refusals to those of the table.
        if spec is None or not are_columns_decided(refusals):
            raise RefusedError(refusals)
        checked = check_columns(table, spec)
    except RefusedError as error:
        # A name with `FRESH` stands for a wrong one, which `refusals` names already.
        of_table = (refusal for refusal in error.refusals if FRESH not in str(refusal))
        raise RefusedError(dict.fromkeys([*refusals, *of_table])) from None
    if refusals:
        raise RefusedError(refusals)
    return spec, checked


def check_names(
    raw: object, names: Iterable[str], n_rows: int
) -> tuple[TrainingSpec, tuple[str, ...]]:
    """Check a spec against column names; return the features too."""
    spec, refusals = read_spec_parts(raw)
    more: list[Refusal] = []
    features: tuple[str, ...] = ()
    if spec is not None and are_columns_decided(refusals):
        # Features are chosen by their names; no cell is read.
        columns = dict.fromkeys(names, np.empty(0))
        chosen, more = choose_columns(columns, spec.table, n_rows)
        features = tuple(feature.name for feature in chosen)
        absent = [feature for feature in features if feature not in columns]
        more += [unknown_column("features", name, columns) for name in absent]
    if spec is None or refusals or more:
        more = [refusal for refusal in more if FRESH not in str(refusal)]
        raise RefusedError(dict.fromkeys([*refusals, *more]))
    return spec, features


def check_columns(table: StreamedTable, spec: TrainingSpec) -> CheckedTable:
    """Check a table by a spec; columns that the spec doesn't use are not read."""
    names = list(table)
    unused = list_unused_columns(names, spec.table) - {CASE_COLUMN}
    spec = with_declared(spec, table)
    table = table.with_text({*list_columns_as_written(table, spec), CASE_COLUMN})
    used = [name for name in names if name not in unused]
    read = table.read_rows(0, table.n_rows, used)
    missing = np.broadcast_to(np.nan, table.n_rows)
    columns = {name: read.get(name, missing) for name in names}
    silent = read_silent_cells(columns)
    find = None if silent is None else silent.find
    checked = check_training(columns, spec, available_bytes(), find)
    return checked if silent is None else add_case_note(checked, silent)


def list_columns_as_written(table: StreamedTable, spec: TrainingSpec) -> frozenset[str]:
    """Return the columns of a table whose cells stay as written."""
    # Whoever says which words mean missing reads every word of the table.
    has_words = spec.table.missing_words is not None
    return frozenset(table) if has_words else spec.table.text_columns


def with_declared(spec: TrainingSpec, table: StreamedTable) -> TrainingSpec:
    """Return a spec that knows which columns of a table are declared as texts."""
    return replace(spec, table=replace(spec.table, declared=table.declared_texts))


def prepare_streamed(
    table: StreamedTable, spec: TrainingSpec, *, keeps_codes: bool = True
) -> PreparedTable:
    """Check and prepare a table whose columns are read one at a time.

    A table in memory is coded at once, which is faster where there are few rows.
    """
    if isinstance(table, HeldTable):
        return prepare_table(check_columns(table, spec), spec)
    spec = with_declared(spec, table)
    if spec.table.missing_words is not None:
        table = table.with_text(list_columns_as_written(table, spec))
    silent = read_silent_cells(table)
    prepared = prepare_columns(
        *(table, table.n_rows, spec, available_bytes()),
        keeps_codes=keeps_codes,
        silent=None if silent is None else silent.find,
    )
    return prepared if silent is None else add_case_note(prepared, silent)


def add_case_note(table: AnyTable, silent: SilentCells) -> AnyTable:
    """Return a table with a warning more if some of its rows are closed cases."""
    return replace(table, warnings=(*table.warnings, *silent.warnings))


def read_training(
    source: Path | str, spec: TrainingSpec, skipped: list[Refusal] | None = None
) -> PreparedTable:
    """Read a table to train on; raise RefusedError if it can't be used.

    Parquet and large CSV are read a column at a time, so they may exceed the memory.
    `skipped`: see `askless.app.uploads.read_table`.
    """
    bounds = Bounds(memory=available_bytes())
    table = open_table(source, spec.table.text_columns, bounds, skipped)
    return prepare_streamed(table, spec)


def are_columns_decided(refusals: list[Refusal]) -> bool:
    """Return whether a spec's errors leave it certain how columns are to be read."""
    fields = [refusal.field for refusal in refusals]
    parts = {part for field in fields for part in re.split(r"[.\[]", field)}
    return not (WHOLES & {*fields} or PARTS & parts)
