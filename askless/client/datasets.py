"""Upload, list and delete datasets of a service."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from askless.client.connection import Connection, Json, join_path, select_known
from askless.client.links import Call

BYTES = "application/octet-stream"


@dataclass(frozen=True)
class StoredDataset:
    """A table of the service."""

    id: str
    name: str
    n_bytes: int
    n_rows: int
    columns: list[str]
    created_at: str
    url: str | None = None


class DatasetCalls:
    """The client's calls about datasets."""

    connection: Connection

    @Call
    async def upload(self, path: str | Path) -> StoredDataset:
        """Upload a table (CSV or Parquet) to train on later."""
        with open_form(Path(path)) as files:
            sent = await self.connection.request("POST", "/datasets", files=files)
        return stored_dataset(sent.json())

    @Call
    async def refer_dataset(self, url: str, name: str | None = None) -> StoredDataset:
        """Register a table in Parquet files, which stay where they are.

        `url` is below a place that the service may read, such as
        `s3://bucket/folder/*.parquet`.
        """
        body = {"url": url, "name": name}
        sent = await self.connection.request("POST", "/datasets", json=body)
        return stored_dataset(sent.json())

    @Call
    async def make_case_table(
        self,
        model: str,
        since: date | None = None,
        until: date | None = None,
        name: str | None = None,
    ) -> StoredDataset:
        """Make a table of a model's closed cases with outcomes, to train on.

        `model` is a name, for all its versions, `name@2` or an id. Cases count that
        became known (closed, with an outcome) from `since` on and before `until`:
        aware times, or days, of which the first moment in UTC counts. The table is a
        copy: to erase a case later does not change it.
        """
        body = {
            "cases_of": model,
            "since": None if since is None else since.isoformat(),
            "until": None if until is None else until.isoformat(),
            "name": name,
        }
        sent = await self.connection.request("POST", "/datasets", json=body)
        return stored_dataset(sent.json())

    @Call
    async def datasets(self) -> list[StoredDataset]:
        """List all datasets, newest first."""
        return [
            stored_dataset(raw) for raw in await self.connection.list_items("/datasets")
        ]

    @Call
    async def dataset(self, dataset_id: str) -> StoredDataset:
        """Return one dataset."""
        raw = await self.connection.request_json(
            "GET", join_path("datasets", dataset_id)
        )
        return stored_dataset(raw)

    @Call
    async def delete_dataset(self, dataset: str | StoredDataset) -> None:
        """Delete a dataset that no training uses; models outlive it."""
        dataset_id = dataset.id if isinstance(dataset, StoredDataset) else dataset
        await self.connection.request("DELETE", join_path("datasets", dataset_id))


def stored_dataset(raw: Json) -> StoredDataset:
    """Read a dataset from its document."""
    return StoredDataset(**select_known(StoredDataset, raw))


@contextmanager
def open_form(table: Path, **texts: bytes) -> Iterator[Callable[[], Any]]:
    """Open a table; yield a function that builds the form, the file at its start."""
    with table.open("rb") as stream:

        def build_form() -> Any:
            stream.seek(0)
            parts = {
                name: (f"{name}.json", text, "application/json")
                for name, text in texts.items()
            }
            return {"dataset": (table.name, stream, BYTES), **parts}

        yield build_form
