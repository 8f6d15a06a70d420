"""Finds the files of a table: on disk, in folders, in object stores, by pyarrow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet

from app.uploads.parquet_tables import MAGIC
from app.uploads.unpacking import COMPRESSIONS
from core.errors import Refusal, RefusedError

SUFFIXES = (".parquet", ".pq")
SCHEMES = ("s3://", "gs://", "gcs://", "file://")
# Of pyarrow's file systems, those whose files have a version, and what they call it.
VERSIONS = {"s3": "ETag", "gcs": "generation"}
# Bytes of text below which a CSV is read whole; compressed it is so many times smaller.
LARGE_CSV = 100_000_000
PACKED = 5
# Names that other programs give to what is no part of a table.
HIDDEN = ("_", ".")


@dataclass(frozen=True)
class TableFile:
    """One Parquet file of a table, as it was when the table was opened."""

    system: Any
    path: str
    size: int
    #: when it was last written, as far as the place tells
    modified: int | None
    #: what an object store calls its bytes; "": not known
    version: str = ""

    @property
    def name(self) -> str:
        """The name in refusals."""
        return self.path.rsplit("/", 1)[-1]

    def open(self, footer: Any = None, texts: Sequence[str] = ()) -> Any:
        """Open the file; its footer is read unless it is given.

        Cells of the columns `texts` stay in their dictionaries. Raises RefusedError
        where the file is not what it was, or can't be read.
        """
        self.refuse_changed()
        try:
            return pyarrow.parquet.ParquetFile(
                self.system.open_input_file(self.path),
                metadata=footer,
                read_dictionary=list(texts),
            )
        except (pa.ArrowException, OSError) as error:
            raise refuse_file(self.name, error) from None

    def refuse_changed(self) -> None:
        """Refuse the file if it has changed since the table was opened."""
        found = find_file(self.system, self.path)
        was = (self.size, self.modified, self.version or found.version)
        if (found.size, found.modified, found.version) != was:
            rule = "must stay as it is while it is read"
            now = "gone" if found.size < 0 else f"{found.size:,} bytes"
            told = f"{now}, {self.size:,} bytes before"
            if found.size == self.size:
                told = "written anew"
            raise RefusedError([Refusal(f"table {self.name}", rule, told)])


def refuse_file(name: str, error: Exception) -> Exception:
    """Return the exception for a file that can't be read as Parquet."""
    if isinstance(error, MemoryError):
        return error
    line = (str(error).splitlines() or [type(error).__name__])[0][:200]
    return RefusedError(
        [Refusal(f"table {name}", "must be a whole Parquet file", line)]
    )


def is_streamed(source: Path | str) -> bool:
    """Return whether a table is read in pieces: Parquet, or a large CSV."""
    if isinstance(source, str) or source.is_dir():
        return True
    return is_large_csv(source) or begins_as_parquet(source)


def is_large_csv(source: Path) -> bool:
    """Return whether a file is a CSV too large to be read whole."""
    try:
        with source.open("rb") as file:
            is_packed = file.read(10).startswith(tuple(COMPRESSIONS))
        size = source.stat().st_size * (PACKED if is_packed else 1)
    except OSError:
        return False
    return size > LARGE_CSV and not begins_as_parquet(source)


def begins_as_parquet(source: Path) -> bool:
    try:
        with source.open("rb") as file:
            return is_parquet(file)
    except OSError:
        return False


def is_parquet(file: IO[bytes]) -> bool:
    """Return whether a file begins as Parquet does; rewind it."""
    is_its = file.read(len(MAGIC)) == MAGIC
    file.seek(0)
    return is_its


def as_source(text: str) -> Path | str:
    """Return the path or the address that a text names."""
    return text if "://" in text else Path(text)


def find_table_files(source: Path | str) -> list[TableFile]:
    """Return the files of a table, in the order of their paths.

    `source` is a file, a folder, or the address of either; `*` in the last part of an
    address stands for any name. Raises RefusedError where there is none.
    """
    where = str(source)
    try:
        system, path = open_place(source)
        pattern = path.rsplit("/", 1)[-1] if "*" in path else None
        base = path.rsplit("/", 1)[0] if pattern else path
        found = find_file(system, base)
        if found.size >= 0:
            return [found]
        selector = pyarrow.fs.FileSelector(base, recursive=pattern is None)
        infos = system.get_file_info(selector)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise refuse_place(where, error) from None
    files = [
        to_file(system, info)
        for info in sorted(infos, key=lambda info: info.path)
        if info.is_file and is_part(info.path[len(base) :].lstrip("/"), pattern)
    ]
    if not files:
        rule = "must hold a Parquet file, its name ending in .parquet"
        raise RefusedError([Refusal("table", rule, repr(where))])
    return files


def is_part(path: str, pattern: str | None) -> bool:
    """Return whether a file below a folder is part of its table."""
    if pattern is not None:
        return Path(path).match(pattern)
    is_hidden = any(part.startswith(HIDDEN) for part in path.split("/"))
    return path.endswith(SUFFIXES) and not is_hidden


def open_place(source: Path | str) -> tuple[Any, str]:
    """Return a file system and a path in it."""
    if isinstance(source, Path):
        return pyarrow.fs.LocalFileSystem(), str(source.absolute())
    if not source.startswith(SCHEMES):
        raise ValueError(f"addresses begin with {', '.join(SCHEMES)}")
    # No part of an address but a name may have signs that addresses give a meaning.
    system, path = pyarrow.fs.FileSystem.from_uri(source.replace("*", "%2A"))
    return system, path


def as_arrow(system: Any) -> Any:
    """Return a file system of fsspec as one of pyarrow."""
    return pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(system))


def find_file(system: Any, path: str) -> TableFile:
    """Return a file as it is now; its size is -1 if there is none."""
    try:
        info = system.get_file_info(path)
        if not info.is_file:
            return TableFile(system, path, -1, None)
        return replace(to_file(system, info), version=version_of(system, path))
    except OSError as error:
        raise refuse_place(path, error) from None


def version_of(system: Any, path: str) -> str:
    """Return the version of a file in an object store; times are too coarse."""
    name = VERSIONS.get(system.type_name)
    if name is None:
        return ""
    with system.open_input_file(path) as opened:
        told = opened.metadata() or {}
    return bytes(told.get(name, b"")).decode("latin-1")


def to_file(system: Any, info: Any) -> TableFile:
    return TableFile(system, info.path, int(info.size), info.mtime_ns)


def refuse_place(where: str, error: Exception) -> RefusedError:
    """Return the exception for a place that can't be read."""
    line = (str(error).splitlines() or [type(error).__name__])[0][:200]
    rule = "must be a place that can be read"
    return RefusedError([Refusal("table", rule, f"{where!r}: {line}")])
