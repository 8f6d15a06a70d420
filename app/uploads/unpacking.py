"""Reads files as UTF-8, unpacked, within the bounds."""

import codecs
from pathlib import Path
from typing import IO

import pyarrow as pa

from app.uploads.bounds import Bounds, refuse_unfit
from core.errors import Refusal, RefusedError

Source = Path | IO[bytes]
CHUNK = 1 << 20
# Compressions by the first bytes of a file.
COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"BZh91AY&SY": "bz2",
}
STRANGERS = {
    b"PK\x03\x04": "an Excel workbook or another ZIP archive",
    b"\xd0\xcf\x11\xe0": "an old Excel or Office file",
    b"SQLite format 3\x00": "an SQLite database",
    b"%PDF-": "a PDF",
    b"ARROW1": "an Arrow or Feather file",
    b"ORC": "an ORC file",
    b"Obj\x01": "an Avro file",
    b"\xfd7zXZ\x00": "an xz archive",
    b"\x89HDF": "an HDF5 file",
}
BYTE_ORDER_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Unpacked bytes are copied once, and a table is made of them.
COPIES = 3
# Bytes that decide the encoding of a text without a byte order mark.
HEAD = 1024


def read_content(source: Source, bounds: Bounds) -> bytes:
    """Read a file or an upload whole, unpacked where it is compressed.

    Raises RefusedError where that is more than may be, or no table at all.
    """
    if isinstance(source, Path):
        refuse_unfit(source.stat().st_size, bounds.memory)
        content = source.read_bytes()
    else:
        content = source.read()
    for magic, compression in COMPRESSIONS.items():
        if content.startswith(magic):
            content = unpack(content, compression, bounds)
            break
    for magic, stranger in STRANGERS.items():
        if content.startswith(magic):
            rule = f"must be CSV or Parquet, and is {stranger}: save it as CSV"
            raise RefusedError([Refusal("table", rule)])
    return content


def unpack(content: bytes, compression: str, bounds: Bounds) -> bytes:
    """Unpack a compressed file; refuse one that exceeds the bounds."""
    limits = [] if bounds.unpacked_bytes is None else [bounds.unpacked_bytes]
    limits += [] if bounds.memory is None else [bounds.memory // COPIES]
    most = min(limits, default=None)
    unpacked = bytearray()
    with pa.CompressedInputStream(pa.BufferReader(content), compression) as stream:
        while chunk := stream.read(CHUNK):
            unpacked += chunk
            if most is not None and len(unpacked) > most:
                rule = f"must unpack to at most {most:,} bytes"
                raise RefusedError([Refusal("table", rule)])
    return bytes(unpacked)


def to_utf8(content: bytes) -> bytes:
    """Return a text in UTF-8; it may be in UTF-16."""
    encoding = BYTE_ORDER_MARKS.get(content[:2]) or guess_utf16(content[:HEAD])
    return content if encoding is None else content.decode(encoding).encode()


def guess_utf16(head: bytes) -> str | None:
    """Return the byte order of UTF-16, in which every other byte of most texts is 0."""
    if head[1::2].count(0) > len(head) / 4:
        return "utf-16-le"
    return "utf-16-be" if head[::2].count(0) > len(head) / 4 else None


def encoding_rule(content: bytes) -> str | None:
    """Say what is wrong with a text's encoding; None: nothing."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return (
            f"must be CSV in UTF-8 or UTF-16 with a header, or Parquet; line {line} is "
            "in another encoding: save it as CSV in UTF-8"
        )
    return None
