"""Check references to tables outside: allowed places, and unchanged files."""

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from askless.app.uploads.bounds import Bounds, refuse_too_many
from askless.app.uploads.places import (
    TableFile,
    list_table_files,
    open_place,
    stat_file,
    unreadable_place_error,
)
from askless.app.uploads.streams import StreamedTable
from askless.core.errors import Refusal, RefusedError

# Most files of a table: each is recorded, and its footer read.
MAX_FILES = 10_000
MAX_LETTERS = 1_000
LOCAL = "file://"
# Signs that could add more than a path to an address: servers, secrets, escapes.
STRANGE = frozenset("?#@%\\")
NAMES = "must be an address of names alone, such as s3://bucket/folder/*.parquet"


class RecordedFile(NamedTuple):
    """A file as it was when its table was stored."""

    path: str
    size: int
    modified: int | None
    version: str


@dataclass(frozen=True)
class TableReference:
    """The address of a table and the files that it consists of."""

    url: str
    files: tuple[RecordedFile, ...]


def record_table(
    url: str, places: Sequence[str], bounds: Bounds
) -> tuple[TableReference, StreamedTable]:
    """Record the files of a table; raise RefusedError for a wrong place."""
    require_allowed_url(url, places)
    if url.startswith(LOCAL):
        refuse_linked_folders(url, places)
    files = list_table_files(url)
    refuse_too_many(len(files), MAX_FILES, "files")
    refuse_links([file.path for file in files], url, places)
    table = StreamedTable(files, (), bounds)
    if table.n_rows == 0:
        raise RefusedError([Refusal("table", "must have at least one row")])
    return TableReference(url, tuple(map(record_file, table.files))), table


def record_file(file: TableFile) -> RecordedFile:
    return RecordedFile(file.path, file.size, file.modified, file.version)


def open_reference(
    reference: TableReference,
    places: Sequence[str],
    text: Collection[str],
    bounds: Bounds,
) -> StreamedTable:
    """Open the files of a table; refuse files that changed since it was stored."""
    require_allowed_url(reference.url, places)
    try:
        system, _ = open_place(reference.url)
    except (OSError, ValueError) as error:
        raise unreadable_place_error(reference.url, error) from None
    refuse_links([file.path for file in reference.files], reference.url, places)
    files = [require_unchanged(system, recorded) for recorded in reference.files]
    return StreamedTable(files, text, bounds)


def require_unchanged(system: Any, recorded: RecordedFile) -> TableFile:
    """Return a file that has not changed; else raise RefusedError."""
    file = stat_file(system, recorded.path)
    if record_file(file) == recorded:
        return file
    change = "gone" if file.size < 0 else "written anew"
    if file.size not in (recorded.size, -1):
        change = f"{file.size:,} bytes, {recorded.size:,} bytes then"
    rule = "must be what it was when the dataset was stored: store the dataset again"
    raise RefusedError([Refusal(f"table {file.name}", rule, change)])


def require_allowed_url(url: str, places: Sequence[str]) -> None:
    """Refuse a URL that is malformed, or below none of the allowed places."""
    where = url.partition("://")[2]
    # A leading slash, as in file:///folder, would make the first part empty.
    parts = where.split("/")[where.startswith("/") :]
    is_plain = url.isprintable() and not STRANGE & {*url} and len(url) <= MAX_LETTERS
    if not where or not is_plain or {"", ".", ".."} & {*drop_trailing_empty(parts)}:
        raise RefusedError([Refusal("url", NAMES)])
    if "*" in "/".join(parts[:-1]):
        raise RefusedError([Refusal("url", "may have * in its last part alone")])
    if not is_below(url, places):
        rule = "must be below a place that the setting ASKLESS_DATASET_PLACES names"
        raise RefusedError([Refusal("url", rule)])


def drop_trailing_empty(parts: list[str]) -> list[str]:
    """Return the parts of a path without the empty one after a trailing slash."""
    return parts[:-1] if len(parts) > 1 and parts[-1] == "" else parts


def is_below(url: str, places: Iterable[str]) -> bool:
    """Return whether an address lies below one of the places."""
    return any(f"{url}/".startswith(f"{place.rstrip('/')}/") for place in places)


def refuse_linked_folders(url: str, places: Sequence[str]) -> None:
    """Refuse a local folder that links lead out of, before anything walks it.

    Reading a folder follows its links, into the whole disk if one leads there.
    """
    base = url.removeprefix(LOCAL)
    is_pattern = "*" in base
    if is_pattern:
        base = os.path.dirname(base)
    refuse_links([base], url, places)
    if is_pattern:
        return  # Folders below it are not read.
    for folder, folders, _ in os.walk(base, followlinks=False):
        for name in folders:
            if os.path.islink(os.path.join(folder, name)):
                rule = "must not be a link to a folder"
                raise RefusedError([Refusal(f"table {name}", rule)])


def refuse_links(paths: Iterable[str], url: str, places: Sequence[str]) -> None:
    """Refuse local paths that only a symbolic link puts below a place."""
    if not url.startswith(LOCAL):
        return
    folders = [
        Path(os.path.realpath(place.removeprefix(LOCAL)))
        for place in places
        if place.startswith(LOCAL) and is_below(url, [place])
    ]
    for path in paths:
        real = Path(os.path.realpath(path))
        if not any(real.is_relative_to(folder) for folder in folders):
            rule = "must not be a link to another place"
            raise RefusedError([Refusal(f"table {os.path.basename(path)}", rule)])


def choose_sample_ranges(table: StreamedTable, n_rows: int) -> list[range]:
    """Return ranges of up to `n_rows` rows from up to four evenly spread row groups."""
    spans = [span for span in table.spans if span.stop > span.start]
    n_groups = min(4, len(spans))
    chosen = {
        round(i * (len(spans) - 1) / max(1, n_groups - 1)) for i in range(n_groups)
    }
    each = n_rows // n_groups
    return [
        range(
            spans[block_idx].start,
            min(spans[block_idx].stop, spans[block_idx].start + each),
        )
        for block_idx in sorted(chosen)
    ]


def without_row_limits(bounds: Bounds) -> Bounds:
    """Return the bounds without limits on rows and memory: rows are streamed."""
    return replace(bounds, rows=None, memory=None)
