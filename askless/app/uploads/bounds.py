"""Limits on uploaded tables: rows, columns, cells, memory."""

from dataclasses import dataclass

from askless.core.errors import Refusal, RefusedError
from askless.core.table.columns import size_refusals


@dataclass(frozen=True)
class Bounds:
    """Limits on an uploaded table; None: no limit.

    `unpacked_bytes` limits compressed files; `memory` limits reading, in bytes.
    """

    columns: int | None = None
    rows: int | None = None
    cell_bytes: int | None = None
    unpacked_bytes: int | None = None
    memory: int | None = None


UNBOUNDED = Bounds()


def refuse_too_many(count: int, most: int | None, noun: str) -> None:
    """Refuse a table of more than `most` rows, columns or files; `noun` says which."""
    if most is not None and count > most:
        rule = f"must have at most {most:,} {noun}; it has {count:,}"
        raise RefusedError([Refusal("table", rule)])


def refuse_too_large_for_memory(needed: int, memory: int | None) -> None:
    """Refuse a table if the `needed` bytes of reading exceed `memory`."""
    refusals = size_refusals("reading", needed, memory)
    if refusals:
        raise RefusedError(refusals)
