"""Reads Parquet as pyarrow tables, after checking the sizes in the footer."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet

from askless.app.uploads.bounds import Bounds, refuse_more, refuse_too_large_for_memory

MAGIC = b"PAR1"
# Least bytes of a cell in memory: a float64 or a pointer.
BYTES_PER_CELL = 8


def read_parquet(content: bytes, bounds: Bounds) -> Any:
    """Read a Parquet file; refuse one whose footer exceeds the bounds.

    Texts stay in dictionaries, so a long text that rows repeat is held once.
    """
    metadata = pyarrow.parquet.read_metadata(pa.BufferReader(content))
    refuse_more(metadata.num_columns, bounds.columns, "columns")
    refuse_more(metadata.num_rows, bounds.rows, "rows")
    refuse_too_large_for_memory(unpacked_bytes(metadata), bounds.memory)
    leaves = (metadata.schema.column(i) for i in range(metadata.num_columns))
    texts = [
        one.path
        for one in leaves
        if one.physical_type == "BYTE_ARRAY" and one.max_repetition_level == 0
    ]
    with pyarrow.parquet.ParquetFile(
        pa.BufferReader(content), read_dictionary=texts
    ) as file:
        return file.read(use_threads=False)


def unpacked_bytes(metadata: Any) -> int:
    """Return the least memory in bytes that a file needs, by its footer."""
    n_bytes = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        least = BYTES_PER_CELL * group.num_rows
        for position in range(group.num_columns):
            n_bytes += max(least, group.column(position).total_uncompressed_size)
    return n_bytes
