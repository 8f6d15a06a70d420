"""Store uploads as blobs in a folder or an object store, through fsspec."""

import secrets
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import IO, Any

import fsspec

from askless.app.errors import BlobGoneError

CHUNK = 1 << 20
LOCAL = "file://"


class Blobs:
    """A flat set of named byte strings below one URL."""

    def __init__(self, url: str) -> None:
        if url.startswith(LOCAL):
            # Of a folder's name `::` is a part; elsewhere it chains file systems.
            self.system = fsspec.filesystem("file")
            self.root = url.removeprefix(LOCAL).rstrip("/")
        else:
            self.system, self.root = fsspec.core.url_to_fs(url)
        self.system.makedirs(self.root, exist_ok=True)

    def write(self, name: str, source: IO[bytes]) -> int:
        """Copy a stream into a blob, whole or not at all; return its size in bytes.

        Where two write one blob at a time, the one that ends last wins.
        """
        partial = f".{name}.{secrets.token_hex(4)}.partial"
        size = 0
        try:
            with self.system.open(f"{self.root}/{partial}", "wb") as target:
                while chunk := source.read(CHUNK):
                    target.write(chunk)
                    size += len(chunk)
        except BaseException:
            # On a full disk the rest would leave no room for anything else.
            self.remove(partial)
            raise
        self.system.mv(f"{self.root}/{partial}", f"{self.root}/{name}")
        return size

    def open(self, name: str) -> Any:
        """Open a blob for reading. Raises BlobGoneError."""
        try:
            return self.system.open(f"{self.root}/{name}", "rb")
        except FileNotFoundError:
            raise BlobGoneError(name) from None

    def remove(self, name: str) -> None:
        """Delete a blob, if it is there."""
        with suppress(FileNotFoundError):
            self.system.rm_file(f"{self.root}/{name}")

    def names(self, before: datetime) -> Iterator[str]:
        """Yield names of blobs last written before a time, unfinished ones too."""
        for path in self.system.ls(self.root, detail=False):
            # Other processes write, move and remove blobs meanwhile.
            with suppress(FileNotFoundError):
                written = self.system.modified(path)
                if written.tzinfo is None:
                    written = written.replace(tzinfo=UTC)
                if written < before:
                    yield path.rsplit("/", 1)[-1]
