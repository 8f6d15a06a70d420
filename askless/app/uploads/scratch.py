"""Convert large CSV files to Parquet in a scratch file, block by block."""

import csv
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.fs
import pyarrow.parquet

from askless.app.uploads import first_line, read_table, tidy_names
from askless.app.uploads.bounds import Bounds, refuse_too_many
from askless.app.uploads.csv_tables import (
    COMMA,
    MAX_RAGGED,
    SAMPLE_ROWS,
    Dialect,
    ThousandsSigns,
    arrow_options,
    detect_dialect,
    find_thousands,
    mark_written,
    read_first_rows,
    refuse_ragged,
    replace_decimal_commas,
)
from askless.app.uploads.places import TableFile, stat_file
from askless.app.uploads.unpacking import (
    BYTE_ORDER_MARKS,
    COMPRESSIONS,
    HEAD,
    guess_utf16,
)
from askless.core.errors import Refusal, RefusedError

# Bytes at the start of a text that decide the separator.
LOOK = 1 << 23
# Bytes of a block, of which pyarrow reads 32 ahead, and of a row group.
BLOCK = 1 << 22
GROUP = 1 << 25
DESCRIPTORS = Path("/proc/self/fd")


class NoBlocksError(Exception):
    """The CSV can't be read block by block."""


def write_scratch(
    source: Path,
    bounds: Bounds,
    block: int = BLOCK,
    skipped: list[Refusal] | None = None,
) -> tuple[TableFile, Callable[[], None]]:
    """Write a CSV as Parquet; return the file, and a function that removes it.

    Where the system can, the file has no name, so it ends with this process. Cells are
    texts, as `askless.app.uploads.read_table` reads them, and the same tables are
    refused. Raises RefusedError also if the source changes while it is read.
    """
    original = stat_file(pyarrow.fs.LocalFileSystem(), str(source.absolute()))
    descriptor, name = mkstemp(prefix="askless-", suffix=".parquet")
    scratch = os.fdopen(descriptor, "w+b")
    try:
        try:
            ragged = write_blocks(source, scratch, bounds, block)
            refuse_ragged(ragged, skipped)
        except (NoBlocksError, pa.ArrowException, csv.Error, UnicodeError):
            # Reading the whole file accepts it, or reports why not.
            scratch.seek(0)
            scratch.truncate()
            table = read_table(source, bounds, skipped)
            pyarrow.parquet.write_table(table, scratch)
        except OSError as error:
            rule = "must be readable, and fit the disk as Parquet"
            raise RefusedError([Refusal("table", rule, first_line(error))]) from None
        scratch.flush()
        original.refuse_changed()
        return unlink_if_possible(scratch, Path(name))
    except BaseException:
        scratch.close()
        Path(name).unlink(missing_ok=True)
        raise


def unlink_if_possible(
    scratch: IO[bytes], path: Path
) -> tuple[TableFile, Callable[[], None]]:
    """Unlink the scratch file if it can be opened without a name.

    Return the file and a function that removes it."""
    if DESCRIPTORS.is_dir():
        path.unlink()
        # Not /proc/self, so that child processes find the file too.
        nameless = f"/proc/{os.getpid()}/fd/{scratch.fileno()}"
        return stat_file(pyarrow.fs.LocalFileSystem(), nameless), scratch.close

    def remove() -> None:
        scratch.close()
        path.unlink(missing_ok=True)

    return stat_file(pyarrow.fs.LocalFileSystem(), str(path)), remove


def write_blocks(
    source: Path, target: IO[bytes], bounds: Bounds, block: int
) -> list[Any]:
    """Write a CSV as Parquet block by block; return the rows of a wrong length."""
    with open_text(source) as text:
        head = text.read(LOOK)
    dialect = guess_dialect(head, bounds)
    refuse_too_many(len(dialect.names), bounds.columns, "columns")
    ragged: list[Any] = []

    def keep_ragged(row: Any) -> str:
        ragged.append(row)
        return "skip" if len(ragged) < MAX_RAGGED else "error"

    with open_text(source) as text:
        # Skip the line that names the separator, if there is one.
        text.read(dialect.start)
        options = arrow_options(dialect, block, keep_ragged)
        try:
            with pyarrow.csv.open_csv(text, **options) as batches:
                # Refuse duplicate names before anything is written.
                tidy_names(batches.schema.names)
                write_batches(batches, target, dialect, bounds)
        except pa.ArrowInvalid:
            # The handler ended the reading; any other error is raised as it is.
            if len(ragged) == MAX_RAGGED:
                refuse_ragged(ragged)
            raise
    return ragged


def write_batches(
    batches: Any, target: IO[bytes], dialect: Dialect, bounds: Bounds
) -> None:
    """Write batches as row groups, with decimal commas replaced; refuse many rows.

    Raises NoBlocksError where a later batch shows what the commas of a column mean.
    """
    n_rows = 0
    thousands = ThousandsSigns()
    # Most words occur only few times in a group: dictionaries would double the time.
    schema = mark_written(batches.schema, dialect.separator)
    with pyarrow.parquet.ParquetWriter(target, schema, use_dictionary=False) as writer:
        for rows in join_batches(batches):
            refuse_too_many(n_rows + rows.num_rows, bounds.rows, "rows")
            is_plain = dialect.separator == COMMA
            more = thousands if is_plain else find_thousands(rows) | thousands
            if n_rows and more != thousands:
                raise NoBlocksError
            thousands = more
            n_rows += rows.num_rows
            if not is_plain:
                rows = replace_decimal_commas(rows, thousands)
            writer.write_table(rows.cast(schema))


def join_batches(batches: Any) -> Iterator[Any]:
    """Yield tables of joined batches, each with at least `GROUP` bytes but the last."""
    group: list[Any] = []
    for batch in batches:
        group.append(batch)
        if sum(rows.nbytes for rows in group) >= GROUP:
            yield pa.Table.from_batches(group)
            group = []
    if group:
        yield pa.Table.from_batches(group)


def guess_dialect(head: bytes, bounds: Bounds) -> Dialect:
    """Return the dialect of a CSV from its beginning.

    Raises NoBlocksError if the whole file could lead to another one.
    """
    if bounds.cell_bytes is not None:
        # Lines must then be checked before they are split.
        raise NoBlocksError
    if len(head) < LOOK:
        return detect_dialect(head, bounds)
    # The last row may be cut off.
    whole_rows = head[: head.rfind(b"\n") + 1]
    dialect = detect_dialect(whole_rows, bounds)
    # Without `SAMPLE_ROWS` whole rows, more of the file could change the choice.
    if (
        len(read_first_rows(whole_rows, dialect.start, dialect.separator))
        <= SAMPLE_ROWS
    ):
        raise NoBlocksError
    return dialect


@contextmanager
def open_text(source: Path) -> Iterator[Any]:
    """Open a file as UTF-8 text, unpacked if it is compressed."""
    with open_bytes(source) as raw:
        head = raw.read(HEAD)
    encoding = BYTE_ORDER_MARKS.get(head[:2]) or guess_utf16(head)
    with open_bytes(source) as raw:
        if encoding is None:
            yield raw
        else:
            yield pa.transcoding_input_stream(raw, encoding, "utf-8")


@contextmanager
def open_bytes(source: Path) -> Iterator[Any]:
    """Open a file's bytes, unpacked if it is compressed."""
    with pa.OSFile(str(source)) as raw:
        magic = raw.read(10)
        raw.seek(0)
        compressions = [
            compression
            for start, compression in COMPRESSIONS.items()
            if magic.startswith(start)
        ]
        if not compressions:
            yield raw
            return
        with pa.CompressedInputStream(raw, compressions[0]) as unpacked:
            yield unpacked
