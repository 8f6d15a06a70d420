"""Find the files of a table: on disk, in folders, in object stores, by pyarrow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from askless.app.uploads import MAGIC, first_line
from askless.app.uploads.unpacking import COMPRESSIONS
from askless.core.errors import Refusal, RefusedError

SUFFIXES = (".parquet", ".pq")
SCHEMES = ("s3://", "gs://", "gcs://", "file://")
# The metadata key of a file's version, for pyarrow's file systems that have one.
VERSIONS = {"s3": "ETag", "gcs": "generation"}
# Bytes of text up to which a CSV is read whole, and the assumed compression ratio.
LARGE_CSV = 100_000_000
PACKED = 5
# First characters of names that other programs give to files beside a table.
HIDDEN = ("_", ".")


@dataclass(frozen=True)
class TableFile:
    """One Parquet file of a table, as it was when the table was opened."""

    system: Any
    path: str
    size: int
    #: when it was last written, in ns; None: not known
    modified: int | None
    #: version of its bytes in an object store; "": not known
    version: str = ""

    @property
    def name(self) -> str:
        """File name, as refusals show it."""
        return self.path.rsplit("/", 1)[-1]

    def open(self, footer: Any = None, texts: Sequence[str] = ()) -> Any:
        """Open the file; read its footer unless it is given.

        Cells of the columns `texts` stay in their dictionaries. Raises RefusedError
        if the file has changed, or can't be read.
        """
        # Loaded where it is needed: most tables are CSV.
        from pyarrow import parquet

        self.refuse_changed()
        try:
            return parquet.ParquetFile(
                self.system.open_input_file(self.path),
                metadata=footer,
                read_dictionary=list(texts),
            )
        except (pa.ArrowException, OSError) as error:
            raise unreadable_file_error(self.name, error) from None

    def refuse_changed(self) -> None:
        """Refuse the file if it has changed since the table was opened."""
        current = stat_file(self.system, self.path)
        # An unknown version equals any.
        recorded = (self.size, self.modified, self.version or current.version)
        if (current.size, current.modified, current.version) != recorded:
            rule = "must stay as it is while it is read"
            # A size below 0: there is no file any more.
            now = "gone" if current.size < 0 else f"{current.size:,} bytes"
            change = f"{now}, {self.size:,} bytes before"
            if current.size == self.size:
                change = "written anew"
            raise RefusedError([Refusal(f"table {self.name}", rule, change)])


def unreadable_file_error(name: str, error: Exception) -> Exception:
    """Return the exception for a file that can't be read as Parquet."""
    if isinstance(error, MemoryError):
        return error
    rule = "must be a whole Parquet file"
    return RefusedError([Refusal(f"table {name}", rule, first_line(error))])


def is_parquet_at(source: Path) -> bool:
    """Return whether a path is that of a folder or of a Parquet file."""
    # A pipe is not looked at: its first bytes could not be read again.
    return source.is_dir() or (source.is_file() and begins_as_parquet(source))


def is_large_csv(source: Path) -> bool:
    """Return whether a file that is not Parquet is too large to be read whole."""
    if not source.is_file():
        return False
    try:
        with source.open("rb") as file:
            is_packed = file.read(10).startswith(tuple(COMPRESSIONS))
        size = source.stat().st_size * (PACKED if is_packed else 1)
    except OSError:
        return False
    return size > LARGE_CSV


def begins_as_parquet(source: Path) -> bool:
    try:
        with source.open("rb") as file:
            return is_parquet(file)
    except OSError:
        return False


def is_parquet(file: IO[bytes]) -> bool:
    """Return whether a file begins with Parquet's magic bytes; rewind it."""
    is_parquet_start = file.read(len(MAGIC)) == MAGIC
    file.seek(0)
    return is_parquet_start


def parse_source(text: str) -> Path | str:
    """Return a text as an address if it has a scheme, else as a path."""
    return text if "://" in text else Path(text)


def list_table_files(source: Path | str) -> list[TableFile]:
    """Return the files of a table, in the order of their paths.

    `source` is a file, a folder, or the address of either; `*` in the last part of an
    address stands for any name. Raises RefusedError where there is none.
    """
    where = str(source)
    try:
        system, path = open_place(source)
        pattern = path.rsplit("/", 1)[-1] if "*" in path else None
        # With a pattern, `base` is the folder that holds the files, read without its
        # subfolders; else it is the file itself, or a folder read with all below it.
        base = path.rsplit("/", 1)[0] if pattern else path
        file = stat_file(system, base)
        if file.size >= 0:
            return [file]
        selector = load_systems().FileSelector(base, recursive=pattern is None)
        infos = system.get_file_info(selector)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise unreadable_place_error(where, error) from None
    files = [
        to_table_file(system, info)
        for info in sorted(infos, key=lambda info: info.path)
        if info.is_file
        and belongs_to_table(info.path[len(base) :].lstrip("/"), pattern)
    ]
    if not files:
        rule = "must hold a Parquet file, its name ending in .parquet"
        raise RefusedError([Refusal("table", rule, repr(where))])
    return files


def belongs_to_table(path: str, pattern: str | None) -> bool:
    """Return whether a file below a folder is part of its table."""
    if pattern is not None:
        return Path(path).match(pattern)
    is_hidden = any(part.startswith(HIDDEN) for part in path.split("/"))
    return path.endswith(SUFFIXES) and not is_hidden


def load_systems() -> Any:
    """Import pyarrow's file systems: a CSV is opened without them."""
    from pyarrow import fs

    return fs


def open_place(source: Path | str) -> tuple[Any, str]:
    """Return the file system of a source, and its path there."""
    if isinstance(source, Path):
        return load_systems().LocalFileSystem(), str(source.absolute())
    if not source.startswith(SCHEMES):
        raise ValueError(f"addresses begin with {', '.join(SCHEMES)}")
    # No part of an address but a name may have signs that addresses give a meaning.
    system, path = load_systems().FileSystem.from_uri(source.replace("*", "%2A"))
    return system, path


def to_arrow(system: Any) -> Any:
    """Return a file system of fsspec as one of pyarrow."""
    systems = load_systems()
    return systems.PyFileSystem(systems.FSSpecHandler(system))


def stat_file(system: Any, path: str) -> TableFile:
    """Return a file as it is now; its size is -1 if there is none."""
    try:
        info = system.get_file_info(path)
        if not info.is_file:
            return TableFile(system, path, -1, None)
        return replace(to_table_file(system, info), version=read_version(system, path))
    except OSError as error:
        raise unreadable_place_error(path, error) from None


def read_version(system: Any, path: str) -> str:
    """Read a file's version in an object store, where times are too coarse."""
    name = VERSIONS.get(system.type_name)
    if name is None:
        return ""
    with system.open_input_file(path) as opened:
        metadata = opened.metadata() or {}
    return bytes(metadata.get(name, b"")).decode("latin-1")


def to_table_file(system: Any, info: Any) -> TableFile:
    return TableFile(system, info.path, int(info.size), info.mtime_ns)


def unreadable_place_error(where: str, error: Exception) -> RefusedError:
    """Return the exception for a place that can't be read."""
    rule = "must be a place that can be read"
    return RefusedError([Refusal("table", rule, f"{where!r}: {first_line(error)}")])
