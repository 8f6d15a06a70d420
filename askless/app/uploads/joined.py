"""Read several tables as one, in a child process, and check it with a spec."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

from askless.app.documents.spec.spec import read_spec_parts
from askless.app.processes.limited import IsWanted, run_limited
from askless.app.uploads.bounds import Bounds
from askless.app.uploads.joining import (
    NamedTable,
    join_tables,
    refuse_too_many_together,
    split_file,
    write_parquet,
)
from askless.app.uploads.parsing import (
    JudgedTable,
    ReferredTable,
    TableReader,
    TableSource,
    check_rows_and_spec,
    open_bounded,
    read_bounded,
)
from askless.app.uploads.streams import StreamedTable
from askless.core.errors import Refusal, RefusedError
from askless.core.table.check import list_unused_columns
from askless.core.table.spec import TableSpec

#: How refusals name one of the tables.
PLACE = "datasets[{}]"


class NamedSource(NamedTuple):
    """A table with the name that users know it by."""

    name: str
    source: TableSource


def join_sources(
    reader: TableReader,
    sources: Sequence[NamedSource],
    raw: Mapping[str, Any],
    is_wanted: IsWanted,
) -> tuple[JudgedTable, bytes]:
    """Join tables by their rows, and check them and a spec as one table.

    Returns the joined table as a Parquet file, too. Raises RefusedError with every
    broken rule; a table that stays where it is can't be joined.
    """
    names = [source.name for source in sources]
    refusals, lengths = [], []
    with TemporaryFile() as file:
        for place, source in enumerate(sources):
            if isinstance(source.source, ReferredTable):
                rule = "must be uploaded, to be joined: this table stays elsewhere"
                refusals.append(Refusal(PLACE.format(place), rule))
                continue
            start = file.tell()
            copyfileobj(source.source, file)
            lengths.append(file.tell() - start)
        if refusals:
            raise RefusedError(refusals)
        arguments = reader.bounds, lengths, names, dict(raw)
        joined: tuple[JudgedTable, bytes] = run_limited(
            reader.limits, file, join_files, *arguments, is_wanted=is_wanted
        )
        return joined


def join_files(
    file: IO[bytes],
    bounds: Bounds,
    lengths: Sequence[int],
    names: Sequence[str],
    raw: dict[str, Any],
) -> tuple[JudgedTable, bytes]:
    """Join the tables that stand one after the other in a file; judge them as one."""
    tables = []
    refusals: list[Refusal] = []
    parts = split_file(file, lengths)
    for place, (name, part) in enumerate(zip(names, parts, strict=True)):
        where = PLACE.format(place)
        try:
            tables.append(NamedTable(name, read_bounded(part, bounds), where))
        except RefusedError as error:
            refusals += (
                replace(refusal, field=f"{where}, {refusal.field}")
                for refusal in error.refusals
            )
    if refusals:
        raise RefusedError(refusals)
    refuse_too_many_together(tables, bounds)
    content = b""

    def read_joined() -> StreamedTable:
        nonlocal content
        spec, _ = read_spec_parts(raw)
        uses = classify_columns(tables, None if spec is None else spec.table)
        content = write_parquet(join_tables(tables, *uses))
        return open_bounded(BytesIO(content), bounds)

    return check_rows_and_spec(read_joined, raw), content


def classify_columns(
    tables: Sequence[NamedTable], spec: TableSpec | None
) -> tuple[Collection[str], Collection[str], Collection[str]]:
    """Return the columns whose types a spec says, those it can't do without, and those
    it doesn't use.

    Features are not among the second: a table that lacks one has it missing.
    """
    if spec is None:
        return (), (), ()
    typed = {
        feature.name
        for feature in spec.features or ()
        if feature.name not in spec.untyped
    }
    roles = [role for role in spec.roles.values() if role is not None]
    names = [name for table in tables for name in table.cells.column_names]
    return typed | {*roles}, roles, list_unused_columns(names, spec)
