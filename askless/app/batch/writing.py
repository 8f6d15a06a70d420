"""Write predictions block by block, to a file that appears once it is whole."""

import csv
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa

from askless.app.batch.results import PARQUET, csv_rows
from askless.core.errors import Refusal, RefusedError

# Rows of a row group, whatever the size of blocks.
GROUP_ROWS = 1 << 17


class ResultFile(Protocol):
    """A file to which arrow tables of one schema are appended."""

    def add(self, table: Any) -> None: ...


@dataclass
class CsvFile:
    """CSV; the first `n_kept` columns are not formatted."""

    stream: IO[str]
    n_kept: int
    is_begun: bool = False

    def add(self, table: Any) -> None:
        writer = csv.writer(self.stream, lineterminator="\n")
        if not self.is_begun:
            writer.writerow(table.column_names)
        self.is_begun = True
        writer.writerows(csv_rows(table, self.n_kept))


@dataclass
class ParquetFile:
    """Parquet with row groups of one size, whatever the size of blocks."""

    stream: IO[bytes]
    writer: Any = None
    waiting: list[Any] = field(default_factory=list)

    def add(self, table: Any) -> None:
        if self.writer is None:
            # Loaded where it is needed: most tables are CSV.
            from pyarrow import parquet

            self.writer = parquet.ParquetWriter(self.stream, table.schema)
        self.waiting.append(table)
        while sum(chunk.num_rows for chunk in self.waiting) >= GROUP_ROWS:
            self.write(GROUP_ROWS)

    def write(self, n_rows: int) -> None:
        """Write the first waiting rows as a row group."""
        waiting = pa.concat_tables(self.waiting)
        self.writer.write_table(waiting.slice(0, n_rows).combine_chunks())
        self.waiting = [waiting.slice(n_rows)]

    def end(self) -> None:
        """Write the waiting rows and the footer."""
        if sum(chunk.num_rows for chunk in self.waiting):
            self.write(GROUP_ROWS)
        self.close()

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


@contextmanager
def open_result(out: Path, n_kept: int) -> Iterator[ResultFile]:
    """Open a result file for writing, its format by its ending.

    It gets its name once all went well; until then an older file of that name stays.
    """
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        with (
            partial.open("wb") as stream,
            open_stream(stream, n_kept, is_csv=out.suffix.lower() != PARQUET) as file,
        ):
            yield file
        partial.replace(out)
    except OSError as error:
        rule = "must be writable"
        raise RefusedError([Refusal(str(out), rule, error.strerror or "")]) from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


@contextmanager
def open_stream(
    stream: IO[bytes], n_kept: int, *, is_csv: bool
) -> Iterator[ResultFile]:
    """Write to a stream, which stays open; after an error it is incomplete."""
    if is_csv:
        lines = io.TextIOWrapper(stream, "utf-8", newline="")
        yield CsvFile(lines, n_kept)
        # Writes what is left, and keeps the closing wrapper from closing the stream.
        lines.detach()
    else:
        file = ParquetFile(stream)
        with closing(file):
            yield file
            file.end()


@contextmanager
def open_stdout(n_kept: int) -> Iterator[ResultFile]:
    """Collect CSV in a temporary file, and print it once it is whole."""
    with tempfile.TemporaryFile() as stream:
        with open_stream(stream, n_kept, is_csv=True) as file:
            yield file
        stream.seek(0)
        lines = io.TextIOWrapper(stream, "utf-8", newline="")
        shutil.copyfileobj(lines, sys.stdout)
