"""Read orders with a table: a form with both, or JSON with a stored dataset's id."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Depends, HTTPException, Request
from starlette.datastructures import UploadFile

from askless.app.documents.fields import is_storable
from askless.app.documents.http.trainings import MOST_TABLES
from askless.app.http.plumbing import forms
from askless.app.http.plumbing.auth import Called
from askless.app.http.plumbing.deps import Reader, read_db
from askless.app.http.plumbing.turns import read_in_turn
from askless.app.records import JobKind
from askless.app.service import datasets
from askless.app.service.datasets import IsWanted
from askless.app.service.jobs import table_jobs
from askless.app.service.jobs.table_jobs import JobOrder
from askless.app.store.database.transactions import Transaction

JSON = "application/json"
T = TypeVar("T")
#: Checks an order with its table; returns the order and the table's facts.
Check = Callable[[datasets.TableSource, IsWanted], tuple[T, Any]]
#: Checks an order with tables to be joined; returns the order and the joined table.
CheckSeveral = Callable[
    [list[datasets.NamedSource], IsWanted], tuple[T, datasets.Upload | None]
]
#: Finds the model that a job applies; returns its id, too.
FindModel = Callable[[Transaction], tuple[str, Any]]


@dataclass(frozen=True)
class TableOrder:
    """An order as received; its table is an upload, or None if it is stored."""

    text: bytes
    upload: UploadFile | None


def read_order(part: str) -> Callable[[Request], AsyncIterator[TableOrder]]:
    """Return a dependency that reads an order; in a form it is the part `part`."""

    async def read_sent(request: Request) -> AsyncIterator[TableOrder]:
        if forms.media_type(request.headers) == forms.FORM:
            async with forms.read_form(request) as form:
                order = form.get(part)
                if order is None:
                    raise forms.part_error(part, "must be a part of the form")
                text = await forms.read_text(request, order)
                yield TableOrder(text, forms.required_file(form, "dataset"))
        elif forms.media_type(request.headers) == JSON:
            yield TableOrder(await request.body(), None)
        else:
            accepted = f"{forms.FORM}, {JSON}"
            detail = f"The body must be one of {accepted}."
            raise HTTPException(415, detail, headers={"Accept-Post": accepted})

    return read_sent


def order_body(part: str, form: str, call: str) -> dict[str, Any]:
    """Return a route's `openapi_extra` for an order, as a form or as JSON.

    `form` and `call` are the names of their schemas."""
    schemas = "#/components/schemas/"
    return {
        "requestBody": {
            "required": True,
            "content": {
                forms.FORM: {
                    "schema": forms.form_schema(
                        **{"dataset": forms.TABLE, part: {"$ref": schemas + form}}
                    ),
                    "encoding": {part: {"contentType": JSON}},
                },
                JSON: {"schema": {"$ref": schemas + call}},
            },
        }
    }


@dataclass(frozen=True)
class Prepared(Generic[T]):
    """A checked order, with its upload or with the id of its stored dataset."""

    order: T
    upload: datasets.Upload | None
    dataset_id: str | None

    def store(self, db: Transaction, blobs: Any, now: datetime) -> str:
        """Store an upload; return the id of the table's dataset."""
        if self.upload is not None:
            return datasets.store(db, blobs, self.upload, now).id
        assert self.dataset_id is not None, "what is no upload was stored before"
        return self.dataset_id


@dataclass(frozen=True)
class OrderDesk:
    """Reads and checks tables of orders, outside of any transaction."""

    request: Request
    reader: Any
    tenant_id: str

    def open_db(self) -> AbstractContextManager[Transaction]:
        return read_db(self.request.app.state.engine, self.tenant_id)

    async def read(
        self, sent: TableOrder, raw: dict[str, Any], check: Check[T]
    ) -> Prepared[T]:
        """Open an order's table and check both; remove `dataset_id` from `raw`.

        An upload is stored with the facts that `check` returns; not if they are None.
        """

        def read_and_check(is_wanted: IsWanted) -> Prepared[T]:
            if sent.upload is not None:
                name, stream = sent.upload.filename, sent.upload.file
                order, facts = check(stream, is_wanted)
                upload = facts and datasets.make_upload(name, stream, facts)
                return Prepared(order, upload, None)
            dataset_id = pop_dataset_id(raw)
            with self.open_db() as db:
                blobs = self.request.app.state.blobs
                stored = datasets.open_source(db, blobs, dataset_id)
            with stored as source:
                order, _ = check(source, is_wanted)
            return Prepared(order, None, dataset_id)

        return await read_in_turn(self.request, read_and_check)

    async def read_job(
        self, sent: TableOrder, raw: dict[str, Any], kind: JobKind, find: FindModel
    ) -> Prepared[JobOrder]:
        """Read the order of a job, as `read` does, and check it for its model."""

        def check(source: datasets.TableSource, is_wanted: IsWanted) -> Any:
            with self.open_db() as db:
                model_id, model = find(db)
            order = JobOrder(kind, model_id, raw)
            return table_jobs.check_job(self.reader, order, model, source, is_wanted)

        return await self.read(sent, raw, check)

    async def read_several(
        self, raw: dict[str, Any], check: CheckSeveral[T]
    ) -> Prepared[T]:
        """Open the tables named by `datasets`, removed from `raw`; check them as one.

        `check` returns the order and the joined table, which is stored as an upload.
        """
        dataset_ids = pop_dataset_ids(raw)

        def read_and_check(is_wanted: IsWanted) -> Prepared[T]:
            blobs = self.request.app.state.blobs
            with ExitStack() as stack:
                with self.open_db() as db:
                    tables = datasets.open_sources(db, blobs, dataset_ids, stack)
                return Prepared(*check(tables, is_wanted), None)

        return await read_in_turn(self.request, read_and_check)


async def get_desk(request: Request, reader: Reader, caller: Called) -> OrderDesk:
    return OrderDesk(request, reader, caller.tenant_id)


Desk = Annotated[OrderDesk, Depends(get_desk)]


def pop_dataset_ids(raw: dict[str, Any]) -> list[str]:
    """Remove and return the ids of several datasets, in the order of their rows."""
    ids = raw.pop("datasets")
    is_list = isinstance(ids, list) and all(
        isinstance(dataset_id, str) for dataset_id in ids
    )
    if not is_list or not 1 <= len(set(ids)) == len(ids) <= MOST_TABLES:
        rule = f"must be a list of ids of datasets, 1 to {MOST_TABLES}, none twice"
        raise forms.part_error("datasets", rule)
    if "dataset_id" in raw:
        raise forms.part_error("dataset_id", "must be left out beside `datasets`")
    return list(ids)


def pop_dataset_id(raw: dict[str, Any]) -> str:
    dataset_id = raw.pop("dataset_id", None)
    if not isinstance(dataset_id, str) or not is_storable(dataset_id):
        raise forms.part_error("dataset_id", "must be the id of a dataset")
    return dataset_id
