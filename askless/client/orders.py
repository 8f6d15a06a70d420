"""Sends orders with their table as a form, or with the id of a stored dataset."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from askless.client.connection import Connection, Json
from askless.client.datasets import StoredDataset, open_form

#: A table is a file, or was uploaded before; a training takes several of these.
Table = str | Path | StoredDataset | Sequence[StoredDataset]
#: A spec or another order: a mapping, or a file of JSON.
Order = Mapping[str, Any] | str | Path


async def send_order(
    connection: Connection, path: str, table: Table, **parts: Order
) -> Json:
    """Send a table, or ids, with one order, a keyword named as its form part."""
    # Exactly one keyword is passed.
    ((name, order),) = parts.items()
    text = encode_order(order)
    if not isinstance(table, str | Path):
        raw = json.loads(text, object_pairs_hook=build_distinct)
        if isinstance(table, StoredDataset):
            body = {**raw, "dataset_id": table.id}
        else:
            body = {**raw, "datasets": [one.id for one in table]}
        return await connection.request_json("POST", path, json=body)
    with open_form(Path(table), **{name: text}) as files:
        return await connection.request_json("POST", path, files=files)


def encode_order(order: Order) -> bytes:
    """Return an order as the bytes of its JSON."""
    if isinstance(order, str | Path):
        return Path(order).read_bytes()
    return json.dumps(order, allow_nan=False).encode()


def build_distinct(pairs: list[tuple[str, Any]]) -> Json:
    """Build a JSON object; raise ValueError where a field stands twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in fields if names.count(name) > 1)
        raise ValueError(f"{twice}: must stand once in its object")
    return fields
