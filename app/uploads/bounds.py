"""Limits on uploaded tables: rows, columns, cells, memory."""

from dataclasses import dataclass

from core.errors import Refusal, RefusedError
from core.table.columns import refuse_size


@dataclass(frozen=True)
class Bounds:
    """The most that a table may have; None: no limit.

    `unpacked_bytes` is for compressed files; `memory` is what reading may take, bytes.
    """

    columns: int | None = None
    rows: int | None = None
    cell_bytes: int | None = None
    unpacked_bytes: int | None = None
    memory: int | None = None


UNBOUNDED = Bounds()


def refuse_more(count: int, most: int | None, noun: str) -> None:
    """Refuse a table that has more of something than it may have."""
    if most is not None and count > most:
        rule = f"must have at most {most:,} {noun}; it has {count:,}"
        raise RefusedError([Refusal("table", rule)])


def refuse_unfit(needed: int, memory: int | None) -> None:
    """Refuse a table that needs more memory to read than there is."""
    refusals = refuse_size("reading", needed, memory)
    if refusals:
        raise RefusedError(refusals)
