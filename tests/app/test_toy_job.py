"""The queue and its workers know a kind of job that a test adds by one entry."""

import json
from io import BytesIO

import pytest

from askless.app.batch.checking import check_order_and_table, check_order_names
from askless.app.batch.kinds import TABLE_KINDS, TableKind
from askless.app.batch.outputs import JobOutput
from askless.app.batch.predicting import BatchProgress
from askless.app.documents.http.jobs import Order
from askless.app.service.jobs import table_jobs
from askless.app.uploads.parsing import TableFacts, make_reader
from askless.core.errors import Refusal, RefusedError
from askless.core.model.model import Model
from tests.app.clinic import Train, clinic
from tests.app.jobs import Jobs, now
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http"]


def refuse_absent(_, columns, order):
    if order["column"] not in columns:
        raise RefusedError([Refusal("column", "must be a column of the table")])


def check_rows(model, source, order):
    refuse_absent(model, source.names, order)
    return ["it counts rows"]


def count_rows(model, source, order):
    yield BatchProgress(0.5)
    text = json.dumps(
        {"rows": source.n_rows, "column": order["column"], "model": model.target}
    )
    return JobOutput({"json": BytesIO(text.encode())}, source.n_rows)


@pytest.fixture(autouse=True)
def count(monkeypatch):
    kind = TableKind(
        read=lambda raw, _: raw,
        text_columns=lambda *_: frozenset(),
        check_names=refuse_absent,
        check_rows=check_rows,
        compute=count_rows,
        order=Order,
        call=Order,
        operation_id="count_rows",
        summary="Count rows",
        description="Check a table and enqueue the job that counts its rows.",
    )
    monkeypatch.setitem(TABLE_KINDS, "count", kind)


def test_worker_computes_a_kind_that_a_test_adds(
    jobs: Jobs, client, train: Train, table: bytes, spec
) -> None:
    model_id = train(table, spec)
    dataset_id = client.get("/datasets").json()["items"][0]["id"]
    order = table_jobs.JobOrder("count", model_id, {"column": "age"})
    with transaction(jobs.engine) as db:
        job = table_jobs.start(db, order, dataset_id, now())

    assert jobs.worker().work() == "succeeded"

    with transaction(jobs.engine, is_read=True) as db:
        name, form = table_jobs.find_result(db, job.id, None)
    with jobs.blobs.open(name) as result:
        assert json.load(result) == {"rows": 40, "column": "age", "model": "disease"}
    assert form == "json"


def test_order_is_checked_by_the_kind_that_a_test_adds(
    jobs: Jobs, table: bytes
) -> None:
    bounds, model = make_reader(jobs.settings).bounds, Model("m", clinic(), "y")
    facts = TableFacts(40, ("age",))

    checked = check_order_and_table(
        BytesIO(table), bounds, "count", model, {"column": "age"}
    )

    assert checked.warnings == ("it counts rows",)
    with pytest.raises(RefusedError):
        check_order_and_table(
            BytesIO(table), bounds, "count", model, {"column": "none"}
        )
    with pytest.raises(RefusedError):
        check_order_names(facts, "count", model, {"column": "none"})
