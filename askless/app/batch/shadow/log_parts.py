"""Read a log in parts that fit the memory; all rows of a case are in one of them.

A part is a file of arrow batches. It has the columns that are read, then the number
of each row in the log.
"""

from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from askless.app.batch.shadow.held_logs import RECORDS, HeldLog
from askless.app.batch.shadow.log_files import LogFile
from askless.app.batch.shadow.log_values import read_part
from askless.app.uploads.streams import HeldTable
from askless.core.arrays import IntArray
from askless.core.table.columns import Cells, Columns, to_text_cells
from askless.core.work import convert_steps

# Rows of a part on the mean, and most parts: each is an open file.
PART_ROWS, MOST_PARTS = 1 << 17, 256
OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


def deal_log(log: LogFile, folder: Path) -> Generator[float, None, list[Path]]:
    """Write the parts of a log to a folder; yield the share of the rows that is done.

    Rows without a case are left out, and named.
    """
    n_parts = min(MOST_PARTS, -(-log.n_rows // PART_ROWS))
    paths = [folder / f"part {number}" for number in range(n_parts)]
    writers: list[pa.ipc.RecordBatchStreamWriter] = []
    with ExitStack() as stack:
        for start, columns in log.read_chunks(log.columns):
            cells = to_text_cells(columns[log.mapping.case])
            log.problems.add("rows_without_case", int(cells.is_missing.sum()))
            batch = make_batch(columns, start, len(cells))
            if not writers:
                writers = open_writers(paths, batch.schema, stack)
            parts = part_of_rows(cells, n_parts)
            for number, writer in enumerate(writers):
                writer.write_batch(
                    batch.take(pa.array(np.flatnonzero(parts == number)))
                )
            yield (start + len(cells)) / log.n_rows
    return paths


def make_batch(columns: Columns, start: int, n_rows: int) -> pa.RecordBatch:
    """Return rows of a log in arrow, with their numbers, which begin at `start`."""
    arrays = [
        # These texts may all be missing, which has no type of its own.
        pa.array(column, None if column.dtype == np.float64 else pa.string())
        for column in columns.values()
    ]
    numbers = pa.array(np.arange(start, start + n_rows))
    return pa.record_batch([*arrays, numbers], [*columns, ""])


def open_writers(
    paths: Sequence[Path], schema: pa.Schema, stack: ExitStack
) -> list[pa.ipc.RecordBatchStreamWriter]:
    """Open a file for each part; `stack` closes them."""
    opened = (pa.ipc.new_stream(str(path), schema, options=OPTIONS) for path in paths)
    return [stack.enter_context(writer) for writer in opened]


def part_of_rows(cells: Cells, n_parts: int) -> IntArray:
    """Return the part of each row by its case, -1 without one; (n_rows,)."""
    numbers = [
        -1 if word is None else crc32(word.encode()) % n_parts for word in cells.words
    ]
    parts: IntArray = np.array(numbers, np.int64)[cells.numbers]
    return parts


def open_part(log: LogFile, path: Path) -> tuple[LogFile, IntArray]:
    """Return a part of a log, and the numbers of its rows; remove its file."""
    with pa.OSFile(str(path)) as file:
        table = pa.ipc.open_stream(file).read_all()
    path.unlink()
    *names, _ = table.column_names
    rows = table.column(len(names)).to_numpy()
    # A column of texts stays one, also where a part of it has nothing but numbers.
    texts = [
        name for name in names if pa.types.is_string(table.schema.field(name).type)
    ]
    part = HeldTable(table.select(range(len(names))), texts)
    return replace(log, table=part), rows


def hold_log(log: LogFile, folder: Path) -> Generator[float, None, HeldLog]:
    """Read a log, part by part, into files of a folder; name what is odd.

    Yields the share of the work that is done.
    """
    paths = yield from convert_steps(deal_log(log, folder), lambda share: share / 2)
    decided, rows = [np.empty(0)], [np.empty(0, np.int64)]
    with (folder / RECORDS).open("wb") as file:
        for number, path in enumerate(paths):
            part, part_rows = open_part(log, path)
            if part_rows.size:
                records = read_part(part, part_rows, folder)
                records.tofile(file)
                decided.append(records["decided"].copy())
                rows.append(records["row"].copy())
            yield (1 + (number + 1) / len(paths)) / 2
    times = np.concatenate(decided)
    # Cases of the same moment keep the order of the log, however it was dealt.
    by_time = np.lexsort((np.concatenate(rows), times))
    return HeldLog(log, folder, times[by_time], by_time)
