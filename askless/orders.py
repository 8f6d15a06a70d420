"""Sends orders with their table as a form, or with the id of a stored dataset."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askless.connection import Connection, Json
from askless.datasets import StoredDataset, form_of

#: A table is a file, or was uploaded before.
Table = str | Path | StoredDataset
#: A spec or another order: a mapping, or a file of JSON.
Order = Mapping[str, Any] | str | Path


async def send_order(
    connection: Connection, path: str, table: Table, **parts: Order
) -> Json:
    """Send a table, or the id of one, and the one order that is a part of the form."""
    ((name, wish),) = parts.items()
    text = order_bytes(wish)
    if isinstance(table, StoredDataset):
        order = json.loads(text, object_pairs_hook=distinct)
        call = {**order, "dataset_id": table.id}
        return await connection.ask("POST", path, json=call)
    with form_of(Path(table), **{name: text}) as files:
        return await connection.ask("POST", path, files=files)


def order_bytes(order: Order) -> bytes:
    """Return an order as it is sent."""
    if isinstance(order, str | Path):
        return Path(order).read_bytes()
    return json.dumps(order, allow_nan=False).encode()


def distinct(pairs: list[tuple[str, Any]]) -> Json:
    """Make an object of its fields; ValueError where one stands twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in fields if names.count(name) > 1)
        raise ValueError(f"{twice}: must stand once in its object")
    return fields
