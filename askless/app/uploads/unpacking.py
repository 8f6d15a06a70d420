"""Read files whole, unpacked and as UTF-8, within the bounds."""

import codecs
from pathlib import Path
from typing import IO

import pyarrow as pa

from askless.app.uploads.bounds import Bounds, refuse_too_large_for_memory
from askless.core.errors import Refusal, RefusedError

Source = Path | IO[bytes]
CHUNK = 1 << 20
# Compressions by the first bytes of a file.
COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"BZh91AY&SY": "bz2",
}
UNREADABLE_FORMATS = {
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
# A file of these alone is empty.
BLANKS = codecs.BOM_UTF8 + b" \t\r\n"
# Copies of unpacked bytes in memory: one is made, then the table.
COPIES = 3
# Bytes that decide the encoding of a text without a byte order mark.
HEAD = 1024


def read_content(source: Source, bounds: Bounds) -> bytes:
    """Read a file whole, unpacked; raise RefusedError beyond the bounds."""
    if isinstance(source, Path):
        refuse_too_large_for_memory(source.stat().st_size, bounds.memory)
        content = source.read_bytes()
    else:
        content = source.read()
    if not content[:HEAD].strip(BLANKS) and not content.strip(BLANKS):
        raise RefusedError([Refusal("table", "must have a header; the file is empty")])
    for magic, compression in COMPRESSIONS.items():
        if content.startswith(magic):
            content = unpack(content, compression, bounds)
            break
    for magic, format_name in UNREADABLE_FORMATS.items():
        if content.startswith(magic):
            rule = f"must be CSV or Parquet, and is {format_name}: save it as CSV"
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
    """Return the content as UTF-8: UTF-16 is converted, all else returned as it is."""
    encoding = BYTE_ORDER_MARKS.get(content[:2]) or guess_utf16(content[:HEAD])
    return content if encoding is None else content.decode(encoding).encode()


def guess_utf16(head: bytes) -> str | None:
    """Return "utf-16-le" or "utf-16-be" for UTF-16 without a mark; None: not UTF-16.

    In Latin letters one byte of each pair is 0. If more than half of the bytes at odd
    places are 0, the order is little-endian; at even places, big-endian.
    """
    if head[1::2].count(0) > len(head) / 4:
        return "utf-16-le"
    return "utf-16-be" if head[::2].count(0) > len(head) / 4 else None


def encoding_rule(content: bytes) -> str | None:
    """Return the rule that a text's encoding breaks, with the line; None if none."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return (
            f"must be CSV in UTF-8 or UTF-16 with a header, or Parquet; line {line} is "
            "in another encoding: save it as CSV in UTF-8, as by "
            "iconv -f cp1252 -t utf-8"
        )
    return None
