"""Join tables by their rows: columns by name, cells of absent columns missing."""

from collections.abc import Collection, Sequence
from io import BytesIO
from typing import IO, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from askless.app.documents.session.cases import blank_absent
from askless.app.uploads.bounds import Bounds, refuse_too_many
from askless.app.uploads.columns import (
    TYPE_RULE,
    WRITTEN,
    are_all_numbers,
    cells_to_texts,
    holds_numbers,
    is_declared_text,
    is_numeric_type,
    plain_type,
    to_column,
)
from askless.app.uploads.silent import RULE, read_case_cells
from askless.core.errors import Refusal, RefusedError
from askless.core.table.spec import CASE_COLUMN


class NamedTable(NamedTuple):
    """A table as it was read, the name that users know it by, and its place."""

    name: str
    cells: Any
    #: how refusals name it
    where: str


def join_tables(
    tables: Sequence[NamedTable],
    typed: Collection[str],
    required: Collection[str],
    unused: Collection[str] = (),
) -> Any:
    """Return the rows of all tables in one arrow table.

    Columns in `typed`, whose type is known, may be numbers in one table and words in
    another. Columns in `required` must be in every table. Columns in `unused` may hold
    anything, and are missing where they hold no cells. In the column `askless_case`
    rows say which columns their table has not: a cell that nobody filled in says
    nothing of the row. Raises RefusedError with every broken rule.
    """
    names = dict.fromkeys(name for table in tables for name in table.cells.column_names)
    refusals = [
        Refusal(table.where, f"must have the column {name}")
        for table in tables
        for name in required
        if name not in table.cells.column_names
    ]
    columns = {}
    for name in names:
        if name == CASE_COLUMN:
            continue
        is_free = name in typed or name in unused
        wrong = [] if is_free else check_kinds(tables, name)
        refusals += wrong
        if wrong:
            continue
        try:
            columns[name] = join_column(tables, name)
        except RefusedError as error:
            if name in unused:
                n_rows = sum(table.cells.num_rows for table in tables)
                columns[name] = pa.nulls(n_rows, pa.string())
            else:
                refusals += error.refusals
    if refusals:
        raise RefusedError(refusals)
    cases = [cell for table in tables for cell in build_case_cells(table, columns)]
    if any(cell is not None for cell in cases):
        columns[CASE_COLUMN] = pa.array(cases, pa.string())
    return mark_joined(pa.table(columns), tables)


def mark_joined(joined: Any, tables: Sequence[NamedTable]) -> Any:
    """Return joined tables; a column has no type that is declared in none of them."""
    declared = {
        field.name
        for table in tables
        for field in table.cells.schema
        if is_declared_text(field)
    }
    fields = [
        field if field.name in declared else field.with_metadata({WRITTEN: b""})
        for field in joined.schema
    ]
    return joined.cast(pa.schema(fields))


def check_kinds(tables: Sequence[NamedTable], name: str) -> list[Refusal]:
    """Return refusals of tables whose column differs from the first that has it."""
    first: tuple[str, str] | None = None
    refusals = []
    for table in tables:
        if name not in table.cells.column_names:
            continue
        try:
            kind = kind_of_cells(table.cells.column(name))
        except pa.ArrowException:
            refusals.append(Refusal(f"{table.where}, column {name}", TYPE_RULE))
            continue
        if kind is None:
            continue
        first = first or (kind, table.name)
        if kind != first[0]:
            rule = (
                f"must hold {first[0]}, as in {first[1]}, not {kind}; or say the "
                "type of the feature in the spec"
            )
            refusals.append(Refusal(f"{table.where}, column {name}", rule))
    return refusals


def kind_of_cells(cells: Any) -> str | None:
    """Return the kind of a column's cells; None where it is empty."""
    if len(cells) == cells.null_count:
        return None
    if is_numeric_type(plain_type(cells.type)):
        return "numbers"
    words = (cells_to_texts(decode_dictionary(chunk)) for chunk in cells.chunks)
    return "numbers" if are_all_numbers(words) else "words"


def join_column(tables: Sequence[NamedTable], name: str) -> Any:
    """Return a column's cells of all tables; raise RefusedError for lists."""
    parts = [
        table.cells.column(name) if name in table.cells.column_names else None
        for table in tables
    ]
    kinds = [plain_type(part.type) for part in parts if part is not None]
    to_common, kind = to_texts, pa.string()
    if all(map(pa.types.is_boolean, kinds)):
        to_common, kind = to_booleans, pa.bool_()
    elif all(
        holds_numbers(part.type, part.chunks, keep_text=True)
        for part in parts
        if part is not None
    ):
        to_common, kind = to_floats, pa.float64()
    chunks, refusals = [], []
    for part, table in zip(parts, tables, strict=True):
        if part is None:
            chunks.append(pa.nulls(table.cells.num_rows, kind))
            continue
        try:
            chunks += [to_common(chunk) for chunk in part.chunks]
        except pa.ArrowException:
            refusals.append(Refusal(f"{table.where}, column {name}", TYPE_RULE))
    if refusals:
        raise RefusedError(refusals)
    return pa.chunked_array(chunks, kind)


def to_floats(cells: Any) -> Any:
    return decode_dictionary(cells).cast(pa.float64(), safe=False)


def to_booleans(cells: Any) -> Any:
    return decode_dictionary(cells).cast(pa.bool_())


def to_texts(cells: Any) -> Any:
    """Return cells as text; numbers as tables of text write them."""
    return cells_to_texts(decode_dictionary(cells))


def decode_dictionary(cells: Any) -> Any:
    return cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells


def build_case_cells(table: NamedTable, columns: Collection[str]) -> list[str | None]:
    """Return the case documents of a table's rows, which name the absent columns.

    Raises RefusedError for a cell that is no document.
    """
    names = table.cells.column_names
    absent = [name for name in columns if name not in names]
    if CASE_COLUMN not in names:
        return [blank_absent(None, absent)] * table.cells.num_rows
    field = f"{table.where}, column {CASE_COLUMN}"
    try:
        cells_of_case = table.cells.column(CASE_COLUMN)
        column = to_column(cells_of_case.chunks, len(cells_of_case), is_number=False)
    except pa.ArrowException:
        raise RefusedError([Refusal(field, RULE)]) from None
    places, cells = read_case_cells(
        column, lambda case: blank_absent(case, absent), field
    )
    return [cells[place] for place in places.tolist()]


def write_parquet(table: Any) -> bytes:
    stream = BytesIO()
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()


def split_file(file: IO[bytes], lengths: Sequence[int]) -> list[BytesIO]:
    """Return the files that stand one after the other in one."""
    return [BytesIO(file.read(length)) for length in lengths]


def refuse_too_many_together(tables: Sequence[NamedTable], bounds: Bounds) -> None:
    """Refuse tables that have more rows or columns together than one may have."""
    names = {name for table in tables for name in table.cells.column_names}
    refuse_too_many(sum(table.cells.num_rows for table in tables), bounds.rows, "rows")
    refuse_too_many(len(names), bounds.columns, "columns")
