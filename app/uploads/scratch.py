"""Converts large CSV files to Parquet in a scratch file, block by block."""

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

from app.uploads import read_table, short
from app.uploads.bounds import Bounds, refuse_more
from app.uploads.csv_tables import (
    COMMA,
    MAX_RAGGED,
    SAMPLE_ROWS,
    Dialect,
    find_dialect,
    options,
    refuse_ragged,
    sample,
    with_points,
)
from app.uploads.names import tidy_names
from app.uploads.places import TableFile, find_file
from app.uploads.unpacking import BYTE_ORDER_MARKS, COMPRESSIONS, HEAD, guess_utf16
from core.errors import Refusal, RefusedError

# Bytes at the start of a text in which the separator is looked for.
LOOK = 1 << 23
# Of these pyarrow reads 32 ahead.
BLOCK = 1 << 22
GROUP = 1 << 25
DESCRIPTORS = Path("/proc/self/fd")


class NoBlocksError(Exception):
    """The CSV can't be read block by block."""


def write_scratch(
    source: Path, bounds: Bounds, block: int = BLOCK
) -> tuple[TableFile, Callable[[], None]]:
    """Write a CSV as Parquet; return the file, and a function that removes it.

    Where the system can, the file has no name: it is gone with this process, however
    that ends. Cells are texts, as `app.uploads.read_table` reads them, and what that
    refuses is refused.
    """
    was = find_file(pyarrow.fs.LocalFileSystem(), str(source.absolute()))
    descriptor, name = mkstemp(prefix="askless-", suffix=".parquet")
    scratch = os.fdopen(descriptor, "w+b")
    try:
        try:
            write_blocks(source, scratch, bounds, block)
        except (NoBlocksError, pa.ArrowException, csv.Error, UnicodeError):
            # The reader of whole files accepts it or says why not.
            scratch.seek(0)
            scratch.truncate()
            pyarrow.parquet.write_table(read_table(source, bounds), scratch)
        except OSError as error:
            rule = "must be readable, and fit the disk as Parquet"
            raise RefusedError([Refusal("table", rule, short(error))]) from None
        scratch.flush()
        was.refuse_changed()
        return hide(scratch, Path(name))
    except BaseException:
        scratch.close()
        Path(name).unlink(missing_ok=True)
        raise


def hide(scratch: IO[bytes], path: Path) -> tuple[TableFile, Callable[[], None]]:
    """Unlink the scratch file where the system can open it without a name."""
    if DESCRIPTORS.is_dir():
        path.unlink()
        # Of this process, so that those it starts find the file too.
        named = f"/proc/{os.getpid()}/fd/{scratch.fileno()}"
        return find_file(pyarrow.fs.LocalFileSystem(), named), scratch.close

    def remove() -> None:
        scratch.close()
        path.unlink(missing_ok=True)

    return find_file(pyarrow.fs.LocalFileSystem(), str(path)), remove


def write_blocks(source: Path, target: IO[bytes], bounds: Bounds, block: int) -> None:
    """Write the rows of a CSV, some at a time; each block becomes a row group."""
    with open_text(source) as text:
        head = text.read(LOOK)
    dialect = find_early(head, bounds)
    refuse_more(len(dialect.names), bounds.columns, "columns")
    ragged: list[Any] = []

    def keep_ragged(row: Any) -> str:
        ragged.append(row)
        return "skip" if len(ragged) < MAX_RAGGED else "error"

    with open_text(source) as text:
        text.read(dialect.start)
        chosen = options(dialect, block, keep_ragged)
        try:
            with pyarrow.csv.open_csv(text, **chosen) as batches:
                # What is refused has no table.
                tidy_names(batches.schema.names)
                write_batches(batches, target, dialect, bounds)
        except pa.ArrowInvalid:
            if len(ragged) == MAX_RAGGED:
                refuse_ragged(ragged)
            raise
    refuse_ragged(ragged)


def write_batches(
    batches: Any, target: IO[bytes], dialect: Dialect, bounds: Bounds
) -> None:
    n_rows = 0
    # Most words stand once or few times in a group: dictionaries take twice the time.
    with pyarrow.parquet.ParquetWriter(
        target, batches.schema, use_dictionary=False
    ) as writer:
        for rows in gather(batches):
            n_rows += rows.num_rows
            refuse_more(n_rows, bounds.rows, "rows")
            is_plain = dialect.separator == COMMA
            writer.write_table(rows if is_plain else with_points(rows))


def gather(batches: Any) -> Iterator[Any]:
    """Yield batches joined to tables of the size of a row group."""
    kept: list[Any] = []
    for batch in batches:
        kept.append(batch)
        if sum(one.nbytes for one in kept) >= GROUP:
            yield pa.Table.from_batches(kept)
            kept = []
    if kept:
        yield pa.Table.from_batches(kept)


def find_early(head: bytes, bounds: Bounds) -> Dialect:
    """Return the dialect of a CSV, judged by its beginning.

    Raises NoBlocksError where that is not what the whole would tell.
    """
    if bounds.cell_bytes is not None:
        # Lines are bounded then before they are split.
        raise NoBlocksError
    if len(head) < LOOK:
        return find_dialect(head, bounds)
    # A character, or a row, may be cut.
    whole = head[: head.rfind(b"\n") + 1]
    dialect = find_dialect(whole, bounds)
    if len(sample(whole, dialect.start, dialect.separator)) <= SAMPLE_ROWS:
        raise NoBlocksError
    return dialect


@contextmanager
def open_text(source: Path) -> Iterator[Any]:
    """Open a file as UTF-8, unpacked where it is compressed."""
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
    with pa.OSFile(str(source)) as raw:
        magic = raw.read(10)
        raw.seek(0)
        found = [one for start, one in COMPRESSIONS.items() if magic.startswith(start)]
        if not found:
            yield raw
            return
        with pa.CompressedInputStream(raw, found[0]) as unpacked:
            yield unpacked
