"""Trainings on the rows of several tables, joined by the names of their columns."""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.documents.session.cases import read_silent
from askless.app.store.database.tables import datasets, tenants
from askless.app.uploads import read_table
from askless.app.uploads.joining import NamedTable, join_tables, write_parquet
from askless.app.uploads.streams import read_columns
from askless.core.errors import RefusedError
from tests.app.clinic import Json, Play
from tests.app.jobs import Jobs

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_cases"]

OLD = b"age,sex,chol,disease\n" + b"".join(
    b"%d,%s,%d,%d\n" % (30 + n, b"female" if n % 3 else b"male", 200 + n, n % 2)
    for n in range(24)
)
SPEC: Json = {
    "target": "disease",
    "algorithm": "adaboost_bt_smoothed",
    "params": {"rounds": 5},
    "validation": {"folds": 2},
}
Train = Callable[..., Any]


@pytest.fixture
def upload(client: TestClient) -> Callable[..., str]:
    def send(table: bytes, name: str = "old.csv") -> str:
        made = client.post("/datasets", files={"dataset": (name, table)})
        assert made.status_code == 201, made.text
        return str(made.json()["id"])

    return send


@pytest.fixture
def order(client: TestClient) -> Train:
    def send(*ids: str, query: str = "", **more: Any) -> Any:
        return client.post(f"/train{query}", json=SPEC | {"datasets": ids} | more)

    return send


def joined(*tables: bytes, typed: tuple[str, ...] = ()) -> Any:
    named = [
        NamedTable(f"t{place}", read_table(BytesIO(table)), f"datasets[{place}]")
        for place, table in enumerate(tables)
    ]
    return join_tables(named, typed, ["y"])


def parquet(**columns: Any) -> bytes:
    stream = BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), stream)
    return stream.getvalue()


def test_columns_are_joined_by_name_and_missing_where_absent() -> None:
    made = joined(b"a,b,y\n1,x,0\n2,,1\n", parquet(y=["1"], c=[True], a=[0.1 + 0.2]))

    columns = read_columns(BytesIO(to_bytes(made)), ["y"])
    assert made.column_names == ["a", "b", "y", "c", "askless_case"]
    assert columns["a"].tolist() == [1.0, 2.0, 0.1 + 0.2]
    assert columns["b"].tolist() == ["x", None, None]
    assert columns["y"].tolist() == ["0", "1", "1"]
    assert columns["c"].tolist() == [None, None, "true"]
    silent = [read_silent(case) for case in made["askless_case"].to_pylist()]
    assert [(case.has("c"), case.has("b")) for case in silent] == [
        (True, False),
        (True, False),
        (False, True),
    ]


def to_bytes(table: Any) -> bytes:
    return write_parquet(table)


def test_tables_of_the_same_columns_say_nothing_more() -> None:
    made = joined(b"a,y\n1,0\n", b"y,a\n1,2\n")

    assert made.column_names == ["a", "y"]
    assert made["a"].to_pylist() == ["1", "2"]


@pytest.mark.parametrize(
    "cells",
    [
        *(["x", None], ["[1]", None], [1.5, None], ["[" * 20_000, None]),
        ['{"format": "askless-row", "version": 1, "absent": 3}', None],
    ],
)
def test_a_cell_of_cases_that_the_service_did_not_write_is_named(
    cells: list[Any],
) -> None:
    other = parquet(b=[1, 2], y=["1", "0"], askless_case=cells)

    with pytest.raises(RefusedError) as caught:
        joined(b"a,y\n1,0\n", other)

    (refusal,) = caught.value.refusals
    assert refusal.field == "datasets[1], column askless_case"
    assert refusal.told == (
        "must be as the service writes it for a closed case; not so in row 1"
    )


def test_a_column_of_cases_that_has_no_texts_is_named() -> None:
    with pytest.raises(RefusedError, match=r"datasets\[1\], column askless_case"):
        joined(b"a,y\n1,0\n", parquet(y=["1"], askless_case=[[1]]))


def test_rows_that_lacked_columns_say_so_after_another_join() -> None:
    once = to_bytes(joined(b"a,y\n1,0\n", b"b,y\n1,1\n"))

    twice = joined(b"c,y\n1,0\n", once)

    silent = [read_silent(case) for case in twice["askless_case"].to_pylist()]
    assert [[case.has(name) for name in "abc"] for case in silent] == [
        [True, True, False],
        [False, True, True],
        [True, False, True],
    ]


def test_a_type_that_is_known_may_be_written_in_two_ways() -> None:
    old, new = b"s,y\n1,0\n0,1\n", parquet(s=[True, False], y=["0", "1"])

    with pytest.raises(RefusedError, match=r"datasets\[1\], column s: must hold num"):
        joined(old, new)
    assert joined(old, new, typed=("s",))["s"].to_pylist() == [
        "1",
        "0",
        "true",
        "false",
    ]


@pytest.mark.parametrize("cell", [[1, 2], {"x": 1}, b"\xff"])
def test_a_column_that_holds_no_cells_is_named_of_whatever_type(cell: Any) -> None:
    odd = parquet(a=[cell], y=["1"])

    for typed in ((), ("a",)):
        with pytest.raises(RefusedError) as caught:
            joined(b"a,y\n1,0\n", odd, odd, typed=typed)
        told = [(refusal.field, refusal.rule[:17]) for refusal in caught.value.refusals]
        assert told == [
            (f"datasets[{place}], column a", "must hold numbers") for place in (1, 2)
        ]


NOTES = [
    b"a,b,y,note\n"
    + b"".join(b"%d,%d,%d,%s\n" % (n - 5, n % 2, n > 5, word) for n in range(10))
    for word in (b"7", b"seven")
]


@pytest.mark.parametrize(
    "more",
    [
        {"features": [{"name": name, "type": "number"} for name in "ab"]},
        {"features": [{"name": "a"}, {"name": "b"}], "ignore": ["note"]},
        {"ignore": ["no*"]},
    ],
)
def test_columns_that_training_does_not_read_may_hold_anything(
    upload: Callable[..., str], order: Train, client: TestClient, more: Json
) -> None:
    ids = [upload(note, f"{place}.csv") for place, note in enumerate(NOTES)]
    lists = upload(parquet(a=[1.0, 2.0], b=[1, 0], y=[1, 0], note=[[1], [2]]))

    verdict = order(*ids, lists, query="?validate_only=true", target="y", **more)
    started = order(*ids, lists, target="y", **more)

    assert verdict.json()["features"] == ["a", "b"], verdict.text
    assert started.status_code == 202, started.text
    whole = client.get(f"/datasets/{started.json()['dataset_id']}").json()
    assert whole["columns"][:4] == ["a", "b", "y", "note"]


def test_unused_columns_keep_their_cells_for_other_specs() -> None:
    tables = [
        NamedTable(f"t{place}", read_table(BytesIO(note)), "")
        for place, note in enumerate(NOTES)
    ]

    made = join_tables(tables, (), (), ["note"])

    assert set(made["note"].to_pylist()) == {"7", "seven"}


def test_a_table_without_the_target_is_named() -> None:
    with pytest.raises(RefusedError) as caught:
        joined(b"a,y\n1,0\n", b"a\n1\n")

    assert "datasets[1]: must have the column y" in str(caught.value)


def test_a_training_on_two_tables_has_all_their_rows(
    client: TestClient,
    jobs: Jobs,
    upload: Callable[..., str],
    order: Train,
    play: Play,
) -> None:
    for number in range(6):
        play(10 + number, 40 + number, str(number % 2))
    cases = client.post("/datasets", json={"cases_of": "clinic"}).json()["id"]
    old = upload(OLD)

    verdict = order(old, cases, query="?validate_only=true").json()
    started = order(old, cases)

    assert verdict["valid"], verdict
    assert verdict["rows"] == 24 + 6
    assert started.status_code == 202, started.text
    # What it was joined from may go: the training has a table of its own.
    for one in (old, cases):
        assert client.delete(f"/datasets/{one}").status_code == 204
    training = client.get(f"/train/{started.json()['id']}").json()
    whole = client.get(f"/datasets/{training['dataset_id']}").json()
    assert (whole["name"], whole["n_rows"]) == ("old.csv + cases of clinic", 30)
    assert client.delete(f"/datasets/{whole['id']}").status_code == 409
    assert jobs.worker().work() == "succeeded"
    ended = client.get(f"/train/{training['id']}").json()
    card = client.get(f"/models/{ended['model_id']}").json()["card"]
    assert card["rows"] == 30


def test_nothing_is_stored_of_tables_that_clash(
    client: TestClient, upload: Callable[..., str], order: Train
) -> None:
    old = upload(OLD)
    other = upload(b"age,sex,disease\nold,male,1\nyoung,female,0\n", "other.csv")
    before = len(client.get("/datasets").json()["items"])

    refused = order(old, other)

    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["field"] == "datasets[1], column age"
    assert "must hold numbers, as in old.csv, not words" in error["rule"]
    assert len(client.get("/datasets").json()["items"]) == before


@pytest.mark.parametrize("target", [None, 3])
def test_a_broken_spec_is_told_beside_tables_that_clash(
    upload: Callable[..., str], order: Train, target: object
) -> None:
    clashing = [upload(note) for note in NOTES]

    refused = order(*clashing, target=target)

    fields = [error["field"] for error in refused.json()["errors"]]
    assert fields == ["target", "datasets[1], column note"]


def test_only_datasets_that_are_there_are_joined(
    upload: Callable[..., str], order: Train
) -> None:
    old = upload(OLD)

    assert order(old, "dat_nothere").status_code == 404
    for odd in ([], [old, old], old, [1]):
        refused = order(datasets=odd)
        assert refused.status_code == 422, odd
        assert refused.json()["errors"][0]["field"] == "datasets"
    both = order(old, dataset_id=old)
    assert both.json()["errors"][0]["field"] == "dataset_id"


def test_a_dataset_of_another_tenant_is_not_joined(
    engine: sa.Engine, upload: Callable[..., str], order: Train
) -> None:
    old, theirs = upload(OLD), upload(OLD, "theirs.csv")
    with engine.begin() as connection:
        values = {"id": "ten_x", "name": "x", "is_bootstrapped": True}
        created = sa.func.current_timestamp()
        connection.execute(tenants.insert().values(created_at=created, **values))
        moved = datasets.update().where(datasets.c.id == theirs)
        connection.execute(moved.values(tenant_id="ten_x"))

    assert order(old, theirs).status_code == 404


def test_the_command_trains_on_several_tables(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "old.csv").write_bytes(OLD)
    (tmp_path / "new.csv").write_bytes(b"age,disease,extra\n40,1,x\n50,0,y\n")
    (tmp_path / "odd.csv").write_bytes(b"age,disease\nold,1\n")
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    spec = ("--spec", tmp_path / "spec.json", "-o", tmp_path / "model.json")

    trained = run("train", tmp_path / "old.csv", tmp_path / "new.csv", *spec)
    refused = run("train", tmp_path / "old.csv", tmp_path / "odd.csv", *spec)
    elsewhere = run("train", tmp_path / "old.csv", "s3://b/t.parquet", *spec)

    assert trained.code == 0, trained.err
    model = json.loads((tmp_path / "model.json").read_text())
    assert model["card"]["rows"] == 26
    assert (refused.code, elsewhere.code) == (2, 2)
    assert "odd.csv, column age: must hold numbers" in refused.err
    assert "must be files of this machine" in elsewhere.err
